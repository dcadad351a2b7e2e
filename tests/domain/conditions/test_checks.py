"""Checks of conditions against fields: they report all violations at once."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given

from recipient_fields.domain import (
    DataType,
    Rule,
    Violation,
    closest_match,
)
from recipient_fields.domain.conditions import (
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    InvalidCondition,
    Not,
    Operator,
    check_condition,
    parse_condition,
)
from recipient_fields.domain.conditions.checks import MAX_COMPARISONS

from ...support.conditions import FIELDS, conditions, define
from ...support.growth import count_calls
from ...support.messages import are_sentences

SUPPORTED = {
    DataType.TEXT: "eq ne in contains is_set is_not_set",
    DataType.NUMBER: "eq ne lt le gt ge in is_set is_not_set",
    DataType.BOOLEAN: "eq ne is_set is_not_set is_true",
    DataType.DATE: "eq ne lt le gt ge in is_set is_not_set",
    DataType.DATETIME: "eq ne lt le gt ge in is_set is_not_set",
}
LITERALS = {
    DataType.TEXT: '"gold"',
    DataType.NUMBER: "3",
    DataType.BOOLEAN: "true",
    DataType.DATE: 'date "2026-11-20"',
    DataType.DATETIME: 'date "2026-11-20T09:15:00Z"',
}
KEYS = {
    DataType.TEXT: "city",
    DataType.NUMBER: "visits",
    DataType.BOOLEAN: "newsletter",
    DataType.DATE: "birthday",
    DataType.DATETIME: "last_visit",
}
NEWSLETTER = Comparison("newsletter", Operator.IS_TRUE)
NOT_ALLOWED = "This is not one of the field's allowed values."


def violations(condition: Condition | str) -> tuple[Violation, ...]:
    if isinstance(condition, str):
        condition = parse_condition(condition)
    with pytest.raises(InvalidCondition) as caught:
        check_condition(condition, FIELDS)
    assert all(are_sentences(each.message) for each in caught.value.violations)
    return caught.value.violations


def test_all_violations_are_reported_with_their_places():
    found = violations(
        'teir = "x"\nand loyalty_tier in (3, "gold", "sliver") or visits contains "a"'
    )
    assert [(each.rule, each.message.partition(":")[0], each.suggestion) for each in found] == [
        (Rule.UNKNOWN_VALUE, "Line 1, column 1", None),
        (Rule.TYPE, "Line 2, column 22", None),
        (Rule.UNKNOWN_VALUE, "Line 2, column 33", "silver"),
        (Rule.NOT_APPLICABLE, "Line 2, column 46", None),
    ]
    assert {each.path for each in found} == {()}


def test_without_a_text_violations_have_the_paths_of_the_json_form():
    condition = AllOf(
        (
            NEWSLETTER,
            Not(
                AnyOf((Comparison("visit", Operator.IS_SET), Comparison("city", Operator.LESS, 3)))
            ),
            Comparison("loyalty_tier", Operator.EQUAL, "bronze"),
            Comparison("visits", Operator.IN, (1, "2")),
        )
    )
    assert [each.path for each in violations(condition)] == [
        ("all", 1, "not", "any", 0, "field"),
        ("all", 1, "not", "any", 1, "op"),
        ("all", 2, "value"),
        ("all", 3, "value", 1),
    ]


def test_an_unknown_field_has_a_similar_key_as_suggestion():
    (violation,) = violations("Visit > 3")
    assert violation.rule is Rule.UNKNOWN_VALUE
    assert violation.message == "Line 1, column 1: There is no field with this key."
    assert violation.suggestion == "visits"


@pytest.mark.parametrize("data_type", DataType)
def test_a_type_supports_these_operators_and_no_others(data_type):
    example = parse_condition(f"x = {LITERALS[data_type]}")
    assert isinstance(example, Comparison)
    supported = set()
    for operator in Operator:
        match operator:
            case Operator.IN:
                comparison = Comparison(KEYS[data_type], operator, example.values)
            case Operator.IS_SET | Operator.IS_NOT_SET | Operator.IS_TRUE:
                comparison = Comparison(KEYS[data_type], operator)
            case _:
                comparison = Comparison(KEYS[data_type], operator, example.value)
        with suppress(InvalidCondition):
            check_condition(comparison, FIELDS)
            supported.add(operator.value)
    assert supported == set(SUPPORTED[data_type].split())


def test_an_operator_that_is_not_supported_is_reported_with_those_that_are():
    assert violations("city >= 3")[0].message == (
        "Line 1, column 1: A text field does not support `>=`."
        " Use `=`, `!=`, `in`, `contains`, `is set` or `is not set`."
    )
    assert violations(Comparison("newsletter", Operator.LESS, 3))[0].message == (
        "A boolean field does not support `lt`."
        " Use `eq`, `ne`, `is_set`, `is_not_set` or `is_true`."
    )


def test_only_a_boolean_field_is_a_condition_by_itself():
    assert violations("not visits")[0].message == (
        "Line 1, column 5: Only a boolean field is a condition by itself."
        " Compare this field with a value, or use `is set`."
    )
    assert violations(Comparison("visits", Operator.IS_TRUE))[0].message.startswith(
        "A number field does not support `is_true`."
    )


@pytest.mark.parametrize(
    ("field", "literal"),
    [pair for pair in product(DataType, DataType) if pair[0] is not pair[1]],
    ids=lambda each: each.value,
)
def test_a_value_must_have_the_type_of_the_field(field, literal):
    (violation,) = violations(f"{KEYS[field]} = {LITERALS[literal]}")
    assert violation.rule is Rule.TYPE
    assert violation.message.endswith(
        f": Compare a {field.value} field with a {field.value}, such as {LITERALS[field]}."
    )


def test_in_json_the_example_of_a_date_is_an_object():
    (violation,) = violations(Comparison("birthday", Operator.EQUAL, "2026-11-20"))
    assert violation.message == (
        'Compare a date field with a date, such as {"date": "2026-11-20"}.'
    )


@pytest.mark.parametrize(
    ("operation", "hint"),
    [
        ('= ""', "is not set"),
        ('!= ""', "is set"),
        ('contains ""', "is set"),
        ('in ("a", "")', "is not set"),
    ],
)
def test_an_empty_text_is_rejected_with_a_hint(operation, hint):
    (violation,) = violations(f"city {operation}")
    assert violation.rule is Rule.BLANK
    assert violation.message.endswith(f": An empty text is not set. Use `{hint}`.")


def test_the_hint_for_an_empty_text_has_the_names_of_the_json_form():
    (violation,) = violations(Comparison("city", Operator.EQUAL, ""))
    assert violation.message == "An empty text is not set. Use `is_not_set`."


@pytest.mark.parametrize(
    "comparison",
    [
        "loyalty_tier {} 'bronze'",
        "size {} 2",
        'holiday {} date "2026-12-25"',
        'slot {} date "2026-11-20T09:15:00.001Z"',
    ],
)
@pytest.mark.parametrize("operator", ["=", "!=", "in"])
def test_a_value_must_be_one_of_the_allowed_values(comparison, operator):
    if operator == "in":
        comparison = comparison.replace("{} ", "{} (") + ")"
    (violation,) = violations(comparison.format(operator))
    assert violation.rule is Rule.UNKNOWN_VALUE
    assert violation.message.endswith(NOT_ALLOWED)


@pytest.mark.parametrize(
    "text",
    [
        "loyalty_tier = 'gold'",
        "loyalty_tier = 'Gro\N{COMBINING DIAERESIS}ße'",
        "loyalty_tier contains 'old'",
        "size in (1.0, 2.5)",
        "size > 2",
        'holiday = date "2026-12-24"',
        'holiday < date "2026-12-25"',
        'slot = date "2026-11-20T10:15:00+01:00"',
    ],
)
def test_allowed_values_and_orders_of_other_values_are_accepted(text):
    check_condition(parse_condition(text), FIELDS)


def test_few_violations_have_suggestions_because_the_search_takes_time():
    allowed = [f"value number {number}" for number in range(1_000)]
    tier = define("loyalty_tier", DataType.TEXT, allowed)
    values = ", ".join(f'"value numbr {number}"' for number in range(500))
    condition = parse_condition(f"loyalty_tier in ({values})")
    with pytest.raises(InvalidCondition) as caught:
        check_condition(condition, [tier])
    assert len(caught.value.violations) == 500
    assert sum(each.suggestion is not None for each in caught.value.violations) == 5

    def check():
        with suppress(InvalidCondition):
            check_condition(condition, [tier])

    assert count_calls(closest_match, check) == 5


def test_at_most_a_thousand_violations_are_reported():
    assert len(violations(f"visits in ({', '.join(1_001 * ['true'])})")) == 1_000


def nested(depth: int) -> Condition:
    """Return a condition of this depth: its parts are alternately `and` and `or`."""
    condition: Condition = NEWSLETTER
    for level in range(depth - 1):
        condition = (AllOf, AnyOf)[level % 2]((condition, NEWSLETTER))
    return condition


def test_a_condition_can_be_as_deep_as_the_limit():
    check_condition(nested(MAX_DEPTH), FIELDS)


@pytest.mark.parametrize("levels", [1, 100_000])
def test_a_condition_that_is_deeper_is_rejected(levels):
    condition: Condition = NEWSLETTER
    for _ in range(levels):
        condition = Not(condition)
    for _ in range(MAX_DEPTH - 1):
        condition = AllOf((condition, Comparison("unknown", Operator.IS_SET)))
    deep, *unknown = violations(condition)
    assert deep.message == "A condition has at most 12 levels."
    assert deep.path == ("all", 0) * (MAX_DEPTH - 1)
    assert [each.path[-1] for each in unknown] == ["field"] * (MAX_DEPTH - 1)


def test_a_text_that_is_too_deep_has_the_place_of_that_part():
    text = "visits > 3"
    for _ in range(6):
        text = f"newsletter or newsletter and ({text})"
    (violation,) = violations(text)
    assert violation.message == "Line 1, column 165: A condition has at most 12 levels."


def test_a_condition_has_at_most_200_comparisons():
    text = " or ".join(MAX_COMPARISONS * ["newsletter"])
    check_condition(parse_condition(text), FIELDS)
    (violation,) = violations(f"{text}\nor newsletter")
    assert violation.rule is Rule.TOO_MANY_ITEMS
    assert violation.message == "Line 2, column 4: A condition has at most 200 comparisons."
    many = AnyOf((MAX_COMPARISONS + 2) * (NEWSLETTER,))
    assert violations(many)[0].path == ()


@given(conditions())
def test_conditions_with_values_of_the_fields_types_are_accepted(condition):
    check_condition(condition, FIELDS)
