"""Parsers of insertion codes, one per dialect: they return its field and its default.

They use the parsers of the template engines (Liquid, Jinja2, Handlebars) if there are any, and
strict regular expressions for the other dialects. A parser fails unless the code is exactly one
construct of its dialect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import jinja2
import liquid
from attrs import evolve, frozen
from jinja2 import nodes

from recipient_fields.domain import InsertionCode, ValueExpression
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.esp.derived_codes import DerivedCodes
from recipient_fields.domain.esp.profiles.profile import Engine

from ...engines.processes import render_batch


@frozen
class ParsedCodes:
    """The field that a code inserts, and the default that it inserts for a missing value."""

    name: str
    default: str | None


def parse_codes(esp: Esp, codes: DerivedCodes, *, standard: bool = False) -> ParsedCodes:
    return PARSERS[esp](codes, standard)


def match(pattern: str, text: str) -> re.Match[str]:
    found = re.fullmatch(pattern, text, re.DOTALL)
    if found is None:
        raise ValueError(f"not {pattern}: {text!r}")
    return found


def only_item(items: Any) -> Any:
    (item,) = items
    return item


# AMPscript: a block or inline code ends at the first closing delimiter, even inside a string.

AMPSCRIPT_STRING = r'"((?:[^"]|"")*)"'


def parse_ampscript(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    prelude, code = codes.prelude or "", codes.insertion_code
    assert prelude.count("%%") == code.count("%%") == 2
    block = match(r"%%\[ (.*) \]%%", prelude)[1]
    inline = match(r"%%=(.*)=%%", code)[1]
    variable, name = match(
        rf"SET (@[A-Za-z0-9_]+) = AttributeValue\({AMPSCRIPT_STRING}\)", block
    ).groups()
    used = codes.value_expression
    assert used == variable
    if inline == f"v({used})":
        return ParsedCodes(name.replace('""', '"'), None)
    default = match(rf"IIf\(Empty\({used}\), {AMPSCRIPT_STRING}, {used}\)", inline)[1]
    return ParsedCodes(name.replace('""', '"'), default.replace('""', '"'))


# Merge tags: text and tags alternate.


def split_merge_tags(code: str, tag: str) -> tuple[list[str], list[str]]:
    parts = re.split(tag, code, flags=re.DOTALL)
    return parts[::2], parts[1::2]


def default_of_conditional(texts: list[str], tags: list[str], *keywords: str) -> str:
    """Return the default in `if, value, else, default, end`.

    `keywords` are the tags for if, else and end.
    """
    assert [tags[0], *tags[2:]] == list(keywords)
    assert texts[:3] == ["", "", ""]
    assert texts[4:] == [""]
    return texts[3]


def parse_mailchimp(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    texts, tags = split_merge_tags(codes.insertion_code, r"\*\|(.*?)\|\*")
    if len(tags) == 1:
        assert texts == ["", ""]
        return ParsedCodes(tags[0], None)
    return ParsedCodes(
        tags[1], default_of_conditional(texts, tags, f"IF:{tags[1]}", "ELSE:", "END:IF")
    )


def parse_activecampaign(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    texts, tags = split_merge_tags(codes.insertion_code, r"%(.*?)%")
    if len(tags) == 1:
        assert texts == ["", ""]
        return ParsedCodes(tags[0], None)
    opening = f"IF {codes.value_expression} != ''"
    assert codes.value_expression == f"${tags[1]}"
    return ParsedCodes(tags[1], default_of_conditional(texts, tags, opening, "ELSE", "/IF"))


# Django: a tag ends at the first closing delimiter, even inside a string.

DJANGO_FILTER = r"""\|(?P<filter>\w+):(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)')"""


def parse_django(code: str) -> tuple[str, list[tuple[str, str]]]:
    before, tag, after = re.split(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\})", code)
    assert (before, after) == ("", "")
    variable, filters = match(r"([\w.]+)(.*)", match(r"\{\{(.*)\}\}", tag)[1].strip()).groups()
    assert "._" not in f".{variable}"
    found = list(re.finditer(DJANGO_FILTER, filters, re.DOTALL))
    assert "".join(each[0] for each in found) == filters
    return variable, [(each["filter"], each["double"] or each["single"] or "") for each in found]


