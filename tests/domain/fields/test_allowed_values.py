"""Allowed values: validation and canonical form for each data type."""

from __future__ import annotations

from collections import UserString
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    MAX_ALLOWED_VALUES,
    MAX_SAFE_INTEGER,
    AllowedValues,
    DataType,
    InvalidField,
    item_count_violation,
)

from ...support.growth import assert_grows_linearly

TEXT, NUMBER, DATE, DATETIME = (
    DataType.TEXT,
    DataType.NUMBER,
    DataType.DATE,
    DataType.DATETIME,
)
RESTRICTED = (TEXT, NUMBER, DATE, DATETIME)
ONE_OF_EACH = {TEXT: "red", NUMBER: 5, DATE: "2026-11-20", DATETIME: "2026-11-20T09:15:00.123Z"}
OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
SCALARS = {
    TEXT: st.text(max_size=260),
    NUMBER: st.integers() | st.floats(),
    DATE: st.dates().map(str),
    DATETIME: st.datetimes(timezones=OFFSETS).map(lambda at: at.isoformat("T", "milliseconds")),
}


DUPLICATE_1, DUPLICATE_2, DUPLICATE_5 = (f"{index}: duplicate_item" for index in (1, 2, 5))


class One(IntEnum):
    ONE = 1


@pytest.mark.parametrize("data_type", RESTRICTED)
def test_the_order_is_kept(data_type):
    later, earlier = "2026-11-20", "2026-11-19"
    values = {
        TEXT: ("red", "blue"),
        NUMBER: (2, 1),
        DATE: (later, earlier),
        DATETIME: (f"{later}T09:15:00.000Z", f"{earlier}T09:15:00.000Z"),
    }[data_type]
    assert AllowedValues(data_type, values).values == values


REJECTED: list[tuple[DataType, Any, tuple[str, ...]]] = [
    (DataType.BOOLEAN, [True], ("not_applicable",)),
    (NUMBER, range(1_001), ("too_many_items",)),
    (NUMBER, [1, "2", 2**53, None, 3, 1], ("1: type", "2: out_of_range", "3: type", DUPLICATE_5)),
    *((each, [], ("empty",)) for each in RESTRICTED),
    *((each, text, ("type",)) for each in RESTRICTED for text in ("abc", b"abc", "")),
    *((each, [value] * 3, (DUPLICATE_1, DUPLICATE_2)) for each, value in ONE_OF_EACH.items()),
]
"""Collections of values, and their violations."""
SAME_CANONICAL_FORM = [
    (TEXT, ["Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"]),
    (NUMBER, [1, 1.0]),
    (NUMBER, [0, -0.0]),
    (DATETIME, ["2026-11-20T09:15:00Z", "2026-11-20T10:15:00.0+01:00"]),
]
NO_TEXTS: list[Any] = [None, True, 5, 5.0, [], {}, b"red", UserString("red")]
REJECTED_VALUES: dict[tuple[DataType, str], list[Any]] = {
    (TEXT, "type"): NO_TEXTS,
    (TEXT, "blank"): ["", " \n"],
    (TEXT, "format"): [" red", "red\u3000"],
    (TEXT, "invalid_characters"): ["red\n", "a\0b", "a\ud800b", "a\u2028b"],
    (TEXT, "too_long"): ["t" * 256, "\u0958" * 128],
    (NUMBER, "type"): [None, True, False, "5", [], {}, 1j, Decimal(5), One.ONE],
    (NUMBER, "out_of_range"): [
        # A double can't represent these whole numbers exactly.
        *(2**53, -(2**53), 10**22, 10**5000, 2.0**53, 1e22, -1e308),
        *(1e400, -1e400, float("nan")),
    ],
    (DATE, "type"): NO_TEXTS,
    (DATE, "format"): [
        *("", "2026-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "0000-01-01", "10000-01-01"),
        *("2026-1-1", "20261120", "2026-W47-5", "2026-324", "26-11-20", "2026/11/20"),
        *("2026-11-20\n", " 2026-11-20", "2026-11-20T00:00:00Z", "+2026-11-20"),
        *("\uff12026-11-20", "2026-11-2\u0660"),
        *("2026-11-20\0", "\ud800", "2026\u201011\u201020"),
    ],
    (DATETIME, "type"): NO_TEXTS,
    (DATETIME, "format"): [
        *("", "2026-11-20", "2026-11-20T09:15:00", "2026-11-20 09:15:00Z", "2026-11-20T09:15Z"),
        *("2026-11-20T24:00:00Z", "2026-11-20T09:60:00Z", "2016-12-31T23:59:60Z"),
        *("2026-11-20T09:15:00.1234Z", "2026-11-20T09:15:00.Z", "2026-11-20T09:15:00,1Z"),
        *("2026-11-20T09:15:00+24:00", "2026-11-20T09:15:00+00:60", "2026-11-20T09:15:00+00:99"),
        *("2026-11-20T09:15:00+0100", "2026-11-20T09:15:00+01", "2026-11-20T09:15:00+01:00:00"),
        *("2026-11-20T09:15:00Z\n", "2026-11-20T09:15:00ZZ", "2026-11-20T09:15:00\u221201:00"),
        *("0000-12-31T23:59:59Z", "2026-02-29T00:00:00Z", "2026-11-20T\u06609:15:00Z", "\ud800"),
    ],
    # In UTC, the year is 0 or 10000.
    (DATETIME, "out_of_range"): ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999-00:01"],
}
"""Values by their data type and the rule that they break."""


@pytest.mark.parametrize(
    ("data_type", "values", "violations"),
    [
        *REJECTED,
        *((data_type, values, (DUPLICATE_1,)) for data_type, values in SAME_CANONICAL_FORM),
        *(
            (data_type, [value], (f"0: {rule}",))
            for (data_type, rule), values in REJECTED_VALUES.items()
            for value in values
        ),
    ],
    ids=lambda each: "huge" if each == [10**5000] else ascii(each)[:40],
)
def test_values_that_break_rules_are_rejected(data_type, values, violations, raises_violations):
    with raises_violations(*violations):
        AllowedValues(data_type, values)


def test_up_to_a_thousand_values_are_allowed():
    assert len(AllowedValues(NUMBER, range(1_000)).values) == MAX_ALLOWED_VALUES == 1_000


def test_the_number_of_values_can_be_checked_without_the_data_type():
    violations = [item_count_violation([0] * length) for length in (0, 1, 1_000, 1_001)]
    assert [v and v.rule.value for v in violations] == ["empty", None, None, "too_many_items"]


def test_texts_that_differ_in_case_are_different_values():
    assert AllowedValues(TEXT, ["Red", "red"]).values == ("Red", "red")


@pytest.mark.parametrize(
    "value", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0, 0.1, -1e-300, 5e-324, 4503599627370495.5]
)
def test_a_number_does_not_change(value):
    (kept,) = AllowedValues(NUMBER, [value]).values
    assert (kept, type(kept)) == (value, type(value))


