"""Reads snippets as their dialects' own engines do: which fields they name, what they show.

Engines of others where there are some (Liquid, Jinja2, Handlebars); strict readers of our own for
the rest. A snippet that is not one whole construct of its dialect is not read: ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import jinja2
import liquid
import pybars
from attrs import frozen
from jinja2 import nodes

from recipient_fields.domain.esp import Esp, Snippet

MISSING = object()


@frozen
class Reading:
    """The one field a snippet names, and what it shows where the value is missing."""

    name: str
    default: str | None


def read(esp: Esp, snippet: Snippet, *, standard: bool = False) -> Reading:
    return READERS[esp](snippet, standard)


def match(pattern: str, text: str) -> re.Match[str]:
    found = re.fullmatch(pattern, text, re.DOTALL)
    if found is None:
        raise ValueError(f"not {pattern}: {text!r}")
    return found


def the_one(items: Any) -> Any:
    (item,) = items
    return item


# AMPscript: blocks and inline code end at the first closing delimiter, strings or not.

AMPSCRIPT_STRING = r'"((?:[^"]|"")*)"'


def read_ampscript(snippet: Snippet, standard: bool) -> Reading:
    block, inline = snippet.prelude or "", snippet.insertion_code
    assert block.count("%%") == inline.count("%%") == 2
    block = match(r"%%\[ (.*) \]%%", block)[1]
    inline = match(r"%%=(.*)=%%", inline)[1]
    variable, name = match(
        rf"SET (@[A-Za-z0-9_]+) = AttributeValue\({AMPSCRIPT_STRING}\)", block
    ).groups()
    used = snippet.value_expression
    assert used == variable
    if inline == f"v({used})":
        return Reading(name.replace('""', '"'), None)
    default = match(rf"IIf\(Empty\({used}\), {AMPSCRIPT_STRING}, {used}\)", inline)[1]
    return Reading(name.replace('""', '"'), default.replace('""', '"'))


# Merge tags: text and tags take turns; what is between two tags is text.


def merge_tags(code: str, tag: str) -> tuple[list[str], list[str]]:
    parts = re.split(tag, code, flags=re.DOTALL)
    return parts[::2], parts[1::2]


def conditional(texts: list[str], tags: list[str], *others: str) -> str:
    """The default of `if, value, else, default, end`, the tags besides the value being these."""
    assert [tags[0], *tags[2:]] == list(others)
    assert texts[:3] == ["", "", ""]
    assert texts[4:] == [""]
    return texts[3]


def read_mailchimp(snippet: Snippet, standard: bool) -> Reading:
    texts, tags = merge_tags(snippet.insertion_code, r"\*\|(.*?)\|\*")
    if len(tags) == 1:
        assert texts == ["", ""]
        return Reading(tags[0], None)
    return Reading(tags[1], conditional(texts, tags, f"IF:{tags[1]}", "ELSE:", "END:IF"))


def read_activecampaign(snippet: Snippet, standard: bool) -> Reading:
    texts, tags = merge_tags(snippet.insertion_code, r"%(.*?)%")
    if len(tags) == 1:
        assert texts == ["", ""]
        return Reading(tags[0], None)
    opening = f"IF {snippet.value_expression} != ''"
    assert snippet.value_expression == f"${tags[1]}"
    return Reading(tags[1], conditional(texts, tags, opening, "ELSE", "/IF"))


# Django: a tag ends at the first closing delimiter, strings or not.

DJANGO_FILTER = r"""\|(?P<filter>\w+):(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)')"""


def read_django(code: str) -> tuple[str, list[tuple[str, str]]]:
    before, tag, after = re.split(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\})", code)
    assert (before, after) == ("", "")
    variable, filters = match(r"([\w.]+)(.*)", match(r"\{\{(.*)\}\}", tag)[1].strip()).groups()
    assert "._" not in f".{variable}"
    found = list(re.finditer(DJANGO_FILTER, filters, re.DOTALL))
    assert "".join(each[0] for each in found) == filters
    return variable, [(each["filter"], each["double"] or each["single"] or "") for each in found]


def read_klaviyo(snippet: Snippet, standard: bool) -> Reading:
    variable, filters = read_django(snippet.insertion_code)
    if not standard:
        assert variable == "person"
        lookup, variable = filters.pop(0)
        assert lookup == "lookup"
    assert [name for name, _ in filters] in ([], ["default"])
    return Reading(variable, filters[0][1] if filters else None)


def read_brevo(snippet: Snippet, standard: bool) -> Reading:
    variable, filters = read_django(snippet.insertion_code)
    assert [name for name, _ in filters] in ([], ["default"])
    name = jinja_attribute(jinja_expression(f"{{{{ {variable} }}}}"))
    return Reading(name, filters[0][1] if filters else None)


# HubL and Brevo's variables: Jinja2's own parser.


def jinja_expression(code: str) -> nodes.Node:
    output = the_one(jinja2.Environment(autoescape=True).parse(code).body)
    assert isinstance(output, nodes.Output)
    return the_one(output.nodes)


