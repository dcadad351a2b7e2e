"""HubSpot's HubL: Jinja2, restricted to what HubL documents and evaluates in the same way.

https://developers.hubspot.com/docs/cms/reference/hubl/operators-and-expression-tests and
https://developers.hubspot.com/docs/cms/reference/hubl/if-statements and
https://developers.hubspot.com/docs/cms/reference/hubl/filters. HubL's engine is public:
https://github.com/HubSpot/jinjava. In it, a missing value is null, and a value is false if it is
null, a number between -1 and 1, an empty text, or the text "false" in any case (ObjectTruthValue).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import jinja2
from jinja2 import nodes

from recipient_fields.domain.esp import Esp

from .errors import NotRendered
from .formats import format_date
from .system_values import SYSTEM_VALUES
from .tags import Renderer, require_plain_strings

_DOCUMENTED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.Name, nodes.Getattr),
    *(nodes.Const, nodes.And, nodes.Or, nodes.Not, nodes.Compare, nodes.Operand, nodes.Test),
    *(nodes.Call, nodes.List, nodes.Tuple, nodes.Filter),
)
_TESTS = {"defined", "none", "string_containing"}
_FILTERS = {"float", "format_datetime", "lower", "string"}
_TAG = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_STRING = re.compile(r'"[^"]*"|\'[^\']*\'')


def _string_containing(text: object, part: str) -> bool:
    return isinstance(text, str) and part in text


_ENVIRONMENT = jinja2.Environment(
    autoescape=True,
    keep_trailing_newline=True,
    finalize=lambda value: "" if value is None else value,
)
_ENVIRONMENT.tests["string_containing"] = _string_containing
_ENVIRONMENT.filters["format_datetime"] = format_date
_ENVIRONMENT.tests["defined"] = lambda value: value is not None


class _Text(str):
    """A text that is false like HubL's."""

    def __bool__(self) -> bool:
        return self.lower() not in {"", "false"}


class _Number(float):
    """A number that is false like HubL's: its integer part is 0."""

    def __bool__(self) -> bool:
        return int(self) != 0

    def __str__(self) -> str:
        return str(int(self)) if self.is_integer() else super().__str__()


class _Contact:
    """The properties of a contact. A missing one is None."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> object:
        match self._values.get(name):
            case str() as text:
                return _Text(text)
            case bool() | None as value:
                return value
            case int() | float() as number:
                return _Number(number)
        raise NotRendered(f"Not a property: {name}")


def compile_template(template: str) -> Renderer:
    """Return a function that renders the template with the properties of a contact."""
    try:
        syntax = _ENVIRONMENT.parse(template)
        compiled = _ENVIRONMENT.from_string(syntax)
    except jinja2.TemplateError as error:
        raise NotRendered(str(error)) from None
    _require_documented_syntax(syntax)
    for tag in _TAG.findall(template):
        require_plain_strings(tag)
        if re.search(r"(?<!\bis )\bnot\b(?! *\()", _STRING.sub("''", tag)):
            raise NotRendered(f"The precedence of `not` is not documented: {tag}")

    def render(values: Mapping[str, object]) -> str:
        contact = _Contact(values)

        def personalization_token(expression: str, default: str) -> object:
            value = getattr(contact, expression.removeprefix("contact."))
            return default if value is None or value == "" else value

        try:
            return compiled.render(
                SYSTEM_VALUES[Esp.HUBSPOT],
                contact=contact,
                personalization_token=personalization_token,
            )
        except (jinja2.TemplateError, TypeError) as error:
            raise NotRendered(str(error)) from None

    return render


def _require_documented_syntax(syntax: nodes.Template) -> None:
    for node in syntax.find_all(nodes.Node):
        if not isinstance(node, _DOCUMENTED):
            raise NotRendered(f"Not documented: {type(node).__name__}")
        if isinstance(node, nodes.Test) and node.name not in _TESTS:
            raise NotRendered(f"Not documented: is {node.name}")
        if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
            raise NotRendered(f"Not documented: |{node.name}")