@pytest.mark.parametrize(("value", "canonical"), [(1.0, 1), (-0.0, 0), (1e15, 10**15), (-3.0, -3)])
def test_a_whole_number_becomes_an_integer(value, canonical):
    (kept,) = AllowedValues(NUMBER, [value]).values
    assert (repr(kept), type(kept)) == (repr(canonical), int)


def test_the_length_of_a_text_is_checked_after_normalization():
    assert AllowedValues(TEXT, ["e\u0301" * 255]).values == ("\u00e9" * 255,)


def test_a_huge_text_is_rejected_without_normalization(raises_violations):
    def check(text):
        with raises_violations("0: too_long"):
            AllowedValues(TEXT, [text])

    assert_grows_linearly(check, lambda size: "a" + "\u0315\u0300" * size, 20_000)


@pytest.mark.parametrize("value", ["0001-01-01", "9999-12-31", "2024-02-29"])
def test_a_calendar_day_is_a_date(value):
    assert AllowedValues(DATE, [value]).values == (value,)


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("2026-11-20T09:15:00Z", "2026-11-20T09:15:00.000Z"),
        ("2026-11-20t09:15:00.1z", "2026-11-20T09:15:00.100Z"),
        ("2026-11-20T09:15:00.12+05:30", "2026-11-20T03:45:00.120Z"),
        ("2026-12-31T23:59:59.999-00:01", "2027-01-01T00:00:59.999Z"),
        ("2026-11-20T09:15:00-00:00", "2026-11-20T09:15:00.000Z"),
        ("2026-11-20T09:15:00+23:59", "2026-11-19T09:16:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00-23:59", "0001-01-01T23:59:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_an_rfc_3339_date_time_is_a_datetime(value, canonical):
    assert AllowedValues(DATETIME, [value]).values == (canonical,)


@pytest.mark.parametrize("data_type", RESTRICTED)
@given(data=st.data())
def test_the_canonical_form_of_a_canonical_form_is_the_same(data_type, data):
    proposed = data.draw(st.lists(SCALARS[data_type], max_size=5))
    try:
        canonical = AllowedValues(data_type, proposed)
    except InvalidField:
        return
    again = AllowedValues(data_type, canonical.values)
    assert [*map(repr, again.values)] == [*map(repr, canonical.values)]


@given(st.datetimes(timezones=OFFSETS).filter(lambda at: 1 < at.year < 9999))
def test_the_canonical_form_of_a_datetime_is_the_same_instant(at):
    (kept,) = AllowedValues(DATETIME, [at.isoformat("T", "milliseconds")]).values
    assert isinstance(kept, str)
    assert timedelta() <= at - datetime.fromisoformat(kept) < timedelta(milliseconds=1)


@pytest.mark.parametrize("data_type", [*DataType])
def test_a_data_type_is_parsed_by_its_name(data_type):
    assert DataType.parse(data_type.value) is data_type


def test_the_data_types_are_those_of_the_contract():
    assert [t.value for t in DataType] == ["text", "number", "boolean", "date", "datetime"]


@pytest.mark.parametrize(
    "name", ["", "Text", "text\n", "TEXT", "string", "t\u0435xt", "\0", "\ud800"], ids=ascii
)
def test_an_unknown_data_type_is_rejected(name, raises_violations):
    with raises_violations("unknown_value"):
        DataType.parse(name)


@pytest.mark.parametrize("name", [None, 1, True, 1.0, [], {}, b"text", TEXT], ids=repr)
def test_a_data_type_that_is_not_a_string_is_rejected(name, raises_violations):
    with raises_violations("type"):
        DataType.parse(name)


def test_the_message_for_an_unknown_data_type_lists_the_known_ones():
    with pytest.raises(InvalidField, match="Use one of text, number, boolean, date, datetime"):
        DataType.parse("string")


@pytest.mark.parametrize("data_type", [DATE, DATETIME])
def test_the_message_for_a_malformed_value_contains_a_valid_example(data_type):
    with pytest.raises(InvalidField) as invalid:
        AllowedValues(data_type, ["never"])
    (violation,) = invalid.value.violations
    example = violation.message.removesuffix(".").rpartition(" ")[2]
    assert AllowedValues(data_type, [example]).values == (example,)
