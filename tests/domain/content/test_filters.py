"""Filters change the value that the preview shows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from recipient_fields.domain import API, DataType
from recipient_fields.domain.content import InvalidContent, parse_content, preview_content

LEAP_DAY = date(2028, 2, 29)
LATE = datetime(2026, 11, 24, 23, 30, tzinfo=timezone(timedelta(hours=-5)))


def preview(make_field, filters: str, value: object, data_type: DataType = DataType.TEXT) -> str:
    field = make_field(API, key="x", data_type=data_type)
    content = parse_content(f"{{{{recipient.x | {filters}}}}}")
    return preview_content(content, [field], {"x": value}).content


@pytest.mark.parametrize(
    ("filters", "value", "shown"),
    [
        ("upper", "Straße é", "STRASSE É"),
        ("lower", "ΟΔΟΣ É", "οδος é"),
        ("title", "JEAN-LUC o'neil", "Jean-Luc O'Neil"),
        ("title", "it's the 1ST élan", "It's The 1st Élan"),
        ("truncate: 5", "Zürich", "Züri…"),
        ("truncate: 6", "Zürich", "Zürich"),
        ("truncate: 1", "Zürich", "…"),
        ("url", "a b/ü&+~", "a%20b%2F%C3%BC%26%2B~"),
        ("upper | truncate: 3", "straße", "ST…"),
        ("truncate: 3 | url", "Zürich", "Z%C3%BC%E2%80%A6"),
        ('upper | default: "there"', "", "there"),
        ('upper | default: "there"', None, "there"),
        ("upper", None, ""),
    ],
)
def test_a_text_is_changed(filters, value, shown, make_field):
    assert preview(make_field, filters, value) == shown


@pytest.mark.parametrize(
    ("decimals", "value", "shown"),
    [
        (2, 3, "3.00"),
        (2, 1234567.5, "1234567.50"),
        (2, 1.005, "1.01"),
        (2, -1.005, "-1.01"),
        (2, -0.001, "0.00"),
        (0, 2.5, "3"),
        (4, 1e-5, "0.0000"),
        (1, 9007199254740991, "9007199254740991.0"),
        (2, 0, "0.00"),
    ],
)
def test_a_number_is_rounded(decimals, value, shown, make_field):
    assert preview(make_field, f"number: {decimals}", value, DataType.NUMBER) == shown


@pytest.mark.parametrize(
    ("filters", "value", "shown"),
    [
        ("plus: 0.2 | number: 2", 0.1, "0.30"),
        ("minus: 3 | number: 0", 1, "-2"),
        ("times: 3 | number: 1", 1.15, "3.5"),
        ("times: 999999999 | number: 0", 9007199254740991, "9007199245733791745259009"),
        ("plus: 1 | times: -2 | number: 0", 3, "-8"),
        ("plus: 1 | number: 0", None, ""),
    ],
)
def test_a_number_is_calculated_as_it_is_written(filters, value, shown, make_field):
    assert preview(make_field, filters, value, DataType.NUMBER) == shown


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("long", "5 March 2026"),
        ("medium", "5 Mar 2026"),
        ("short", "05/03/2026"),
        ("us", "03/05/2026"),
        ("iso", "2026-03-05"),
        ("year", "2026"),
        ("month", "March"),
        ("weekday", "Thursday"),
        ("%B %-d, %Y", "March 5, 2026"),
        ("%a %-m/%d/%y", "Thu 3/05/26"),
        ("%A, %b. %d", "Thursday, Mar. 05"),
    ],
)
def test_a_date_has_a_style_or_a_format(style, shown, make_field):
    assert preview(make_field, f'date: "{style}"', date(2026, 3, 5), DataType.DATE) == shown


def test_the_date_of_an_instant_is_that_in_utc(make_field):
    assert preview(make_field, 'date: "long"', LATE, DataType.DATETIME) == "25 November 2026"
    in_utc = datetime(2028, 2, 29, 23, 59, tzinfo=UTC)
    assert preview(make_field, 'date: "long"', in_utc, DataType.DATETIME) == "29 February 2028"


def test_the_result_of_a_filter_is_a_text(make_field):
    filters = 'date: "month" | upper | truncate: 4'
    assert preview(make_field, filters, LEAP_DAY, DataType.DATE) == "FEB…"


@pytest.mark.parametrize(
    ("filters", "data_type", "message"),
    [
        ("upper", DataType.NUMBER, "`upper` requires a text, but this field is a number."),
        ("number: 2", DataType.TEXT, "`number` requires a number, but this field is a text."),
        ("title", DataType.BOOLEAN, "`title` requires a text, but this field is a boolean."),
        ('date: "iso"', DataType.TEXT, "`date` requires a date or datetime, but this field"),
        ("number: 2 | upper", DataType.NUMBER, "The filter `number` must be the last one."),
        ("upper | number: 2", DataType.TEXT, "a number, but the result of `upper` is a text."),
        ("plus: 1", DataType.NUMBER, "Write `number` after `plus`: ESPs show other numbers"),
        ("times: 2 | upper", DataType.NUMBER, "a text, but the result of `times` is a number."),
        ("first", DataType.TEXT, "The filter `first` must be the first one, and requires event"),
        ("upper | join: '-'", DataType.TEXT, "The filter `join` must be the first one"),
    ],
)
def test_a_filter_requires_its_type(filters, data_type, message, make_field):
    with pytest.raises(InvalidContent, match="Line 1, column 1") as invalid:
        preview(make_field, filters, None, data_type)
    assert message in str(invalid.value)