def parse_klaviyo(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    variable, filters = parse_django(codes.insertion_code)
    if not standard:
        assert variable == "person"
        lookup, variable = filters.pop(0)
        assert lookup == "lookup"
    elif variable.startswith("person."):
        variable = variable.removeprefix("person.")
    assert [name for name, _ in filters] in ([], ["default"])
    return ParsedCodes(variable, filters[0][1] if filters else None)


BREVO_DEFAULT = r"\{% if (?P<test>[\w.]+) %\}(?P<code>.*?)\{% else %\}(?P<default>.*)\{% endif %\}"


def parse_brevo(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    code, default = str(codes.insertion_code), None
    if code.startswith("{%"):
        found = match(BREVO_DEFAULT, code)
        code, default = found["code"], found["default"]
        assert found["test"] == codes.value_expression
        assert not re.search(r"[{}]", default)
    variable, filters = parse_django(code)
    assert not filters
    return ParsedCodes(jinja_attribute(jinja_expression(f"{{{{ {variable} }}}}")), default)


# HubL and the variables of Brevo: the parser of Jinja2.


def jinja_expression(code: str) -> nodes.Node:
    output = only_item(jinja2.Environment(autoescape=True).parse(code).body)
    assert isinstance(output, nodes.Output)
    return only_item(output.nodes)


def jinja_attribute(expression: nodes.Node) -> str:
    assert isinstance(expression, nodes.Getattr)
    assert isinstance(expression.node, nodes.Name)
    assert expression.node.name == "contact"
    return expression.attr


def parse_hubspot(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    expression = jinja_expression(codes.insertion_code)
    if isinstance(expression, nodes.Getattr):
        return ParsedCodes(jinja_attribute(expression), None)
    assert isinstance(expression, nodes.Call)
    assert isinstance(expression.node, nodes.Name)
    assert expression.node.name == "personalization_token"
    token, default = (argument.as_const() for argument in expression.args)
    return ParsedCodes(jinja_attribute(jinja_expression(f"{{{{ {token} }}}}")), default)


# Liquid: python-liquid, after a conversion of Braze's ${name}.


def braze_as_liquid(code: str) -> str:
    assert not re.search(r"-\}|\{-", code)  # white space control
    code = re.sub(r"custom_attribute\.\$\{([^{}]*)\}", r'custom_attribute["\1"]', code)
    return re.sub(r"\$\{([^{}]*)\}", r'standard_attribute["\1"]', code)


def require_one_tag(esp: Esp, code: str) -> str:
    """Return the code as Liquid. It must be one tag for Ruby's parser, which ends tags earlier."""
    if esp == Esp("braze"):
        code = braze_as_liquid(code)
    tags = re.findall(r"\{\{.*?\}\}?|\{%.*?%\}", code, re.DOTALL)
    assert tags == [code]
    return code


CUSTOMER_IO_DEFAULT = (
    r'\{% if (?P<test>.+) != nil and (?P=test) != "" %\}(?P<code>\{\{(?P=test)\}\})'
    r"\{% else %\}(?P<default>.*)\{% endif %\}"
)


def parse_customer_io(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    code, parse = codes.insertion_code, liquid_parser(Esp("customerio"), "customer")
    if "{%" not in code:
        return parse(codes, standard)
    found = match(CUSTOMER_IO_DEFAULT, code)
    plain = evolve(codes, insertion_code=InsertionCode(found["code"]))
    assert not re.search(r"[{}]", found["default"])
    return evolve(parse(plain, standard), default=found["default"])


def liquid_parser(esp: Esp, root: str) -> Callable[[DerivedCodes, bool], ParsedCodes]:
    def parse(codes: DerivedCodes, standard: bool) -> ParsedCodes:
        template = liquid.parse(require_one_tag(esp, codes.insertion_code))
        attributes = "standard_attribute" if standard and esp == Esp("braze") else root
        analysis = template.analyze()
        assert set(analysis.variables) == {attributes}
        attributes, name = only_item(analysis.variables[attributes]).segments
        assert template.render(**{attributes: {name: "shown"}}) == "shown"
        missing = template.render(**{attributes: {}})
        assert list(analysis.filters) in ([], ["default"])
        return ParsedCodes(name, missing if analysis.filters else None)

    return parse


def parse_onesignal(codes: DerivedCodes, standard: bool) -> ParsedCodes:
    template = liquid.parse(require_one_tag(Esp("onesignal"), codes.insertion_code))
    analysis = template.analyze()
    [[variable]] = analysis.variables.values()
    *roots, name = variable.segments
    assert roots == (["subscription"] if standard else [])
    values: dict[str, object] = {str(name): "shown"}
    assert template.render(**({"subscription": values} if standard else values)) == "shown"
    assert list(analysis.filters) in ([], ["default"])
    return ParsedCodes(str(name), template.render() if analysis.filters else None)


# Conditions evaluate value expressions. A tag ends at the first closing delimiter.


def field_in_condition(esp: Esp, expression: str, *, standard: bool = False) -> str:
    """Return the field of a condition on the expression, in a dialect with braces."""
    condition = f"{{% if {expression} == 1 %}}yes{{% endif %}}"
    tags = re.findall(r"\{%.*?%\}", condition, re.DOTALL)
    assert tags == [f"{{% if {expression} == 1 %}}", "{% endif %}"]
    if esp == Esp("klaviyo"):
        code = InsertionCode(f"{{{{ {expression} }}}}")
        return parse_klaviyo(DerivedCodes(code, ValueExpression(expression)), standard).name
    if esp in {Esp("hubspot"), Esp("brevo")}:
        test = only_item(jinja2.Environment(autoescape=True).parse(condition).body).test
        return jinja_attribute(test.expr)
    if esp == Esp("braze"):
        condition = braze_as_liquid(condition)
    variables = liquid.parse(condition).analyze().variables
    return only_item(only_item(variables.values())).segments[-1]


# Handlebars: its own parser.


def handlebars_parser(helper: str, prefix: str) -> Callable[[DerivedCodes, bool], ParsedCodes]:
    def parse(codes: DerivedCodes, standard: bool) -> ParsedCodes:
        [found] = render_batch(Engine.HANDLEBARS, "handlebars syntax", [(codes.insertion_code, {})])
        assert isinstance(found, str), found
        tag = json.loads(found)
        if tag["helper"] is None:
            return ParsedCodes(tag["field"], None)
        assert tag["helper"] == helper
        return ParsedCodes(tag["field"], match(f"{prefix}(.*)", tag["literal"])[1])

    return parse


PARSERS: Mapping[Esp, Callable[[DerivedCodes, bool], ParsedCodes]] = {
    Esp("sfmc"): parse_ampscript,
    Esp("mailchimp"): parse_mailchimp,
    Esp("klaviyo"): parse_klaviyo,
    Esp("braze"): liquid_parser(Esp("braze"), "custom_attribute"),
    Esp("customerio"): parse_customer_io,
    Esp("hubspot"): parse_hubspot,
    Esp("sendgrid"): handlebars_parser("insert", "default="),
    Esp("iterable"): handlebars_parser("defaultIfEmpty", ""),
    Esp("brevo"): parse_brevo,
    Esp("activecampaign"): parse_activecampaign,
    Esp("onesignal"): parse_onesignal,
}
