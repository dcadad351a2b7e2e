"""Content is parsed into texts, references and blocks."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import API, DataType
from recipient_fields.domain.conditions import Comparison, Operator
from recipient_fields.domain.content import (
    InvalidContent,
    WarningCode,
    WarningKind,
    parse_content,
    preview_content,
    read_content,
)
from recipient_fields.domain.content.errors import MAX_WARNINGS
from recipient_fields.domain.content.syntax import MAX_BLOCK_DEPTH, MAX_CONDITIONS
from recipient_fields.domain.content.tree import Block, Reference, Text

from ...support.growth import assert_grows_linearly


def violations(source: str) -> list[str]:
    with pytest.raises(InvalidContent) as invalid:
        parse_content(source)
    return [violation.message for violation in invalid.value.violations]


def warnings(source: str) -> list[tuple[int, int]]:
    return [(each.line, each.column) for each in parse_content(source).warnings]


def test_filters_are_chained_and_the_default_is_the_last():
    source = """{{recipient.a | upper | truncate: 20 | default: 'x'}}{{ recipient.b|number:2 ~}}
    {{recipient.c | date: "long" | lower}}"""
    assert [(" | ".join(map(str, r.filters)), r.default) for r in parsed(source)] == [
        ("upper | truncate: 20", "x"),
        ("number: 2", None),
        ('date: "long" | lower', None),
    ]


def parsed(source: str) -> list[Reference]:
    return list(parse_content(source).references())


@pytest.mark.parametrize(
    ("written", "meant"),
    [("upcase", "upper"), ("Upper", "upper"), ("urlencode", "url"), ("defualt", "default")],
)
def test_an_unknown_filter_is_refused_with_a_suggestion(written, meant):
    with pytest.raises(InvalidContent) as invalid:
        parse_content(f"{{{{recipient.a | {written}}}}}")
    assert [violation.suggestion for violation in invalid.value.violations] == [meant]


def test_a_reference_has_a_key_and_a_default_or_an_expression():
    source = (
        'Hi {{recipient.a}}{{recipient.b | default: "x\\"y\\\\"}}'
        "{{recipient.c|default:'{{'}}{{recipient.d | expression}}"
    )
    content = parse_content(source)
    assert content.nodes[0] == Text("Hi ", 0)
    assert [(r.key, r.default, r.is_expression) for r in content.references()] == [
        ("a", None, False),
        ("b", 'x"y\\', False),
        ("c", "{{", False),
        ("d", None, True),
    ]


def test_a_block_has_branches_with_conditions():
    source = "{{#if recipient.a = '}}'}}x{{else if recipient.b > 1}}{{else}}y{{/if}}z"
    block, text = parse_content(source).nodes
    assert isinstance(block, Block)
    assert [(branch.condition, branch.nodes) for branch in block.branches] == [
        (Comparison("a", Operator.EQUAL, "}}"), (Text("x", source.index("x")),)),
        (Comparison("b", Operator.GREATER, 1), ()),
        (None, (Text("y", source.index("y")),)),
    ]
    assert text == Text("z", len(source) - 1)


def test_a_condition_can_be_in_parentheses_without_a_space_before_it():
    source = "{{#if(recipient.a)}}x{{else if(recipient.b)}}y{{/if}}"
    assert [branch.condition for branch in parse_content(source).branches()] == [
        Comparison("a", Operator.IS_TRUE),
        Comparison("b", Operator.IS_TRUE),
    ]


def test_blocks_can_contain_references_and_blocks():
    source = "{{#if recipient.a}}{{#if recipient.b}}{{recipient.c}}{{/if}}{{/if}}"
    content = parse_content(source)
    (reference,) = content.references()
    assert [branch.condition for branch in content.branches()] == [
        Comparison("a", Operator.IS_TRUE),
        Comparison("b", Operator.IS_TRUE),
    ]
    assert reference.key == "c"
    assert content.keys() == ("a", "b", "c")


@pytest.mark.parametrize("blank", [" ", "\n  ", "\u00a0"])
def test_blanks_in_tags_have_no_meaning(blank):
    source = (
        "{{ recipient.a }}{{ recipient.b | expression }}"
        "{{ #if recipient.a }}x{{ else if recipient.b }}y{{ else }}z{{ /if }}"
    )
    compact = source.replace("{{ ", "{{").replace(" }}", "}}")
    assert outline(source.replace("{{ ", "{{" + blank)) == outline(compact)


def outline(source: str) -> str:
    """Return the tree of the content without its offsets."""
    return re.sub(r"\b(?:start|end|line|column)=\d+", "", repr(parse_content(source).nodes))


@pytest.mark.parametrize(
    "comment",
    [
        *("{{! x }}", "{{!x}}", "{{!}}", "{{!-- x --}}", "{{!----}}", "{{!-- x }} --}}"),
        *("{{!--}}", "{{!---}}"),
        *("{{! {{recipient.a | none }}", "{{!-- {{#if recipient.a}} --}}", "{{! {{/if }}"),
        *("{{!-- {{else}} {{! }} --}}", "{{! recipients.a }}", "{{! - -}}"),
    ],
)
def test_a_comment_is_removed_and_nothing_in_it_is_read(comment):
    content = parse_content(f"a {comment} b{{{{recipient.c}}}}")
    assert [getattr(node, "text", "") for node in content.nodes] == ["a ", " b", ""]
    assert content.keys() == ("c",)
    assert content.warnings == ()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% raw %}a {{! b }}{% endraw %}{{! c }}d", "{% raw %}a {{! b }}{% endraw %}d"),
        ("{%- raw -%}{{!-- {{/if}} --}}{%- endraw -%}", None),
        ("{% verbatim x %}{{! a }}{% endraw %}{{! b }}{% endverbatim x %}", None),
        (
            "{% raw %}{% raw %}{{! a }}{% endraw %}{{! b }}",
            "{% raw %}{% raw %}{{! a }}{% endraw %}",
        ),
        ("{{! {% raw %} }}a{{! b }}{% endraw %}", "a{% endraw %}"),
        ("{% raw %}a{{! b }}", "{% raw %}a"),
        ("{% rawer %}a{{! b }}{% endraw %}", "{% rawer %}a{% endraw %}"),
    ],
)
def test_a_comment_in_a_part_that_is_shown_as_it_is_stays(source, text):
    content = parse_content(source)
    assert preview_content(content, [], {}).content == (source if text is None else text)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("a \n{{recipient.x}}\n b", "a \n1\n b"),
        ("a \n{{~recipient.x}}\n b", "a1\n b"),
        ("a \n{{ recipient.x ~}}\n b", "a \n1b"),
        ("a \n{{~ recipient.x ~}}\n b", "a1b"),
        ("a \n{{~ recipient.y | default: '~' ~}}\n b", "a~b"),
        ("a\n{{~! x ~}}\n b", "ab"),
        ("a\n{{~!-- x --~}}\n b", "ab"),
        ("a\n{{!-- ~}}\n--}}\n b", "a\n\n b"),
        ("a\n{{~#if recipient.x is set~}}\n b \n{{~/if~}}\n c", "abc"),
        ("a\n{{#if recipient.x is set ~}}\n b\n{{/if}}\n c", "a\nb\n\n c"),
        ("a\n{{#if recipient.y is set}}{{~else~}}\n b\n{{~ /if }}c", "a\nbc"),
        ("{{#if recipient.y is set}}{{else if recipient.x = 1~}} b {{/if}}", "b "),
        ("{{#if recipient.x is set}} a {{~else}} b {{/if}}", " a"),
        (" {{~recipient.x~}} {{~recipient.x~}} ", "11"),
        ("{{#each y~}} a {{~/each}} ", "{{#each y~}} a {{~/each}} "),
    ],
)
def test_a_tilde_removes_the_white_space_at_its_side(source, shown, make_field):
    fields = [make_field(API, key=key, data_type=DataType.NUMBER) for key in ("x", "y")]
    assert preview_content(parse_content(source), fields, {"x": 1}).content == shown


def test_the_text_after_a_tilde_starts_at_its_first_character():
    content = parse_content("{{recipient.a~}} \n b {{~recipient.a}}")
    assert content.nodes[1] == Text("b", 19)


@pytest.mark.parametrize(
    "piece",
    [
        *("{{!", "{{!--", "{{ ", "{{~", "{{\n recipient.a ", "{{! {{", "{{recipient.a | "),
        "{{!x}}",
        *("{{recipient.a|upper|", "|x:'{{recipient.a|y:\"", "{{recipient.a|x:'{{recipient.b|y:\""),
        *("{{#if recipient.a ~", "{{#if ~", "{{ recipient.a }} ~}}", "{{~recipient.a~}}  "),
    ],
)
def test_content_is_parsed_in_linear_time(piece):
    def parse(source: str) -> None:
        with suppress(InvalidContent):
            parse_content(source)

    def build(size: int) -> str:
        return piece * (size // len(piece))

    assert_grows_linearly(parse, build, 40_000)
    assert_grows_linearly(parse, lambda size: f"{{% raw %}}{build(size)}{{% endraw %}}", 40_000)


@pytest.mark.parametrize(
    "source",
    [
        "{{#if tier}}a{{else}}b{{/if}}",
        "{{#each items}}{{else}}{{/each}}",
        "{{#if recipient.a}}{{#if tier}}x{{else}}y{{/if}}{{#each x}}{{else}}{{/each}}{{/if}}",
        "{{#if tier}}{{#if recipient.a}}x{{/if}}{{else}}y{{/if}}",
    ],
)
def test_blocks_of_handlebars_are_text(source):
    content = parse_content(source)
    blocks = [node for node in content.nodes if isinstance(node, Block)]
    assert len(blocks) == source.count("recipient.")
    assert all(len(block.branches) == 1 for block in blocks)


ELSE_IF = "Write `{{else if CONDITION}}`"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n{{recipient.a | uper}}", "Line 2, column 17: Use one of the filters default,"),
        ("{{recipient.a | default}}", "Line 1, column 17: Write a filter, such as"),
        ("{{recipient.a | default: 1}}", "Line 1, column 17: Write a filter, such as"),
        ('{{recipient.a | expression: "x"}}', "Line 1, column 17: Write a filter, such as"),
        ("{{recipient.a | upper | expression}}", "Line 1, column 25: Write a filter, such as"),
        ("{{recipient.a | default: 'x' | upper}}", "Line 1, column 17: Write `default` after"),
        ("{{recipient.a | upper: 1}}", "Line 1, column 17: Write this filter as `| upper`."),
        ("{{recipient.a | truncate}}", "Line 1, column 17: Write this filter as `| truncate: 20`."),
        (
            "{{recipient.a | truncate: 0}}",
            "Line 1, column 17: Write a number from 1 to 1,000 after",
        ),
        ("{{recipient.a | number: '2'}}", "Line 1, column 17: Write this filter as `| number: 2`."),
        ("{{recipient.a | number: 5}}", "Line 1, column 17: Write a number from 0 to 4 after"),
        ("{{recipient.a | date: 'lang'}}", "Line 1, column 17: Use one of the styles long,"),
        ("{{recipient.a | date: 1}}", 'Line 1, column 17: Write this filter as `| date: "long"`.'),
        ("{{recipient.a | upper | }}", "Line 1, column 1: Write a filter, such as"),
        ("{{recipient.a | upper | default: x}}", "Line 1, column 1: Write the default in"),
        ("{{recipient.a | default: x}}", "Line 1, column 1: Write the default in"),
        ('{{recipient.a | default: "\\n"}}', "Line 1, column 26: Write a backslash as"),
        ("{{#if recipient.a}}", "Line 1, column 1: This block has no {{/if}}."),
        ("é\n {{#if recipient.a =}}{{/if}}", "Line 2, column 21: Expected a value"),
        ("{{#if recipient.a and b = 1}}{{/if}}", "Line 1, column 23: Write `recipient.b`."),
        ("{{#if recipient.a}}{{else if b}}{{/if}}", "Line 1, column 30: Write `recipient.b`."),
        ("{{#if recipient.a}}{{else}}{{else}}{{/if}}", "Line 1, column 28: `{{else}}` must be"),
        ("{{#if recipient.a}}{{else x}}{{/if}}", "Line 1, column 20: Write `{{else}}` or"),
        ("{{#if recipient.a}}{{~ELSE~}}{{/if}}", "Line 1, column 20: Write `{{else}}` or"),
        ("{{#if recipient.a}}\n{{elseif recipient.b}}{{/if}}", "Line 2, column 1: " + ELSE_IF),
        ("{{#if recipient.a}}{{elif recipient.b}}{{/if}}", "Line 1, column 20: " + ELSE_IF),
        ("{{#if recipient.a}}{{ ElsIf recipient.b}}{{/if}}", "Line 1, column 20: " + ELSE_IF),
        ("{{#if recipient.a}}{{elseif}}{{/if}}", "Line 1, column 20: " + ELSE_IF),
        ("{{#if recipient.a}}{{else if}}{{/if}}", "Line 1, column 20: " + ELSE_IF),
        ("{{#if recipient.a}}{{else if \n}}{{/if}}", "Line 1, column 20: " + ELSE_IF),
        ("{{#if recipient.a}}{{else if 'x}}{{/if}}", "Line 1, column 20: " + ELSE_IF),
        ("{{#if recipient.a}}{{#else}}{{/if}}", "Line 1, column 20: Write `{{else}}` or"),
        ("{{#if recipient.a}}{{#elseif recipient.b}}{{/if}}", "Line 1, column 20: " + ELSE_IF),
        ("{{#if recipient.a ~ }}{{/if}}", "Line 1, column 19: "),
        ("x {{! y", "Line 1, column 3: This comment has no end. Write `}}`"),
        ("x {{!-- y }} {{/if}}", "Line 1, column 3: This comment has no end. Write `--}}`"),
        ("{{#if recipient.a}}{{! y {{/if", "Line 1, column 20: This comment has no end."),
        ("{{#if recipient.a}}{{/each}}{{/if}}", "Line 1, column 20: Close `{{#if` of line 1"),
        ("{{#if recipient.a}}x{{ /If}}", "Line 1, column 21: Write `{{/if}}` in small letters."),
        (
            "{{#if recipient.a}}\n{{#each x}}{{/if}}{{/each}}{{/if}}",
            "Line 2, column 12: Close `{{#each` of line 2, column 1 first.",
        ),
        ("a\0b", "Line 1, column 1: Remove the null character"),
        ("a\ud800b", "Line 1, column 1: Remove the null character"),
    ],
)
def test_invalid_content_is_refused_with_the_position(source, message):
    (found,) = violations(source)
    assert found.startswith(message)


def test_all_violations_are_reported_in_order():
    source = "{{recipient.a | x}}{{#if recipient.b =}}{{/if}}{{#if recipient.c}}"
    assert len(violations(source)) == 3
    assert violations(source) == sorted(violations(source))


def test_blocks_have_a_maximum_depth():
    opening, end = "{{#if recipient.a}}", "{{/if}}"
    parse_content(opening * MAX_BLOCK_DEPTH + end * MAX_BLOCK_DEPTH)
    (message,) = violations(opening * (MAX_BLOCK_DEPTH + 1) + end * (MAX_BLOCK_DEPTH + 1))
    assert message.endswith("Nest blocks at most 10 levels deep.")


def test_what_is_nested_too_deep_is_still_read():
    opening, end = "{{#if recipient.a}}", "{{/if}}"
    content = read_content(opening * 999 + "x{{recipient.b}}" + end * 998 + "y" + end)
    assert {each.reason for each in content.violations} == {"Nest blocks at most 10 levels deep."}
    assert content.keys() == ("a", "b")
    for unended in (opening * 400, opening * 400 + end):
        assert read_content(unended).keys() == ("a",)


def test_content_has_a_maximum_number_of_conditions():
    block = "{{#if recipient.a}}{{/if}}"
    parse_content(block * MAX_CONDITIONS)
    (message,) = violations(block * (MAX_CONDITIONS + 1) + "{{recipient.a | x}}")
    assert message.endswith("Content has at most 1,000 conditions.")


def test_only_the_first_1000_warnings_are_reported():
    source = "{{/each}}{{recipient}}" * MAX_WARNINGS
    found = warnings(source)
    assert len(found) == 1_000
    assert found[:2] == [(1, 10), (1, 32)]
    assert found == sorted(found)


PIECES = (
    *("{", "}", "{{", "}}", "{{{", "recipient", "recipient.", "a", ".", " ", "|", "default", ":"),
    *("'", '"', "\\", "#if", "{{#if ", "{{else", "{{else}}", "{{/if}}", "{{#each x}}", "{{/each}}"),
    *("{{! ", "{{!--", "--}}", "{{~", "~}}"),
    *("{{recipient.a}}", "{{#if recipient.a}}", "\r\n", "%7B", "&#123;", "<b>", "é", "=", "("),
)
ANY_CONTENT = st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join)


@given(source=ANY_CONTENT)
def test_the_texts_of_any_content_are_at_their_offsets_in_the_source(source):
    try:
        content = parse_content(source)
    except InvalidContent:
        return
    assert len(content.masked) == len(source)
    nodes = list(content.nodes)
    while nodes:
        node = nodes.pop()
        if isinstance(node, Text):
            assert source.startswith(node.text, node.start)
            assert content.masked.startswith(node.text, node.start)
        elif isinstance(node, Block):
            nodes += [each for branch in node.branches for each in branch.nodes]


LOOKALIKES = (
    *("{{- recipient.tier -}}", "{{recipient .tier}}", "{{Recipient.tier}}"),
    "{{recipient.lo-tier}}",
    *("{{recipients.tier}}", "{{recipient}}", "{{recipient.}}", "{{recipient tier}}"),
    *("{{recipient.tier}", "{{recipient.tier", "{recipient.tier}", "{ {recipient.tier}}"),
    *("recipient.tier}}", "{{recipient.tier | default: 'x'", "{{recipient.<b>tier</b>}}"),
    *("{{<b>recipient.tier</b>}}", "{<i>{</i>recipient.tier}}", "{{recipient<br>.tier}}"),
    *("%7B%7Brecipient.tier%7D%7D", "%7b%7brecipient.tier%7d%7d", "{{recipient%2Etier}}"),
    *("&#123;&#123;recipient.tier&#125;&#125;", "&lbrace;&lcub;recipient.tier&rbrace;&rbrace;"),
    *("&#x7B;&#x7b;recipient.tier}}", "{{\u200brecipient.tier}}"),
    *("{{&nbsp;recipient.tier}}", "{% if recipient.tier %}", "{{#unless recipient.tier}}"),
    *('{{#if tier = "gold"}}{{/if}}', "{{#if }}x{{/if}}"),
)


@pytest.mark.parametrize("lookalike", LOOKALIKES)
def test_text_that_looks_like_a_reference_is_a_warning_and_stays(lookalike):
    source = f"{{{{recipient.a}}}}\n é {lookalike} b"
    assert warnings(source) == [(2, 4)]
    assert parse_content(source).nodes[-1] == Text(f"\n é {lookalike} b", 15)


@pytest.mark.parametrize(
    "source",
    [
        *("Dear recipient,", "{the recipient.}", "recipient.tier", "{{ contact.tier }}", "{}"),
        *("{{recipient_id}}", '{"recipient": 1}', "{{recipientName}}", "a{color:red}"),
        "{{#with x}}",
        *("https://example.com/?recipient=%7Bx%7D", "the recipient. {{ x }}"),
    ],
)
def test_other_text_is_no_warning(source):
    assert warnings(source) == []


NO_BLOCK = "This tag belongs to no block. Write `{{#if recipient.KEY …}}` before it"
NO_END = "This block has no {{/if}}."
NO_END_OF_CONDITION = "This condition has no end. Write `}}`"
NO_END_OF_TEXT = "This quote has no closing quote"
ONE_BRACE = "Write two braces at the end of the tag"


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        *((each, NO_BLOCK) for each in ("{{else}}", "{{ else }}", "{{else if recipient.b}}")),
        *((each, NO_BLOCK) for each in ("{{elseif recipient.b}}", "{{elif recipient.b}}")),
        *((each, NO_BLOCK) for each in ("{{else if}}", "{{/if}}", "{{~ /if ~}}")),
        *((each, NO_END) for each in ("{{#if x}}", "{{#if}}", '{{#if tier = "gold"}}')),
        *((each, NO_END) for each in ("{{#if recipient.b}}", "{{#if x}}{{#if y}}{{/if}}")),
        ("{{#if x}}{{#each y}}{{/each}}", NO_END),
        ("{{#if recipient.b", NO_END_OF_CONDITION),
        ("{{#if recipient.b {{recipient.c}}{{/if}}", NO_END_OF_CONDITION),
        ("{{ #If recipient.b}}x{{/if}}", "Write `{{#if` in small letters."),
        ("{{#If recipient.b}}x{{/if}}", "Write `{{#if` in small letters."),
    ],
)
def test_a_part_of_a_block_never_stays_as_text(tag, message):
    assert violations(f"\n{tag}")[0].startswith(f"Line 2, column 1: {message}")


@pytest.mark.parametrize(
    ("tag", "place", "message"),
    [
        ('{{#if recipient.b = "x}}{{/if}}', '"', NO_END_OF_TEXT),
        ("{{#if recipient.b = 'it's'}}{{/if}}", "'}", NO_END_OF_TEXT),
        ('{{#if recipient.b = "x}}<a href="y">z</a>{{/if}}', '"', NO_END_OF_TEXT),
        ('{{#if recipient.b = "x}}<b id="y" class="z">{{/if}}"', '"', NO_END_OF_TEXT),
        ('{{#if recipient.b = "x}}y{{/if}}{{#if recipient.c = "z}}{{/if}}', '"', NO_END_OF_TEXT),
        ('{{#if recipient.b = "x"}y{{/if}}', "}", ONE_BRACE),
        ("{{#if recipient.b} {{recipient.c}}{{/if}}", "}", ONE_BRACE),
        ("{{#if recipient.b\u00a0= 3}}{{/if}}", "\u00a0", "Write a space instead of"),
        ('{{#if recipient.b starts with "x"}}{{/if}}', "starts", "Write `contains` for"),
        ("{{#if recipient.b between 1 and 5}}{{/if}}", "between", "Write two comparisons"),
        ("{{#if recipient.b = 1,5}}{{/if}}", ",", "Write a number without commas"),
        ("{{#if recipient.b = “x”}}{{/if}}", "“", 'Write `"` instead of `“`.'),
        *(
            (f"{{{{recipient.b | default: {each}}}}}", "{{", "Write the default in straight quotes")
            for each in ("there", "“there”", "&quot;there&quot;")
        ),
    ],
)
def test_advice_fits_the_mistake_and_marks_it(tag, place, message):
    (violation,) = violations(tag)
    assert violation.startswith(f"Line 1, column {tag.index(place) + 1}: {message}")


@pytest.mark.parametrize("opening", ["{{if", "{{ # if", "{{&nbsp;#if", "{{\u200b#if"])
def test_a_misspelled_beginning_of_a_block_is_marked_once(opening):
    expected = ["Line 1, column 3: Write this tag as `{{#if recipient.KEY …}}`."]
    assert violations(f"a {opening} recipient.b}}}}b{{{{else}}}}c{{{{/if}}}}") == expected


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{{#ifEq recipient.b 'x'}}y{{/ifEq}}", WarningCode.CONDITION_LOOKALIKE),
        ("{{#equals recipient.b 'x'}}y{{/equals}}", WarningCode.CONDITION_LOOKALIKE),
        ("{% if recipient.b == 'x' %}y{% endif %}", WarningCode.CONDITION_LOOKALIKE),
        ("{%- elif recipient.b %}y", WarningCode.CONDITION_LOOKALIKE),
        ("{{if recipient.b}}y", WarningCode.CONDITION_LOOKALIKE),
        ("{{upper recipient.b}}", WarningCode.REFERENCE_LOOKALIKE),
        ("{{#unless recipient.b}}x{{/unless}}", WarningCode.UNLESS_LOOKALIKE),
        ("{{#each recipient.b}}x{{/each}}", WarningCode.LOOP_LOOKALIKE),
    ],
)
def test_other_blocks_with_a_reference_are_mistakes(source, code):
    (warning,) = parse_content(source).warnings
    assert (warning.code, warning.code.kind) == (code, WarningKind.MISTAKE)


@pytest.mark.parametrize(
    "source",
    [
        *("{{#if x}}y{{/if}}", "{{#if x}}{{else}}{{/if}}", "{{~#if x~}}y{{~/if~}}"),
        "{{#if x}}{{#user.orders}}{{else}}{{/user.orders}}{{else if y}}z{{/if}}",
        "{{#each x}}{{#if y}}{{#if z}}{{/if}}{{/if}}{{else}}{{/each}}",
    ],
)
def test_complete_blocks_of_handlebars_stay(source):
    assert parse_content(source).nodes == (Text(source, 0),)
    assert warnings(source) == []


def test_three_braces_are_a_warning():
    assert warnings("{{{recipient.a}}}") == [(1, 2)]
    assert warnings("{color:{{recipient.a}}}") == []


def test_content_that_is_read_keeps_its_violations_and_what_could_be_read():
    content = read_content(
        '{{recipient.a | defualt: "x"}} {{#if recipient.b is}}{{recipient.c}}{{/if}}'
        "{{#if recipient.d is set}}{{recipient.e}}"
    )
    assert [str(each.position) for each in content.violations] == [
        "Line 1, column 17",
        "Line 1, column 52",
        "Line 1, column 76",
    ]
    assert content.keys() == ("a", "b", "c", "d", "e")


def test_an_invalid_condition_does_not_hide_its_keys():
    content = read_content(
        "{{#if recipient.a = 'recipient.x' and recipient.b > 1,5}}"
        "{{else if (recipient.c}}{{recipient.d}}{{/if}}"
    )
    places = {each.key: content.source[each.start :][:1] for each in content.references()}
    assert places == {"a": "a", "b": "b", "c": "c", "d": "{"}


def test_content_with_too_many_conditions_is_read_up_to_them():
    block = "{{#if recipient.a is set}}{{/if}}"
    content = read_content(block * (MAX_CONDITIONS + 1) + "{{recipient.b}}")
    assert (len(content.violations), content.keys()) == (1, ("a",))


def test_content_without_violations_is_read_as_it_is_parsed():
    source = "{{recipient.a}}{{#if recipient.b is set}}x{{else}}y{{/if}}"
    assert read_content(source) == parse_content(source)
