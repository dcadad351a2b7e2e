"""The fields found in code of an ESP are the variables that the engine's parser reports."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import jinja2
import liquid
import pytest
from django.template import Engine as DjangoEngine
from django.template.base import FilterExpression, Node, Variable
from django.template.defaulttags import TemplateLiteral
from jinja2 import meta

from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.esp.profiles.profile import Engine
from recipient_fields.domain.esp.recognition.uses import find_uses

from .processes import render_batch

TEMPLATES = 300
NAMES = "abcdefg"

Parts: TypeAlias = Sequence[str]
"""Parts of a template. FIELD is a field of the recipient, NAME a variable."""

LIQUID = (
    *("x {{ FIELD }}", "{{ FIELD | default: FIELD | upcase }}", "{{ NAME }}", "{{ FIELD[0].x }}"),
    *("{% assign NAME = FIELD | append: FIELD %}", "{% capture NAME %}{{ FIELD }}{% endcapture %}"),
    "{% if FIELD == 'x' and FIELD contains FIELD %}…{% elsif FIELD > 3 %}…{% else %}…{% endif %}",
    "{% unless FIELD %}…{% endunless %}{% comment %}{{ FIELD }}{% endcomment %}",
    "{% for NAME in FIELD limit: 2 %}{{ NAME.x }}…{% else %}{{ FIELD }}{% endfor %}",
    "{% case FIELD %}{% when 'x', 'y' %}…{% when FIELD %}…{% endcase %}",
    "{% raw %}{{ FIELD }}{% endraw %}{{ 'FIELD' }}",
)
DJANGO = (
    *("x {{ FIELD }}", "{{ FIELD|default:FIELD|upper }}", "{{ NAME }}", "{{ FIELD.0.x }}"),
    "{% if FIELD == 'x' and not FIELD or FIELD in FIELD %}…{% elif FIELD %}…{% else %}…{% endif %}",
    "{% for NAME in FIELD %}{{ NAME.x }}…{% empty %}{{ FIELD }}{% endfor %}",
    "{% with NAME=FIELD|lower %}{{ NAME }}…{% endwith %}{% comment %}{{ FIELD }}{% endcomment %}",
    "{% verbatim %}{{ FIELD }}{% endverbatim %}{# {{ FIELD }} #}{{ 'FIELD' }}",
)
HUBL = (
    *(
        "x {{ FIELD }}",
        "{{ FIELD|default(FIELD, true)|upper }}",
        "{{ NAME }}",
        "{{ FIELD ~ FIELD }}",
    ),
    *("{% set NAME = FIELD %}", "{{ FIELD if FIELD else FIELD }}", "{{ [FIELD, 'x'][0] }}"),
    "{% if FIELD == 'x' and not FIELD or FIELD in ['y'] %}…{% elif FIELD %}…{% else %}…{% endif %}",
    "{% for NAME in FIELD %}{{ NAME }}…{% else %}{{ FIELD }}{% endfor %}",
    "{% raw %}{{ FIELD }}{% endraw %}{# {{ FIELD }} #}{{ 'FIELD' }}",
)
HANDLEBARS = (
    *("x {{FIELD}}", "{{{FIELD}}}", "{{insert FIELD FIELD}}", "{{@root.FIELD}}", "{{this.FIELD}}"),
    "{{#if FIELD}}…{{else if FIELD}}…{{else}}…{{/if}}{{#unless FIELD}}…{{/unless}}",
    "{{#if (equals FIELD 'x')}}…{{/if}}{{#greaterThan FIELD 3}}…{{/greaterThan}}",
    "{{#each FIELD}}{{x}}{{../FIELD}}{{@root.FIELD}}…{{else}}{{FIELD}}{{/each}}",
    "{{#with FIELD}}{{x}}{{../FIELD}}{{/with}}{{! FIELD }}{{!-- {{FIELD}} --}}",
)


def generate(parts: Parts, field: str) -> Iterator[str]:
    """Yield templates: `…` in a part is replaced by other parts, two levels deep."""
    choice = random.Random(20261129)

    def fill(text: str, depth: int) -> str:
        pieces = text.split("…")
        inner = ("" if depth == 0 else part(depth - 1) for _ in pieces[1:])
        return pieces[0] + "".join(a + b for a, b in zip(inner, pieces[1:], strict=True))

    def part(depth: int) -> str:
        text = choice.choice(parts)
        while "FIELD" in text:
            text = text.replace("FIELD", field + choice.choice(NAMES), 1)
        return fill(text.replace("NAME", f"n{choice.randrange(3)}"), depth)

    for _ in range(TEMPLATES):
        yield "".join(part(2) for _ in range(3))


def liquid_variables(template: str) -> set[str]:
    found = liquid.Environment().from_string(template).analyze().globals.get("customer", [])
    return {str(each.segments[1]) for each in found}


def django_variables(template: str) -> set[str]:
    found: set[str] = set()
    parsed = DjangoEngine().from_string(template)
    for node in parsed.nodelist.get_nodes_by_type(Node):
        for value in _values(list(vars(node).values())):
            found.update(pair[1] for pair in pairwise(value.lookups or ()) if pair[0] == "person")
    return found


def _values(value: object) -> Iterator[Variable]:
    """Yield the variables in the attributes of a node."""
    match value:
        case Variable():
            yield value
        case FilterExpression():
            yield from _values(value.var)
            for _, arguments in value.filters:
                yield from _values([argument for _, argument in arguments])
        case TemplateLiteral():
            yield from _values(value.value)
        case list() | tuple():
            for each in value:
                yield from _values(each)
        case dict():
            yield from _values(list(value.values()))
        case _ if hasattr(value, "first"):  # an operator of a condition
            yield from _values([value.first, getattr(value, "second", None)])


def jinja_variables(template: str) -> set[str]:
    """Return the names, which are roots here: Jinja2 does not report members."""
    syntax = jinja2.Environment().parse(template.replace("contact.", "contact_"))
    return {
        name.removeprefix("contact_")
        for name in meta.find_undeclared_variables(syntax)
        if name.startswith("contact_")
    }


def handlebars_variables(template: str) -> set[str]:
    (found,) = render_batch(Engine.HANDLEBARS, "variables", [(template, {})])
    assert isinstance(found, str)
    return {*json.loads(found)}


@pytest.mark.parametrize(
    ("esp", "parts", "field", "variables"),
    [
        ("customerio", LIQUID, "customer.", liquid_variables),
        ("klaviyo", DJANGO, "person.", django_variables),
        ("hubspot", HUBL, "contact.", jinja_variables),
        ("sendgrid", HANDLEBARS, "", handlebars_variables),
    ],
)
def test_the_fields_in_use_are_the_variables_of_the_engine(esp, parts, field, variables):
    profile = BUILT_IN[Esp(esp)]
    some = 0
    for template in generate(parts, field):
        found = {use.name for use in find_uses(template, profile)}
        assert found == variables(template), template
        some += bool(found)
    assert some > TEMPLATES / 2
