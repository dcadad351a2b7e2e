"""The data of recipients is checked against the fields."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from recipient_fields.domain import (
    CheckedRecipient,
    DataType,
    RecipientSchema,
    Rule,
    Violation,
)

from ...support.conditions import define

DAY = "It looks like the number of a day in a spreadsheet."
FIELDS = [
    define("name", DataType.TEXT),
    define("tier", DataType.TEXT, ["gold", "silver"]),
    define("size", DataType.NUMBER),
    define("level", DataType.NUMBER, [1, 2.5]),
    define("subscribed", DataType.BOOLEAN),
    define("born", DataType.DATE),
    define("seen", DataType.DATETIME),
    define("event", DataType.DATETIME, ["2026-11-20T09:15:00Z"]),
]
SCHEMA = RecipientSchema.of(FIELDS)


@pytest.mark.parametrize(
    ("key", "value", "canonical"),
    [
        ("name", "Zoë", "Zoë"),
        ("name", "", None),
        ("tier", "", None),
        ("size", "", None),
        ("born", "", None),
        ("born", date(2026, 11, 20), "2026-11-20"),
        ("seen", datetime(2026, 11, 20, 9, 15, tzinfo=UTC), "2026-11-20T09:15:00.000Z"),
        ("name", "  two\nlines ", "  two\nlines "),
        ("tier", "gold", "gold"),
        ("size", 1.0, 1),
        ("size", -0.5, -0.5),
        ("size", 9007199254740991, 9007199254740991),
        ("level", 1.0, 1),
        ("level", 2.5, 2.5),
        ("subscribed", False, False),
        ("born", "2026-11-20", "2026-11-20"),
        ("seen", "2026-11-20T10:15:00+01:00", "2026-11-20T09:15:00.000Z"),
        ("event", "2026-11-20t10:15:00.0+01:00", "2026-11-20T09:15:00.000Z"),
        ("tier", None, None),
        ("subscribed", None, None),
    ],
)
def test_a_permitted_value_is_returned_in_canonical_form(key, value, canonical):
    checked = SCHEMA.check({key: value})
    assert checked == CheckedRecipient({key: canonical})
    assert type(checked.values[key]) is type(canonical)
    assert SCHEMA.check(checked.values) == checked


@pytest.mark.parametrize(
    ("key", "value", "rule", "message"),
    [
        ("name", 3, Rule.TYPE, "A text field requires a text in quotes."),
        ("name", "a\0b", Rule.INVALID_CHARACTERS, None),
        ("name", "a\ud800", Rule.INVALID_CHARACTERS, None),
        ("tier", "bronze", Rule.UNKNOWN_VALUE, "Use one of gold, silver."),
        ("tier", ["gold"], Rule.TYPE, "A text field requires a text in quotes."),
        ("size", "3", Rule.TYPE, "This is a text. Write the number 3 without quotes."),
        ("size", "03", Rule.TYPE, "A number field requires a number, such as 1.5."),
        ("size", True, Rule.TYPE, "A number field requires a number, such as 1.5."),
        ("size", float("nan"), Rule.OUT_OF_RANGE, "A number must be finite."),
        ("size", 2**53, Rule.OUT_OF_RANGE, "An integer must be within ±9007199254740991."),
        ("level", 3, Rule.UNKNOWN_VALUE, "Use one of 1, 2.5."),
        ("level", True, Rule.TYPE, "A number field requires a number, such as 1.5."),
        ("subscribed", 1, Rule.TYPE, "A boolean field requires true or false, without quotes."),
        (
            "subscribed",
            "true",
            Rule.TYPE,
            "A boolean field requires true or false, without quotes.",
        ),
        ("born", "20.11.2026", Rule.FORMAT, "Write a date like 2026-11-20."),
        ("born", "2026-02-30", Rule.FORMAT, "There is no such date."),
        (
            *("born", "0000-00-00", Rule.FORMAT),
            "There is no such date. If it stands for no date, leave it empty.",
        ),
        ("born", 44197, Rule.TYPE, f"{DAY} A date field requires a text in quotes."),
        ("born", 10**400, Rule.TYPE, "A date field requires a text in quotes."),
        (
            *("born", datetime(2026, 11, 20, tzinfo=UTC), Rule.TYPE),
            "A date field requires a text in quotes.",
        ),
        ("seen", "2026-02-29T09:15:00Z", Rule.FORMAT, "There is no such date or time."),
        ("seen", "2026-11-20T09:61:00Z", Rule.FORMAT, "There is no such date or time."),
        (
            *("seen", datetime(2026, 11, 20), Rule.FORMAT),  # noqa: DTZ001
            "Write a datetime like 2026-11-20T09:15:00.123Z.",
        ),
        ("seen", "never", Rule.FORMAT, "Write a datetime like 2026-11-20T09:15:00.123Z."),
        ("event", "2026-11-20T09:15:00.001Z", Rule.UNKNOWN_VALUE, None),
    ],
)
def test_a_value_that_breaks_a_rule_is_a_violation_at_its_key(key, value, rule, message):
    checked = SCHEMA.check({key: value})
    assert checked.values == {}
    (violation,) = checked.violations
    assert (violation.rule, violation.path) == (rule, (key,))
    assert message in {violation.message, None}


def test_all_violations_are_reported_in_order_next_to_the_permitted_values() -> None:
    checked = SCHEMA.check({"size": "3", "name": "Ada", "teir": "gold", "tier": "Gold"})
    assert checked.values == {"name": "Ada"}
    assert checked.violations == (
        Violation(Rule.TYPE, "This is a text. Write the number 3 without quotes.", ("size",)),
        Violation(
            Rule.UNKNOWN_FIELD, "There is no recipient field with this key.", ("teir",), "tier"
        ),
        Violation(Rule.UNKNOWN_VALUE, "Use one of gold, silver.", ("tier",), "gold"),
    )


def test_a_key_that_no_document_can_contain_is_not_repeated() -> None:
    (violation,) = SCHEMA.check({"a\ud800": 1}).violations
    assert (violation.rule, violation.path) == (Rule.INVALID_CHARACTERS, ())


def test_values_that_only_are_not_allowed_are_returned_apart() -> None:
    checked = SCHEMA.check({"tier": "Gold", "level": 3.0, "event": "x", "size": "3"})
    assert checked.values == {}
    assert checked.unlisted == {"tier": "Gold", "level": 3}
    assert len(checked.violations) == 4


def test_suggestions_can_be_left_out() -> None:
    checked = SCHEMA.check({"teir": "gold", "tier": "Gold"}, suggest=False)
    assert [violation.suggestion for violation in checked.violations] == [None, None]


def test_values_without_a_field_can_be_permitted() -> None:
    values: dict[str, Any] = {"plan": {"name": "pro"}, "tier": "gold"}
    schema = RecipientSchema.of(FIELDS, additional=True)
    assert schema.check(values) == CheckedRecipient(values)


def test_an_unknown_key_is_a_violation_if_its_value_is_not_set() -> None:
    (violation,) = SCHEMA.check({"teir": None}, suggest=False).violations
    assert violation.rule is Rule.UNKNOWN_FIELD


def test_no_value_is_required() -> None:
    assert SCHEMA.check({}) == CheckedRecipient({})


def test_many_allowed_values_are_counted_instead_of_listed() -> None:
    field = define("country", DataType.TEXT, [f"c{i}" for i in range(250)])
    (violation,) = RecipientSchema.of([field]).check({"country": "c250"}).violations
    assert violation.message == "Use one of the 250 allowed values of the field."


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (["a" * 100, "b" * 98], f"Use one of {'a' * 100}, {'b' * 98}."),
        (["a" * 100, "b" * 99], "Use one of the 2 allowed values of the field."),
        (["a" * 201], "Use the allowed value of the field."),
    ],
)
def test_long_allowed_values_are_counted_instead_of_listed(allowed, message):
    schema = RecipientSchema.of([define("country", DataType.TEXT, allowed)])
    (violation,) = schema.check({"country": "x"}).violations
    assert violation.message == message


def test_only_the_first_violations_have_suggestions() -> None:
    checked = SCHEMA.check({f"subscribed{number}": 1 for number in range(25)})
    suggestions = [violation.suggestion for violation in checked.violations]
    assert suggestions == ["subscribed"] * 20 + [None] * 5