def jinja_attribute(expression: nodes.Node) -> str:
    assert isinstance(expression, nodes.Getattr)
    assert isinstance(expression.node, nodes.Name)
    assert expression.node.name == "contact"
    return expression.attr


def read_hubspot(snippet: Snippet, standard: bool) -> Reading:
    expression = jinja_expression(snippet.insertion_code)
    if isinstance(expression, nodes.Getattr):
        return Reading(jinja_attribute(expression), None)
    assert isinstance(expression, nodes.Call)
    assert isinstance(expression.node, nodes.Name)
    assert expression.node.name == "personalization_token"
    token, default = (argument.as_const() for argument in expression.args)
    return Reading(jinja_attribute(jinja_expression(f"{{{{ {token} }}}}")), default)


# Liquid: python-liquid, Braze's ${name} being a key of its own kind.


def braze_as_liquid(code: str) -> str:
    assert not re.search(r"-\}|\{-", code)  # white space control
    code = re.sub(r"custom_attribute\.\$\{([^{}]*)\}", r'custom_attribute["\1"]', code)
    return re.sub(r"\$\{([^{}]*)\}", r'standard_attribute["\1"]', code)


def liquid_code(esp: Esp, code: str) -> str:
    if esp is Esp.BRAZE:
        code = braze_as_liquid(code)
    tags = re.findall(r"\{\{.*?\}\}?|\{%.*?%\}", code, re.DOTALL)  # Ruby's, which ends earlier
    assert tags == [code]
    return code


def read_liquid(esp: Esp, root: str) -> Callable[[Snippet, bool], Reading]:
    def reader(snippet: Snippet, standard: bool) -> Reading:
        template = liquid.parse(liquid_code(esp, snippet.insertion_code))
        attributes = "standard_attribute" if standard and esp is Esp.BRAZE else root
        seen = template.analyze()
        assert set(seen.variables) == {attributes}
        attributes, name = the_one(seen.variables[attributes]).segments
        assert template.render(**{attributes: {name: "shown"}}) == "shown"
        missing = template.render(**{attributes: {}})
        assert list(seen.filters) in ([], ["default"])
        return Reading(name, missing if seen.filters else None)

    return reader


# Conditions: where value expressions are evaluated. A tag ends at the first closing delimiter.


def name_in_condition(esp: Esp, expression: str, *, standard: bool = False) -> str:
    """The one field that a condition on the expression asks for, in a language of braces."""
    condition = f"{{% if {expression} == 1 %}}yes{{% endif %}}"
    tags = re.findall(r"\{%.*?%\}", condition, re.DOTALL)
    assert tags == [f"{{% if {expression} == 1 %}}", "{% endif %}"]
    if esp is Esp.KLAVIYO:
        return read_klaviyo(Snippet(f"{{{{ {expression} }}}}", expression), standard).name
    if esp in {Esp.HUBSPOT, Esp.BREVO}:
        test = the_one(jinja2.Environment(autoescape=True).parse(condition).body).test
        return jinja_attribute(test.expr)
    if esp is Esp.BRAZE:
        condition = braze_as_liquid(condition)
    variables = liquid.parse(condition).analyze().variables
    return the_one(the_one(variables.values())).segments[1]


# Handlebars: pybars3, the helpers telling what they are called with.


class Attributes(dict[str, Any]):
    """Holds every key, nested; its leaves tell their path."""

    def __init__(self, *path: str) -> None:
        super().__init__()
        self.path = path

    def get(self, key: str, default: object = None) -> Any:
        return Attributes(*self.path, key)

    __getitem__ = get

    def __str__(self) -> str:
        return "".join(f"<{key}>" for key in self.path)


def read_handlebars(helper: str, prefix: str) -> Callable[[Snippet, bool], Reading]:
    def reader(snippet: Snippet, standard: bool) -> Reading:
        calls: list[tuple[Any, str]] = []

        def called(this: object, value: Any, literal: str) -> str:
            calls.append((value, match(f"{prefix}(.*)", literal)[1]))
            return "helped"

        code = snippet.insertion_code
        raw = code.replace("{{", "{{{", 1).removesuffix("}}") + "}}}"
        shown = pybars.Compiler().compile(raw)(Attributes(), helpers={helper: called})
        if not calls:
            return Reading(".".join(match("(<.*>)", str(shown))[1][1:-1].split("><")), None)
        assert shown == "helped"
        value, default = the_one(calls)
        return Reading(".".join(value.path), default)

    return reader


READERS: Mapping[Esp, Callable[[Snippet, bool], Reading]] = {
    Esp.SALESFORCE: read_ampscript,
    Esp.MAILCHIMP: read_mailchimp,
    Esp.KLAVIYO: read_klaviyo,
    Esp.BRAZE: read_liquid(Esp.BRAZE, "custom_attribute"),
    Esp.CUSTOMER_IO: read_liquid(Esp.CUSTOMER_IO, "customer"),
    Esp.HUBSPOT: read_hubspot,
    Esp.SENDGRID: read_handlebars("insert", "default="),
    Esp.ITERABLE: read_handlebars("defaultIfEmpty", ""),
    Esp.BREVO: read_brevo,
    Esp.ACTIVECAMPAIGN: read_activecampaign,
}
