"""The readers of languages accept what the engine of the language accepts, and nothing else.

One engine per language judges. AMPscript, merge tags and percent tags have no engine here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pytest
from django.template.exceptions import TemplateSyntaxError
from jinja2 import TemplateSyntaxError as JinjaSyntaxError

from recipient_fields.domain.esp.languages.blocks import Tag, build_tree
from recipient_fields.domain.esp.languages.django import read_django
from recipient_fields.domain.esp.languages.handlebars import read_handlebars
from recipient_fields.domain.esp.languages.hubl import read_hubl
from recipient_fields.domain.esp.languages.liquid import read_liquid
from recipient_fields.domain.esp.languages.pongo2 import read_pongo2
from recipient_fields.domain.esp.languages.tree import (
    Assignment,
    Condition,
    Loop,
    Node,
    Opaque,
    Unread,
)
from recipient_fields.domain.esp.profiles.profile import Engine

from .django_templates import parse_django
from .errors import NotRendered
from .hubl import parse_jinja
from .processes import render_batch

CHANGES = 40
"""Changed templates per construct."""
CHARACTERS = "{}%|.:,'\"[]()=!<>-_ ax1\n#?$&/\\"
AGREEMENT = 0.99
"""The part of the changed templates on which reader and engine agree."""

LIQUID = (
    *("{{ a }}", "{{- a.b[0]['c d'] -}}", "{{ a | default: 'x', b: 2 | upcase }}", "{{ (1..3) }}"),
    *("{% assign a = b | plus: 1 %}", "{% capture a %}{{ b }}{% endcapture %}", "{{ -1.5 }}"),
    "{% if a == 'x' and b.size >= 3 or c contains \"y\" %}1{% elsif d %}2{% else %}3{% endif %}",
    "{% unless a != blank %}1{% endunless %}{% raw %}{{ }}{% endraw %}",
    "{% for i in a.b reversed limit: 2 offset: c %}{{ forloop.index }}{% else %}0{% endfor %}",
    "{% case a.b %}{% when 1, 'x' or c %}1{% else %}2{% endcase %}{% comment %}x{% endcomment %}",
    "{% tablerow i in a cols:2 %}{{ i }}{% endtablerow %}{% cycle 'a', 'b' %}{% echo a | upcase %}",
)
DJANGO = (
    *("{{ a.b.0|default:'x'|upper }}", '{{ "it\\"s"|lower }}', "{# x #}", "{{ 1.5 }}"),
    "{% if a == 'x' and not b or c in d %}1{% elif a is not None %}2{% else %}3{% endif %}",
    "{% for a, b in c.items reversed %}{{ forloop.counter }}{% empty %}0{% endfor %}",
    "{% with a=b|lower c=1 %}{{ a }}{% endwith %}{% now 'Y' %}{% cycle 'a' 'b' %}",
    "{% autoescape off %}{{ a|safe }}{% endautoescape %}{% spaceless %}<p></p>{% endspaceless %}",
    "{% comment %}{{ x }}{% endcomment %}{% verbatim %}{{ x }}{% endverbatim %}",
)
PONGO2 = (
    *('{{ a.b.0|default:"x"|upper }}', "{{- a -}}", "{# x #}", "{{ 1.5 + b * 2 }}"),
    "{% if a == 'x' && !b or c in d %}1{% elif (a and b) or not c %}2{% else %}3{% endif %}",
    "{% for k, v in c reversed %}{{ forloop.Counter }}{% empty %}0{% endfor %}",
    "{% with a=b|lower c=1 %}{{ a }}{% endwith %}{% set x = -y ^ 2 * (1 + 2) %}",
    "{%- if a >= 3 -%}1{%- endif -%}{{ a.b(1, c).d }}",
)
HUBL = (
    *("{{ a.b[0]['c']|default('x', true) }}", "{{- a -}}", "{# x\n #}", "{{ -a ** 2 // 3 }}"),
    "{% if a == 'x' and not b or c not in d %}1{% elif a is not none %}2{% else %}3{% endif %}",
    "{% for a, b in c if d %}{{ loop.index }}{% else %}0{% endfor %}{{ a if b else c }}",
    "{% set x = [1, 2.5, 'a'] %}{{ x[0] ~ y }}{{ {'a': {'b': 1}}['a'] }}{% set y %}z{% endset %}",
    "{% with a=1, b=2 %}{{ a.b(1, c=d).e[1:2] }}{% endwith %}{% raw %}{{ {% endraw %}",
    "{% if x is divisibleby 3 and y is defined %}{% endif %}",
)
HANDLEBARS = (
    *("{{a.b}}", "{{{a.[b c]}}}", "{{&a}}", "{{! x }}", "{{!-- }} --}}", "{{~a~}}", "\\{{a}}"),
    "{{#if (gt a 1)}}1{{else if b}}2{{else}}3{{/if}}{{#unless a}}1{{^}}2{{/unless}}",
    "{{#each a.b as |c i|}}{{c.d}}{{@index}}{{else}}0{{/each}}{{#a}}{{../b}}{{/a}}",
    "{{f a.b \"x\" 3 true k=(g 'y' z=1)}}{{@root.b}}{{this.a}}{{.}}{{> a b c=1}}",
)


Reader: TypeAlias = Callable[[str], Iterator[Tag]]
Judge: TypeAlias = Callable[[Sequence[str]], list[bool]]
"""Says of each template whether the engine reads it."""


def parsed_by(engine: Engine) -> Judge:
    def parse(templates: Sequence[str]) -> list[bool]:
        results = render_batch(engine, "parse", [(each, {}) for each in templates])
        return [not isinstance(each, NotRendered) for each in results]

    return parse


def parsed_without_error(parse: Callable[[str], object], error: type[Exception]) -> Judge:
    def is_read(template: str) -> bool:
        try:
            parse(template)
        except error:
            return False
        return True

    return lambda templates: [is_read(each) for each in templates]


JUDGES: Mapping[str, tuple[Sequence[str], Reader, Judge]] = {
    "Liquid": (LIQUID, read_liquid, parsed_by(Engine.RUBY_LIQUID)),
    "Django": (DJANGO, read_django, parsed_without_error(parse_django, TemplateSyntaxError)),
    "pongo2": (PONGO2, read_pongo2, parsed_by(Engine.PONGO2)),
    "HubL": (HUBL, read_hubl, parsed_without_error(parse_jinja, JinjaSyntaxError)),
    "Handlebars": (HANDLEBARS, read_handlebars, parsed_by(Engine.HANDLEBARS)),
}
NOT_MEANT = {
    "This tag has more than Liquid reads.",
}
"""Reasons for which a reader refuses what the engine accepts, because it can't be meant."""
_HUBL_OPERATORS = set("?&!|")
"""Characters of operators that HubL has, and Jinja has not."""
_FILTERS = {"default", "lower", "safe", "upper"}
_WITH_ARGUMENT = {"default"}


