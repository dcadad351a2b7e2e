"""The JSON form of conditions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from recipient_fields.application import InvalidDocument
from recipient_fields.application.conditions.documents import (
    parse_condition_document,
    render_condition_document,
)
from recipient_fields.application.documents.strict_json import parse_json, render_json
from recipient_fields.domain.conditions import (
    MAX_DEPTH,
    InvalidCondition,
    check_condition,
    format_condition,
    parse_condition,
)

from ...support.conditions import FIELDS, conditions
from ...support.messages import are_sentences

SET = {"field": "city", "op": "is_set"}


def violations(document: object) -> dict[str, str]:
    """Return the rules by JSON pointer."""
    with pytest.raises(InvalidDocument) as caught:
        parse_condition_document(document)
    assert all(are_sentences(each.message) for each in caught.value.violations)
    return {
        "".join(f"/{step}" for step in each.path): each.rule.value
        for each in caught.value.violations
    }


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("x = 'gold'", {"field": "x", "op": "eq", "value": "gold"}),
        ("x != -1", {"field": "x", "op": "ne", "value": -1}),
        ("x < 0.5", {"field": "x", "op": "lt", "value": 0.5}),
        ("x <= 3", {"field": "x", "op": "le", "value": 3}),
        ("x > 3", {"field": "x", "op": "gt", "value": 3}),
        ("x >= 3", {"field": "x", "op": "ge", "value": 3}),
        ("x in (1, 'a')", {"field": "x", "op": "in", "value": [1, "a"]}),
        ("x contains 'a'", {"field": "x", "op": "contains", "value": "a"}),
        ("x is set", {"field": "x", "op": "is_set"}),
        ("x is not set", {"field": "x", "op": "is_not_set"}),
        ("x", {"field": "x", "op": "is_true"}),
        ("x = false", {"field": "x", "op": "eq", "value": False}),
        ('x = date "2026-11-20"', {"field": "x", "op": "eq", "value": {"date": "2026-11-20"}}),
        (
            'x in (date "2026-11-20T09:15:00Z")',
            {"field": "x", "op": "in", "value": [{"date": "2026-11-20T09:15:00.000Z"}]},
        ),
        (
            "a or b is set",
            {"any": [{"field": "a", "op": "is_true"}, {"field": "b", "op": "is_set"}]},
        ),
        (
            "not (a and b)",
            {"not": {"all": [{"field": "a", "op": "is_true"}, {"field": "b", "op": "is_true"}]}},
        ),
    ],
)
def test_a_text_and_its_json_form_mean_the_same(text, document):
    condition = parse_condition(text)
    assert render_condition_document(condition) == document
    assert parse_condition_document(document) == condition


@given(conditions())
def test_text_and_json_convert_both_ways(condition):
    document = parse_json(render_json(render_condition_document(condition)))
    parsed = parse_condition_document(document)
    assert parsed == condition
    assert format_condition(parsed) == format_condition(condition)
    assert render_condition_document(parse_condition(format_condition(parsed))) == document


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (None, {"": "type"}),
        ("city is set", {"": "type"}),
        ([], {"": "type"}),
        ({}, {"/field": "required", "/op": "required"}),
        ({"field": "city", "op": "eq", "vaule": 3}, {"/vaule": "unknown_field"}),
        ({**SET, "all": [SET, SET]}, {"/field": "unknown_field", "/op": "unknown_field"}),
        ({"all": None}, {"/all": "type"}),
        ({"all": {"0": SET}}, {"/all": "type"}),
        ({"all": []}, {"/all": "empty"}),
        ({"any": [SET]}, {"/any": "empty"}),
        ({"not": [SET]}, {"/not": "type"}),
        ({"field": 3, "op": "eq", "value": 3}, {"/field": "type"}),
        ({"field": "a or b", "op": "is_set"}, {"/field": "format"}),
        ({"field": "and", "op": "is_set"}, {"/field": "reserved"}),
        ({"field": "city", "op": "equals", "value": 3}, {"/op": "unknown_value"}),
        ({"field": "city", "op": None}, {"/op": "type"}),
        ({"field": "city", "op": "eq"}, {"/value": "required"}),
        ({**SET, "value": None}, {"/value": "not_applicable"}),
        ({**SET, "op": "is_not_set", "value": True}, {"/value": "not_applicable"}),
        ({**SET, "op": "is_true", "value": True}, {"/value": "not_applicable"}),
        ({**SET, "op": "eq", "value": None}, {"/value": "type"}),
        ({**SET, "op": "eq", "value": ["a"]}, {"/value": "type"}),
        ({**SET, "op": "eq", "value": {"day": 1}}, {"/value": "type"}),
        ({**SET, "op": "eq", "value": {"date": "2026-11-20", "x": 1}}, {"/value": "type"}),
        ({**SET, "op": "eq", "value": {"date": 3}}, {"/value/date": "type"}),
        ({**SET, "op": "eq", "value": {"date": "tomorrow"}}, {"/value/date": "format"}),
        ({**SET, "op": "eq", "value": "a\nb"}, {"/value": "invalid_characters"}),
        ({**SET, "op": "eq", "value": "\ud800"}, {"/value": "invalid_characters"}),
        ({**SET, "op": "eq", "value": 256 * "a"}, {"/value": "too_long"}),
        ({**SET, "op": "eq", "value": 2**53}, {"/value": "out_of_range"}),
        ({**SET, "op": "in", "value": "a"}, {"/value": "type"}),
        ({**SET, "op": "in", "value": []}, {"/value": "empty"}),
        (
            {**SET, "op": "in", "value": [None, "a", 2**53]},
            {"/value/0": "type", "/value/2": "out_of_range"},
        ),
        (
            {"any": [SET, {"not": {"all": [3, {"field": "x", "op": "eq"}]}}, {"not": None}]},
            {
                "/any/1/not/all/0": "type",
                "/any/1/not/all/1/value": "required",
                "/any/2/not": "type",
            },
        ),
    ],
)
def test_all_violations_are_reported_with_their_paths(document, expected):
    assert violations(document) == expected


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("e\N{COMBINING ACUTE ACCENT}", "é"),
        (3.0, 3),
        ({"date": "2026-11-20T10:15:00.5+01:00"}, {"date": "2026-11-20T09:15:00.500Z"}),
    ],
)
def test_values_become_canonical(value, canonical):
    condition = parse_condition_document({"field": "x", "op": "eq", "value": value})
    rendered = render_condition_document(condition)["value"]
    assert (type(rendered), rendered) == (type(canonical), canonical)


def nested(depth: int, member: str) -> Any:
    document: Any = SET
    for _ in range(depth - 1):
        document = {"not": document} if member == "not" else {member: [document, SET]}
    return document


@pytest.mark.parametrize(
    ("member", "parts"), [("not", [""]), ("all", ["/0", "/1"]), ("any", ["/0", "/1"])]
)
def test_the_depth_is_limited(member, parts):
    assert parse_condition_document(nested(MAX_DEPTH, member))
    deepest = f"/{member}{parts[0]}" * (MAX_DEPTH - 1) + f"/{member}"
    assert violations(nested(100_000, member)) == {
        f"{deepest}{part}": "out_of_range" for part in parts
    }


def test_checks_have_paths_in_the_document():
    document = {"all": [{"field": "citty", "op": "is_set"}, {**SET, "op": "eq", "value": 3}]}
    with pytest.raises(InvalidCondition) as caught:
        check_condition(parse_condition_document(document), FIELDS)
    assert [each.path for each in caught.value.violations] == [
        ("all", 0, "field"),
        ("all", 1, "value"),
    ]


def test_a_document_with_thousands_of_violations_lists_a_thousand():
    document = json.loads('{"any": [' + ", ".join(10_000 * ["3"]) + "]}")
    with pytest.raises(InvalidDocument) as caught:
        parse_condition_document(document)
    assert len(caught.value.violations) == 1_000
