"""Files with the document of fields: what they mean, and the place of each violation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.application.fields.fields_as_code import (
    render_definition,
    render_field_document,
)
from recipient_fields.application.fields.inputs import parse_draft
from recipient_fields.domain import API, AllowedValues, FieldDraft
from recipient_fields.entrypoints.cli.fields.files import (
    MAX_FILE_SIZE,
    MAX_NODES,
    InvalidFile,
    parse_file,
    render_yaml,
)
from recipient_fields.testing.strategies import stored_fields

from ...support.growth import count_calls

TIER = "fields:\n  tier: {name: Tier, data_type: text}\n"


def violations(content: str | bytes) -> list[str]:
    """Return each violation as `line:column message`."""
    with pytest.raises(InvalidFile) as caught:
        parse_file(content.encode() if isinstance(content, str) else content)
    return [
        f"{each.place.line}:{each.place.column} {each.message}" for each in caught.value.violations
    ]


def only(content: str, data_type: str = "text") -> FieldDraft:
    """Return the field of a file that defines one, with these members after its type."""
    text = f"fields:\n  tier:\n    data_type: {data_type}\n    name: Tier\n{content}"
    (draft,) = parse_file(text.encode()).fields
    return draft


def values_of(draft: FieldDraft) -> tuple[object, ...]:
    assert isinstance(draft.allowed_values, AllowedValues)
    return draft.allowed_values.values


def allowed(values: str, data_type: str) -> tuple[object, ...]:
    return values_of(only(f"    allowed_values: {values}\n", data_type))


MISSING = "Add this member."
NOT_A_NUMBER = "A number field requires a number, such as 1.5."
TWO_AS_TEXT = "This is a text. Write the number 2 without quotes."
TYPES = "Use one of text, number, boolean, date, datetime."
TOO_MANY = "The document has more than 250,000 keys and values. Remove the rest."
NOT_YAML = "The file is not valid YAML"
NOT_UTF_8 = "The file is not UTF-8. Save it as UTF-8."
KEY_RULE = "Use lower-case letters, digits and single underscores, beginning with a letter."


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ["1:1 The file is empty. Begin it with `fields:`."]),
        ("# nothing\n", ["1:1 The file is empty. Begin it with `fields:`."]),
        ("- tier\n", ["1:1 This must be an object."]),
        ("{}", [f"1:1 fields: {MISSING}"]),
        ("fields:\n", ["1:8 fields: This must be an object."]),
        (
            "fields:\n  tier:\n    name: Tier\n    dat_type: text\n",
            [
                f"2:3 fields.tier.data_type: {MISSING}",
                "4:5 fields.tier.dat_type: There is no such member. Did you mean data_type?",
            ],
        ),
        (
            "fields:\n  tier:\n    name: Tier\n    data_type: txt\n",
            [f"4:16 fields.tier.data_type: {TYPES} Did you mean text?"],
        ),
        (
            "fields:\n  shoe:\n    name: [Shoe]\n    data_type: text\n",
            ["3:11 fields.shoe.name: This must be a string."],
        ),
        (
            "fields:\n  shoe:\n    name: Shoe\n    data_type: text\n    insertable: yes\n",
            ["5:17 fields.shoe.insertable: This must be true or false."],
        ),
        (
            "fields:\n  größe: {name: Größe, data_type: text, allowed_values: [a, ö, ö]}\n",
            [
                f"2:3 fields.größe: {KEY_RULE} Did you mean grosse?",
                "2:64 fields.größe.allowed_values.2: Each value may be listed once.",
            ],
        ),
        (
            (
                "fields:\n  size:\n    name: Size\n    data_type: number\n    allowed_values:\n"
                '    - 1\n    - "2"\n    - 3_0\n    - 0x1F\n    - no\n'
            ),
            [
                f"7:7 fields.size.allowed_values.1: {TWO_AS_TEXT}",
                f"8:7 fields.size.allowed_values.2: {NOT_A_NUMBER}",
                f"9:7 fields.size.allowed_values.3: {NOT_A_NUMBER}",
                f"10:7 fields.size.allowed_values.4: {NOT_A_NUMBER}",
            ],
        ),
        (f"{TIER}  tier: {{}}\n", ["3:3 The key tier is already in line 2."]),
        (
            "fields:\n  tier: {name: A, data_type: text, name: B}\n",
            ["2:36 The key name is already in line 2."],
        ),
        (
            "fields:\n  1.10: {}\n  2026-11-20: {}\n  ~: {}\n",
            [
                '2:3 A key must be a text. Put it in quotes: "1.10".',
                '3:3 A key must be a text. Put it in quotes: "2026-11-20".',
                '4:3 A key must be a text. Put it in quotes: "~".',
            ],
        ),
        ("fields:\n  [a, b]: {}\n", ["2:3 A key must be a text."]),
        (
            "fields:\n  tier:\n    name: {{x}}\n",
            ["3:12 A key must be a text. Put a text with code in quotes."],
        ),
        (
            "fields:\n  tier: &tier {name: Tier, data_type: text}\n  other: *tier\n",
            [
                "2:9 Anchors are not supported. Remove the anchor.",
                "3:10 Aliases are not supported. Repeat the value.",
            ],
        ),
        (
            "fields:\n  tier:\n    <<: {name: Tier}\n    data_type: text\n",
            ["3:5 Merge keys are not supported. Repeat the members."],
        ),
        (
            "fields: !!python/object/apply:os.system [ls]\n",
            ["1:9 Tags are not supported. Remove the tag."],
        ),
        (f"{TIER}---\nfields: {{}}\n", ["3:1 A file has only one document. Remove this one."]),
        ("fields:\n\ttier: {}\n", ["2:1 Indent with spaces, not with tabs."]),
        (
            "fields:\n  tier: {name: @tier, data_type: text}\n",
            ["2:16 Put this text in quotes: YAML reserves @ at its start."],
        ),
        (
            "fields:\n  tier:\n    name: Tier: gold\n",
            [f"3:15 {NOT_YAML}: mapping values are not allowed in this context."],
        ),
        (f"{TIER}...\n%\n", [f"4:2 {NOT_YAML}: could not find expected directive name."]),
        (
            "fields:\n  tier: {name: Tier\n",
            [f"3:1 {NOT_YAML}: did not find expected ',' or '}}'."],
        ),
        (
            "fields:\n  tier: {name: Tier\x07}\n",
            [
                '2:20 The file contains a control character. Write "\\u0007" in double quotes.',
            ],
        ),
        (b"fields:\n  tier: {name: Gr\xf6\xdfe}\n", [f"2:18 {NOT_UTF_8}"]),
        ("fields:\n".encode("utf-16"), [f"1:1 {NOT_UTF_8}"]),
        ("fields:" + " [" * 40, ["1:71 The document is nested deeper than 32 levels."]),
        (
            "%YAML 1.1\n%TAG ! tag:example.com,2026:\n---\nfields: {}\n",
            ["2:1 Tags are not supported. Remove this line."],
        ),
        ("{}\r...\r%TAG ! x:\r--- {}", ["3:1 Tags are not supported. Remove this line."]),
        (
            "fields: [" + "a," * (MAX_NODES - 3) + "b, c]",
            [f"1:{2 * MAX_NODES + 4} {TOO_MANY}"],
        ),
        (b" " * (MAX_FILE_SIZE + 1), ["1:1 The file is larger than 4 MiB."]),
        (
            '{"fields": {"tier": {"name": "\\ud800", "data_type": "text"}}}',
            [f"1:33 {NOT_YAML}: found invalid Unicode character escape code."],
        ),
    ],
)
def test_each_violation_has_its_line_and_column(content, expected):
    assert violations(content) == expected


YAML_TOKENS = st.sampled_from(
    [
        *("fields", "tier", "name", "data_type", "text", "no", "1.10", "a b", "<<", "x" * 1_100),
        *(": ", ":", "- ", ", ", "{", "}", "[", "]", "\n", "\n  ", "\n    ", "\t", "\r", " "),
        *('"', "'", "|", ">", "&a ", "*a", "!!str ", "!", "%YAML 1.3", "---", "...", "#", "?"),
        "\\",
        *("\\u0041", "\\ud83d", "\\x0", "@", "`", "\ufeff", "\u2028", "é", "😀"),
    ]
)


@given(
    content=st.binary(max_size=40)
    | st.text(st.characters(codec="utf-8"), max_size=40).map(str.encode)
    | st.lists(YAML_TOKENS, max_size=30).map(lambda tokens: "".join(tokens).encode())
)
def test_any_file_is_read_or_rejected_with_a_place(content):
    try:
        parse_file(content)
    except InvalidFile as error:
        lines = content.decode("utf-8", "replace").replace("\r", "\n").split("\n")
        for each in error.violations:
            assert 1 <= each.place.line <= len(lines) + 1
            assert each.place.column >= 1
            assert each.message


@pytest.mark.slow
def test_the_largest_document_is_read_with_its_places():
    values = [f"v{number}" for number in range(1_000)]
    fields = {
        f"f{number}": {"name": "Size", "data_type": "text", "allowed_values": values}
        for number in range(247)
    }
    text = json.dumps({"fields": fields})
    assert len(parse_file(text.encode()).fields) == 247
    place = text.index('"text"') + 1
    assert violations(text.replace('"text"', '"txt"', 1))[0].startswith(f"1:{place} ")


def test_the_fields_after_a_thousand_violations_are_not_checked():
    text = json.dumps({"fields": {f"f{number}": {} for number in range(10_000)}})
    assert count_calls(parse_draft, lambda: violations(text)) == 500


def test_an_alias_bomb_is_rejected_in_linear_time():
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 30))
    found = violations(f"l0: &l0 [x]\n{levels}fields: {{}}\n")
    assert len(found) == 30 + 29 * 9


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("1.10", "1.10"),
        ("true", "true"),
        ("2026-11-20", "2026-11-20"),
        ("0x1F", "0x1F"),
        ("12:30", "12:30"),
        ("'null'", "null"),
        ('"~"', "~"),
    ],
)
def test_a_text_is_read_as_it_is_written(text, value):
    assert only(f"    custom_insertion_code: {text}\n").custom_insertion_code == value
    assert allowed(f"[{text}]", "text") == (value,)


@pytest.mark.parametrize("null", ["null", "~", ""])
def test_a_null_is_written_as_in_yaml(null):
    draft = only(f"    custom_insertion_code: {null}\n    allowed_values: {null}\n")
    assert (draft.custom_insertion_code, draft.allowed_values) == (None, None)


def test_values_have_the_data_type_of_their_field():
    assert allowed("[1.10, 2, -3e2]", "number") == (1.1, 2, -300)
    assert allowed("[2026-11-20]", "date") == ("2026-11-20",)
    assert allowed("[2026-11-20T09:15:00+01:00]", "datetime") == ("2026-11-20T08:15:00.000Z",)
    assert not only("    insertable: false\n").insertable


def test_json_is_read_as_yaml():
    text = (
        '\ufeff{\r\n\t"fields": {\r\n\t\t"tier": {"name":"\\ud83d\\ude00\\/\\\\ud83d\\ude00",'
        '\t"data_type":"number", "allowed_values":[1.0,2e1]}}}'
    ).replace("\\\\ud83d\\ude00", "\\\\ud83d")
    (draft,) = parse_file(text.encode()).fields
    assert draft.name == "\N{GRINNING FACE}/\\ud83d"
    assert values_of(draft) == (1, 20)


def test_a_violation_in_json_has_its_line_and_column():
    document = {"fields": {"tier": {"name": "\N{GRINNING FACE}", "data_type": "txt"}}}
    assert violations(json.dumps(document, indent="\t"))[0].startswith("5:17 ")
    text = json.dumps(document)
    place = text.index('"txt"') + 1
    assert violations(text)[0].startswith(f"1:{place} ")


@given(fields=st.lists(stored_fields(by=API), unique_by=lambda each: each.key, max_size=3))
def test_a_written_file_defines_the_same_fields(fields):
    document = render_field_document(fields)
    for write in (render_yaml, json.dumps):
        text = write(document)
        assert text == write(document)
        parsed = {draft.key: draft for draft in parse_file(text.encode()).fields}
        assert parsed.keys() == {field.key for field in fields}
        for field in fields:
            defined = parsed[field.key].define(by=API, at=field.created_at)
            assert render_definition(defined) == render_definition(field)


def test_a_file_is_written_for_people():
    members: dict[str, Any] = {
        "name": "no",
        "data_type": "text",
        "allowed_values": ["1.10", "gold", "2026-11-20"],
        "custom_insertion_code": "{% if tier %}\n{{ tier }}\n{% endif %}\n",
        "custom_value_expression": "tier\u2028",
    }
    assert render_yaml({"fields": {"tier": members}}) == (
        "fields:\n"
        "  tier:\n"
        "    name: 'no'\n"
        "    data_type: text\n"
        "    allowed_values:\n"
        "    - '1.10'\n"
        "    - gold\n"
        "    - '2026-11-20'\n"
        "    custom_insertion_code: |\n"
        "      {% if tier %}\n"
        "      {{ tier }}\n"
        "      {% endif %}\n"
        '    custom_value_expression: "tier\\L"\n'
    )