def is_judged(language: str, template: str) -> bool:
    """Return whether the engine judges only the grammar: it also knows filters and arguments."""
    if language == "HubL":
        return not _HUBL_OPERATORS & {*template} or template in HUBL
    if language not in {"Django", "pongo2"}:
        return True
    found = re.findall(r"\|\s*(\w+)(:?)", template)
    return all(name in _FILTERS and (name in _WITH_ARGUMENT) == bool(arg) for name, arg in found)


@pytest.mark.parametrize("language", JUDGES)
def test_the_reader_agrees_with_the_engine(language):
    constructs, read, judge = JUDGES[language]
    assert judge(constructs) == [True] * len(constructs)
    assert [reason(build_tree(read(each))) for each in constructs] == [None] * len(constructs)
    changed = [each for each in dict.fromkeys(_changed(constructs)) if is_judged(language, each)]
    found = [(each, reason(build_tree(read(each)))) for each in changed]
    different = [
        (template, accepted, refused)
        for (template, refused), accepted in zip(found, judge(changed), strict=True)
        if accepted != (refused is None) and refused not in NOT_MEANT
    ]
    assert len(different) <= (1 - AGREEMENT) * len(changed), different[:20]


def _changed(constructs: Sequence[str]) -> Iterator[str]:
    """Yield the constructs with one character removed, added or replaced."""
    chosen = random.Random(0)
    for construct in constructs:
        for _ in range(CHANGES):
            index, removed = chosen.randrange(len(construct)), chosen.randrange(2)
            added = chosen.choice(["", *CHARACTERS])
            yield construct[:index] + added + construct[index + removed :]


def reason(nodes: Sequence[Node]) -> str | None:
    """Return why the text is not read, or None."""
    for node in nodes:
        if isinstance(node, Unread):
            return node.reason
        if isinstance(node, Opaque) and node.nodes is None and node.name not in KNOWN_TAGS:
            return f"There is no tag {node.name}."
        found = reason([*_inner(node)])
        if found is not None:
            return found
    return None


KNOWN_TAGS = {
    *("cycle", "now", "break", "continue", "increment", "decrement", "include", "render", ">"),
    *("csrf_token", "debug", "firstof", "lorem", "templatetag", "extends", "import", "macro"),
    *("liquid", "print", "do"),
}


def _inner(node: Node) -> Iterator[Node]:
    match node:
        case Condition(_, _, branches):
            for branch in branches:
                yield from branch.nodes
        case Loop():
            yield from (*node.nodes, *node.otherwise)
        case Assignment(_, _, _, tuple() as nodes) | Opaque(nodes=tuple() as nodes):
            yield from nodes
