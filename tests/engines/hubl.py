"""HubSpot's HubL: a stand-in for Jinjava, which runs on Java only.

Jinja2 parses a template, and `jinjava` compares and shows the values. The stand-in rejects what
these pages don't document, and code whose precedence differs between Jinja2 and Jinjava:
https://developers.hubspot.com/docs/cms/reference/hubl/operators-and-expression-tests and
https://developers.hubspot.com/docs/cms/reference/hubl/if-statements and
https://developers.hubspot.com/docs/cms/reference/hubl/filters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import jinja2
from attrs import frozen
from jinja2 import nodes
from markupsafe import escape

from recipient_fields.domain.esp import Esp

from .errors import NotRendered
from .event import event_of
from .formats import format_date
from .jinjava import Value, contains, default, equal, in_order, show, to_single, truth
from .system_values import SYSTEM_VALUES
from .tags import Renderer, require_plain_strings

_PARSER = jinja2.Environment(autoescape=True, keep_trailing_newline=True)
_TAG = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_STRING = re.compile(r'"[^"]*"|\'[^\']*\'')
_OPERATORS: Mapping[str, Callable[[Value, Value], bool]] = {
    "eq": equal,
    "ne": lambda left, right: not equal(left, right),
    "lt": lambda left, right: in_order("<", left, right),
    "lteq": lambda left, right: in_order("<=", left, right),
    "gt": lambda left, right: in_order(">", left, right),
    "gteq": lambda left, right: in_order(">=", left, right),
    "in": lambda left, right: contains(right, left),
    "notin": lambda left, right: not contains(right, left),
}
_TESTS: Mapping[str, Callable[..., bool]] = {
    "defined": lambda value: value is not None,
    "none": lambda value: value is None,
    "string_containing": lambda value, part: isinstance(value, str) and show(part) in value,
}
_FILTERS: Mapping[str, Callable[..., Value]] = {
    "default": default,
    "float": to_single,
    "format_datetime": format_date,
    "lower": lambda value: value.lower() if isinstance(value, str) else value,
    "string": lambda value: "null" if value is None else show(value),
}


def compile_template(template: str) -> Renderer:
    """Return a function that renders the template with the properties of a contact."""
    try:
        syntax = _PARSER.parse(template)
    except jinja2.TemplateError as error:
        raise NotRendered(str(error)) from None
    for tag in _TAG.findall(template):
        require_plain_strings(tag)
        if re.search(r"(?<!\bis )\bnot\b(?! *\()", _STRING.sub("''", tag)):
            raise NotRendered(f"The precedence of `not` is not documented: {tag}")
    return lambda values: _Contact(values, {"custom": event_of(values)}).render(syntax.body)


@frozen
class _Contact:
    """The properties of a contact, with which a template is rendered, and the other names."""

    properties: Mapping[str, object]
    names: Mapping[str, Value]

    def render(self, parts: Iterable[nodes.Node]) -> str:
        return "".join(map(self._part, parts))

    def _part(self, part: nodes.Node) -> str:
        match part:
            case nodes.Output():
                return self.render(part.nodes)
            case nodes.TemplateData():
                return part.data
            case nodes.If():
                for branch in (part, *part.elif_):
                    if truth(self._value(branch.test)):
                        return self.render(branch.body)
                return self.render(part.else_)
            case nodes.For(target=nodes.Name(name=name), else_=[], test=None):
                items = self._value(part.iter) or []
                if not isinstance(items, list):
                    raise NotRendered(f"Not documented: a loop over {items}")
                return "".join(
                    self._inside(name, item, index, len(items)).render(part.body)
                    for index, item in enumerate(items)
                )
            case nodes.Expr():
                return escape(show(self._value(part)))
        raise NotRendered(f"Not documented: {type(part).__name__}")

    def _inside(self, name: str, item: Value, index: int, count: int) -> _Contact:
        position = {"index": index + 1, "first": index == 0, "last": index == count - 1}
        return _Contact(self.properties, {**self.names, name: item, "loop": position})

    def _value(self, code: nodes.Node) -> Value:
        match code:
            case nodes.Const():
                return code.value
            case nodes.Neg(node=nodes.Const(value=int() | float() as number)):
                return -number
            case nodes.List() | nodes.Tuple():
                return [self._value(item) for item in code.items]
            case nodes.Name(name="contact"):
                return self.properties
            case nodes.Name() if code.name in self.names:
                return self.names[code.name]
            case nodes.Getitem(arg=nodes.Const(value=key)):
                return self._member(self._value(code.node), key)
            case nodes.Name() if code.name in SYSTEM_VALUES[Esp("hubspot")]:
                return SYSTEM_VALUES[Esp("hubspot")][code.name]
            case nodes.Getattr():
                return self._member(self._value(code.node), code.attr)
            case nodes.And():
                return truth(self._value(code.left)) and truth(self._value(code.right))
            case nodes.Or():  # OrOperator.java returns the value, not whether it is true.
                left = self._value(code.left)
                return left if truth(left) else self._value(code.right)
            case nodes.Not():
                return not truth(self._value(code.node))
            case nodes.Concat():
                return "".join(show(self._value(each)) for each in code.nodes)
            case nodes.Compare(ops=[operand]):
                return _OPERATORS[operand.op](self._value(code.expr), self._value(operand.expr))
            case nodes.Test() if code.name in _TESTS and not isinstance(code.node, nodes.Filter):
                # A test after a filter is a syntax error.
                return _TESTS[code.name](*map(self._value, (code.node, *code.args)))
            case nodes.Filter(node=nodes.Node() as filtered) if code.name in _FILTERS:
                return _FILTERS[code.name](*map(self._value, (filtered, *code.args)))
            case nodes.Call(node=nodes.Name(name="personalization_token"), args=[token, default]):
                name = show(self._value(token)).removeprefix("contact.")
                value = self._member(self.properties, name)
                return self._value(default) if value in (None, "") else value
        raise NotRendered(f"Not documented: {code}")

    def _member(self, owner: Value, name: str | int) -> Value:
        if owner is None:
            return None
        if isinstance(owner, list) and isinstance(name, int):
            return owner[name] if name < len(owner) else None
        if not isinstance(owner, Mapping):
            raise NotRendered(f"Not documented: {name} of {owner}")
        return owner.get(name)


def parse_jinja(template: str) -> None:
    """Parse the template, which is not restricted. Raises: jinja2.TemplateSyntaxError."""
    _PARSER.parse(template)
