"""Each language reads its code into the same tree, with places, and never fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain.esp.languages.ampscript import read_ampscript
from recipient_fields.domain.esp.languages.blocks import Tag, build_tree, with_texts
from recipient_fields.domain.esp.languages.django import read_django
from recipient_fields.domain.esp.languages.handlebars import read_handlebars
from recipient_fields.domain.esp.languages.hubl import read_hubl
from recipient_fields.domain.esp.languages.liquid import LiquidWords, read_liquid
from recipient_fields.domain.esp.languages.merge_tags import read_merge_tags
from recipient_fields.domain.esp.languages.percent_tags import read_percent_tags
from recipient_fields.domain.esp.languages.pongo2 import read_pongo2
from recipient_fields.domain.esp.languages.tree import (
    Assignment,
    Call,
    Comment,
    Condition,
    Expression,
    Filter,
    Filtered,
    Literal,
    Loop,
    Node,
    Opaque,
    Operation,
    Output,
    Path,
    Raw,
    Special,
    Text,
    Unread,
    walk,
)

from ....support.growth import assert_grows_linearly, count_calls


def read_braze(text: str) -> Iterator[Tag]:
    return read_liquid(text, LiquidWords(has_interpolation=True))


READERS: Mapping[str, Callable[[str], Iterator[Tag]]] = {
    "AMPscript": read_ampscript,
    "Braze": read_braze,
    "Django": read_django,
    "Handlebars": read_handlebars,
    "HubL": read_hubl,
    "Liquid": read_liquid,
    "merge tags": read_merge_tags,
    "percent tags": read_percent_tags,
    "pongo2": read_pongo2,
}


def read_tree(language: str, text: str) -> tuple[Node, ...]:
    return build_tree(with_texts(text, READERS[language](text)))


LANGUAGES: Mapping[str, Callable[[str], tuple[Node, ...]]] = {
    language: partial(read_tree, language) for language in READERS
}


def shown(node: Node, text: str) -> object:
    """Return a short form of a node: its type, and what is in it."""
    match node:
        case Text(start, end):
            return text[start:end]
        case Output(_, _, value, is_raw):
            return ("raw" if is_raw else "show", expression(value))
        case Condition(_, _, branches):
            return (
                "if",
                *(
                    (each.test and expression(each.test), *(shown(n, text) for n in each.nodes))
                    for each in branches
                ),
            )
        case Loop():
            nodes = [shown(each, text) for each in node.nodes]
            otherwise = [shown(each, text) for each in node.otherwise]
            return ("for", node.variables, expression(node.items), nodes, otherwise)
        case Assignment(_, _, name, tuple() as nodes):
            return ("set", name, [shown(each, text) for each in nodes])
        case Assignment(
            _, _, name, Literal() | Path() | Filtered() | Call() | Operation() as value
        ):
            return ("set", name, expression(value))
        case Opaque(_, _, name, arguments, _, nodes):
            inner = None if nodes is None else [shown(each, text) for each in nodes]
            return ("tag", name, [expression(each) for each in arguments], inner)
        case Raw(_, _, start, end):
            return ("text", text[start:end])
        case Comment():
            return "comment"
        case Unread(start, end, reason):
            return ("unread", text[start:end], reason)
    raise AssertionError(node)


def expression(found: Expression) -> object:
    """Return a short form of an expression."""
    match found:
        case Literal(Special() as value):
            return value
        case Literal(value):
            return {"literal": value}
        case Path(parts):
            return ".".join(str(_part(each)) for each in parts)
        case Filtered(value, filters):
            return (expression(value), *map(_filter, filters))
        case Call(name, arguments, named):
            return (
                f"{name}()",
                *map(expression, arguments),
                *((n, expression(v)) for n, v in named),
            )
        case Operation(operator, operands):
            return (operator, *map(expression, operands))


def _part(part: object) -> object:
    return part if isinstance(part, str | int) else expression(part)  # type: ignore[arg-type]


def _filter(found: Filter) -> object:
    return (f"|{found.name}", *map(expression, found.arguments))


def number(value: float) -> object:
    return {"literal": value}


A_OR_B = ("or", "a", "b")
THREE_BRANCHES = ("if", ("a", "1"), ("b", "2"), (None, "3"))

TREES: list[tuple[str, str, object]] = [
    # Values, members and filters.
    ("Liquid", "{{ a.b[0]['c d'].e | default: 'x', y: 2 }}",
     ("show", ("a.b.0.c d.e", ("|default", {"literal": "x"})))),
    ("Liquid", "{{- blank -}}", ("show", Special.BLANK)),
    ("Braze", "{{${first_name} | default: 'you'}}",
     ("show", ("$.first_name", ("|default", {"literal": "you"})))),
    ("Braze", "{{custom_attribute.${Loyalty Tier}}}", ("show", "custom_attribute.$.Loyalty Tier")),
    ("Django", "{{ a.0.b|default:'it\\'s'|upper }}",
     ("show", ("a.0.b", ("|default", {"literal": "it's"}), ("|upper",)))),
    ("pongo2", "{{ a.b|default: \"x\" }}", ("show", ("a.b", ("|default", {"literal": "x"})))),
    ("HubL", "{{ a['b'].c|default('x', true) }}",
     ("show", ("a.b.c", ("|default", {"literal": "x"}, {"literal": True})))),
    ("HubL", "{{ a if b else 'c' }}", ("show", ("if", "b", "a", {"literal": "c"}))),
    ("Handlebars", "{{{a.[b c]}}}", ("raw", "a.b c")),
    ("Handlebars", "{{dateFormat a format='long'}}",
     ("show", ("dateFormat()", "a", ("format", {"literal": "long"})))),
    ("Handlebars", "{{defaultIfEmpty (upper ../a) \"x\"}}",
     ("show", ("defaultIfEmpty()", ("upper()", "...a"), {"literal": "x"}))),
    ("AMPscript", "%%First Name%%", ("show", "First Name")),
    ("AMPscript", "%%=v(@a)=%%", ("show", "@a")),
    ("AMPscript", "%%=IIF(Empty([First Name]), 'say \"hi\"', AttributeValue(\"b\"))=%%",
     ("show", ("IIF()", ("Empty()", "First Name"), {"literal": 'say "hi"'}, "b"))),
    ("merge tags", "*|FNAME|*", ("show", "FNAME")),
    ("merge tags", "*|UPPER:FNAME|*", ("show", ("FNAME", ("|UPPER",)))),
    ("percent tags", "%FIRSTNAME|friend%",
     ("show", ("FIRSTNAME", ("|default", {"literal": "friend"})))),
    # Tests: their operators have one name, and their precedence is that of the language.
    ("Liquid", "{% if a or b and c %}x{% endif %}", ("if", (("or", "a", ("and", "b", "c")), "x"))),
    ("Liquid", "{% if a and b or c %}x{% endif %}", ("if", (("and", "a", ("or", "b", "c")), "x"))),
    ("Django", "{% if a and b or not c == 3 %}x{% endif %}",
     ("if", (("or", ("and", "a", "b"), ("not", ("==", "c", number(3)))), "x"))),
    ("pongo2", "{% if a && b or c %}x{% endif %}", ("if", (("and", "a", ("or", "b", "c")), "x"))),
    ("HubL", "{% if (a or b) and c not in d %}x{% endif %}",
     ("if", (("and", A_OR_B, ("not", ("contains", "d", "c"))), "x"))),
    ("AMPscript", "%%[ IF NOT Empty(@a) AND @b >= 1.5 THEN ]%%x%%[ ENDIF ]%%",
     ("if", (("and", ("not", ("Empty()", "@a")), (">=", "@b", number(1.5))), "x"))),
    ("percent tags", "%IF $A == 'x' && ($B >= 1 || $C != 'y')%x%/IF%",
     ("if", (("and", ("==", "A", {"literal": "x"}),
              ("or", (">=", "B", number(1)), ("!=", "C", {"literal": "y"}))), "x"))),
    ("merge tags", "*|IFNOT:PLAN=pro|*x*|END:IF|*",
     ("if", (("not", ("==", "PLAN", {"literal": "pro"})), "x"))),
    ("Liquid", "{% if a contains 'b' %}x{% endif %}",
     ("if", (("contains", "a", {"literal": "b"}), "x"))),
    ("Django", "{% if 'b' in a %}x{% endif %}", ("if", (("contains", "a", {"literal": "b"}), "x"))),
    # Branches.
    ("Liquid", "{% if a %}1{% elsif b %}2{% else %}3{% endif %}",
     THREE_BRANCHES),
    ("Liquid", "{% unless a %}1{% endunless %}", ("if", (("not", "a"), "1"))),
    ("Liquid", "{% case a %} {% when 1, 2 %}x{% else %}y{% endcase %}",
     ("if", (("or", ("==", "a", number(1)), ("==", "a", number(2))), "x"), (None, "y"))),
    ("Django", "{% if a %}1{% elif b %}2{% else %}3{% endif %}",
     THREE_BRANCHES),
    ("Handlebars", "{{#if a}}1{{else if b}}2{{else}}3{{/if}}",
     THREE_BRANCHES),
    ("Handlebars", "{{#unless a}}1{{^}}2{{/unless}}", ("if", (("not", "a"), "1"), (None, "2"))),
    ("Handlebars", "{{#ifEq a 'b'}}1{{/ifEq}}", ("tag", "ifEq", ["a", {"literal": "b"}], ["1"])),
    ("AMPscript", "%%[if @a == 1 then]%%1%%[elseif @b then]%%2%%[else]%%3%%[endif]%%",
     ("if", (("==", "@a", number(1)), "1"), ("@b", "2"), (None, "3"))),
    ("merge tags", "*|IF:A|*1*|ELSEIF:B=c|*2*|ELSE:|*3*|END:IF|*",
     ("if", ("A", "1"), (("==", "B", {"literal": "c"}), "2"), (None, "3"))),
    ("percent tags", "%IF $A%1%ELSEIF $B%2%ELSE%3%/IF%",
     ("if", ("A", "1"), ("B", "2"), (None, "3"))),
    # Liquid shows each `when` with the value.
    ("Liquid", "{% case a %}{% when 1 %}x{% when 2, 1 %}y{% endcase %}",
     ("tag", "case", ["a"], ["x", "y"])),
    ("Liquid", "{% case a %}{% when 1 %}{% assign a = 2 %}{% when 2 %}y{% endcase %}",
     ("tag", "case", ["a"], [("set", "a", number(2)), "y"])),
    ("Liquid", "{% case a %}{% when 1, 2 %}{% assign a = 2 %}{% endcase %}",
     ("tag", "case", ["a"], [("set", "a", number(2))])),
    ("Liquid", "{% case a %}{% when 1 %}{% assign a = 2 %}{% endcase %}",
     ("if", (("==", "a", number(1)), ("set", "a", number(2))))),
    # Loops, variables, other blocks.
    ("Liquid", "{% for i in a.b reversed limit: 2 %}{{ i }}{% else %}0{% endfor %}",
     ("for", ("i",), "a.b", [("show", "i")], ["0"])),
    ("Django", "{% for k, v in a %}{{ v }}{% empty %}0{% endfor %}",
     ("for", ("k", "v"), "a", [("show", "v")], ["0"])),
    ("Handlebars", "{{#each a.b as |i|}}{{i.c}}{{else}}0{{/each}}",
     ("for", ("i",), "a.b", [("show", "i.c")], ["0"])),
    ("Handlebars", "{{#each a}}{{this}}{{/each}}", ("for", (), "a", [("show", "this")], [])),
    ("AMPscript", "%%[FOR @i = 1 TO RowCount(@r) DO]%%x%%[NEXT @i]%%",
     ("for", ("@i",), ("range", number(1), ("RowCount()", "@r")), ["x"], [])),
    ("Liquid", "{% assign a = b | plus: 1 %}", ("set", "a", ("b", ("|plus", number(1))))),
    ("Liquid", "{% capture a %}x{{ b }}{% endcapture %}", ("set", "a", ["x", ("show", "b")])),
    ("HubL", "{% set a = [1, 'b'] %}", ("set", "a", ("list", number(1), {"literal": "b"}))),
    ("AMPscript", "%%[ /* why */ SET @a = \"b\" ]%%", ("set", "@a", {"literal": "b"})),
    ("Django", "{% with a=b %}x{% endwith %}", ("tag", "with", [], ["x"])),
    ("Django", "{% unsubscribe 'x' %}", ("tag", "unsubscribe", [{"literal": "x"}], None)),
    ("Liquid", "{% raw %}{{ x }}{% endraw %}", ("text", "{{ x }}")),
    ("Handlebars", "\\{{ x }} }} {{y}}", ("text", "{{ x }}")),
    ("Handlebars", "\\{{ x {{y}}", ("text", "{{")),
    ("Handlebars", "\\\\{{x}}", "\\\\"),
    ("Django", "{% verbatim a %}{{ x }}{% endverbatim a %}", ("text", "{{ x }}")),
    ("HubL", "{# {{ x }}\n #}", "comment"),
    ("Handlebars", "{{!-- {{x}} --}}", "comment"),
    ("Liquid", "{% comment %}{{ x {% endcomment %}", "comment"),
    # What the language does not read.
    ("Liquid", "{% if not a %}x{% endif %}",
     ("unread", "{% if not a %}", "Liquid has no `not`. Write `unless`, or compare with `false`.")),
    ("Liquid", "{{ a | }}", ("unread", "{{ a | }}", "The code ends where a name is expected.")),
    ("Liquid", "{{ a }", ("unread", "{{ a }", "This tag ends at `}`, and must end with `}}`.")),
    ("Django", "{{ a|default: 'x' }}",
     ("unread", "{{ a|default: 'x' }}", "Django reads no blank after the colon of a filter.")),
    ("Django", "{{var:firstname:\"there\"}}",
     ("unread", "{{var:firstname:\"there\"}}", "`:firstname:\"there\"` is not expected here.")),
    ("Django", "{% if (a or b) and c %}x{% endif %}",
     ("unread", "{% if (a or b) and c %}", "`(a` is no value.")),
    ("Django", "{%- now 'Y' -%}",
     ("unread", "{%- now 'Y' -%}", "Django has no `{%-`. Write `{%`.")),
    ("pongo2", "{% comment 'a' %}",
     ("unread", "{% comment 'a' %}", "`comment` is alone in its tag.")),
    ("pongo2", "{{ a\n}}", ("unread", "{{ a", "A tag ends on its line.")),
    ("HubL", "{{ 'a }}", ("unread", "{{", "The text that begins with ' does not end.")),
    ("Handlebars", "{{a b=}}", ("unread", "{{a b=}}", "The code ends where a value is expected.")),
    ("AMPscript", "%%[ IF @a == 1 ]%%", ("unread", "IF @a == 1", "`THEN` is missing.")),
    ("Liquid", "{% endif %}", ("unread", "{% endif %}", "`endif` ends no block.")),
    ("Liquid", "{% if a %}", ("unread", "{% if a %}", "This block has no `endif`.")),
    ("Django", "{% if a %}{% else %}{% elif b %}{% endif %}",
     ("if", ("a",), (None, ("unread", "{% elif b %}", "`elif` has no block that it can divide.")))),
]  # fmt: skip
"""A language, code in it, and the short form of its first node."""


@pytest.mark.parametrize(
    ("language", "code", "tree"), TREES, ids=[f"{a}: {b}" for a, b, _ in TREES]
)
def test_code_is_read_into_the_tree(language, code, tree):
    first, *_ = (shown(each, code) for each in LANGUAGES[language](code))
    assert first == tree


@pytest.mark.parametrize("language", ["Django", "Liquid", "HubL"])
def test_a_tag_ends_where_the_language_ends_it(language):
    """Only HubL finds no end of a tag in a text."""
    nodes = [shown(each, "{{ '}}' }}") for each in LANGUAGES[language]("{{ '}}' }}")]
    is_complete = language == "HubL"
    assert (nodes == [("show", {"literal": "}}"})]) == is_complete
    assert any(each[0] == "unread" for each in nodes if isinstance(each, tuple)) != is_complete


def places(nodes: tuple[Node, ...]) -> Iterator[tuple[int, int]]:
    for each in nodes:
        yield each.start, each.end


TAGS = st.sampled_from(
    [
        *("{{ a }}", "{{ a | b: 'c' }}", "{{{a}}}", "{{", "}}", "{%", "%}", "{#", "#}", "'", '"'),
        *("{% if a %}", "{% elif b %}", "{% else %}", "{% endif %}", "{% for a in b %}", "\\"),
        *("{% endfor %}", "{{#if a}}", "{{else}}", "{{/if}}", "{{#each a}}", "{{/each}}", "{{!--"),
        *("--}}", "%%[", "]%%", "%%=", "=%%", "%%A%%", "IF @a == 1 THEN", "ENDIF", "*|A|*", "\n"),
        *("*|IF:A|*", "*|END:IF|*", "%A%", "%IF $A%", "%/IF%", "{% raw %}", "{% endraw %}", "${a}"),
        *("\n", "(", ")", "[", "]", " ", "a", "|", "not", "and", "{% comment %}"),
        "{% endcomment %}",
    ]
)


@given(st.lists(TAGS, max_size=30).map("".join))
def test_any_text_is_read_and_the_nodes_are_in_order(text):
    for name, read in LANGUAGES.items():
        end = 0
        for start, next_end in places(read(text)):
            is_statement = name == "AMPscript"  # The nodes of a block are in its delimiters.
            assert end <= start if is_statement or start >= end else start == 0, name
            assert start < next_end <= len(text), name
            end = max(end, next_end)


HOSTILE: Mapping[str, str] = {
    "openings": "{{ ",
    "statements": "{% if ",
    "comments": "{# ",
    "comments of Handlebars": "{{!-- ",
    "texts": "{{ 'a\" ",
    "raw parts": "{% raw %}",
    "comments in blocks": "{% comment %}",
    "verbatim parts": "{% verbatim %}",
    "raw blocks": "{{{{a}}}}",
    "blocks": "{% if a %}",
    "blocks of Handlebars": "{{#if a}}",
    "parentheses": "{{ (((((",
    "operators": "{% if a and a and a and a %}",
    "filters": "{{ a|b|b|b|b|b|b|b }}",
    "AMPscript": "%%[ SET @a = ((1",
    "AMPscript blocks": "%%[ IF @a THEN ]%%",
    "names of AMPscript": "%%a b",
    "merge tags": "*|IF:a",
    "percent signs": "%IF $A",
    "interpolations": "{{ ${a",
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", HOSTILE)
def test_hostile_text_is_read_in_linear_time(shape):
    code = HOSTILE[shape]
    for read in LANGUAGES.values():
        assert_grows_linearly(read, lambda size: code * (size // len(code)), 40_000)


def test_nested_cases_do_not_visit_what_is_in_them_again() -> None:
    depth, count = 99, 1_000
    opening, ending = "{% case a %}{% when 1, 2 %}", "{% endcase %}"
    text = opening * depth + "{{ a }} " * count + ending * depth

    assert count_calls(walk, lambda: read_tree("Liquid", text)) <= 2 * count


@pytest.mark.parametrize("last", ["", "{{{{/b}}}}", "{{{{/a0}}}}"])
def test_raw_blocks_with_many_names_are_read_in_linear_time(last):
    def build(size: int) -> str:
        return "".join(f"{{{{{{{{a{number}}}}}}}}}" for number in range(size // 12)) + last

    assert_grows_linearly(lambda text: list(read_handlebars(text)), build, 400_000)


def test_a_raw_block_ends_at_the_next_end_with_its_name() -> None:
    text = "{{{{/a}}}}{{{{a}}}}{{b}}{{{{/c}}}}{{{{/a}}}}{{{{c}}}}{{{{/a}}}}"
    nodes = read_tree("Handlebars", text)
    assert [shown(each, text) for each in nodes][1:3] == [
        ("text", "{{b}}{{{{/c}}}}"),
        ("unread", "{{{{c}}}}", "This block has no `{{{{/c}}}}`."),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_deep_expressions_raise_no_recursion_error(language):
    for opening in ("(", "[", "not ", "a and ", "-", "!", "a(", "a or "):
        for tag in ("{{ %s", "{%% if %s %%}", "{{#if %s}}", "%%%%[ IF %s THEN ]%%%%", "%%IF %s%%"):
            LANGUAGES[language](tag % (opening * 5_000))
