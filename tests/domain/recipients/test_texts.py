"""The data of recipients as texts."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import (
    CheckedRecipient,
    DataType,
    DecimalMark,
    InvalidInput,
    RecipientSchema,
    RecipientTexts,
    Rule,
    TextFormats,
    Violation,
)

from ...support.conditions import define


def schema(**data_types: DataType) -> RecipientSchema:
    return RecipientSchema.of([define(key, each) for key, each in data_types.items()])


def check_one(data_type: DataType, text: str, decimal_mark: DecimalMark = ".") -> CheckedRecipient:
    return check_with(TextFormats(decimal_mark=decimal_mark), data_type, text)


def check_with(formats: TextFormats, data_type: DataType, text: str) -> CheckedRecipient:
    return RecipientTexts(schema(value=data_type), formats).check({"value": text})


@pytest.mark.parametrize(
    ("data_type", "text", "value"),
    [
        (DataType.NUMBER, "42", 42),
        (DataType.NUMBER, "-1.50", -1.5),
        (DataType.NUMBER, "1e3", 1000.0),
        (DataType.BOOLEAN, "TRUE", True),
        (DataType.BOOLEAN, "false", False),
        (DataType.TEXT, " 42 ", " 42 "),
        (DataType.DATE, "2026-11-20", "2026-11-20"),
    ],
)
def test_a_text_is_converted_to_the_type_of_its_field(data_type, text, value):
    assert check_one(data_type, text) == CheckedRecipient({"value": value})


@pytest.mark.parametrize("text", ["1,5", "007", "+1", " 1", "1 ", "NaN", "٣", "0x1", "9" * 5000])
def test_other_texts_are_no_numbers(text):
    violation = Violation(
        Rule.TYPE, "Write a number like 1234.5, without thousands separators.", ("value",)
    )
    assert check_one(DataType.NUMBER, text).violations == (violation,)


def test_numbers_can_have_decimal_commas() -> None:
    assert check_one(DataType.NUMBER, "1,5", ",").values == {"value": 1.5}
    assert check_one(DataType.NUMBER, "1.5", ",").violations


@pytest.mark.parametrize(
    ("date_format", "text"),
    [
        ("DD.MM.YYYY", "05.11.2026"),
        ("D.M.YYYY", "5.11.2026"),
        ("D.M.YYYY", "05.11.2026"),
        ("M/D/YYYY", "11/5/2026"),
        ("YYYY-MM-DD", "2026-11-05"),
    ],
)
def test_dates_can_have_another_format(date_format, text):
    checked = check_with(TextFormats(date_format=date_format), DataType.DATE, text)
    assert checked.values == {"value": "2026-11-05"}


@pytest.mark.parametrize("text", ["5.11.2026", "05/11/2026", "05.11.2026 "])
def test_other_texts_are_no_dates(text):
    checked = check_with(TextFormats(date_format="DD.MM.YYYY"), DataType.DATE, text)
    violation = Violation(Rule.FORMAT, "Write a date like 20.11.2026.", ("value",))
    assert checked.violations == (violation,)


def test_a_date_that_does_not_exist_is_named() -> None:
    for date_format, text in (("DD.MM.YYYY", "31.02.2026"), ("YYYY-MM-DD", "2026-02-31")):
        checked = check_with(TextFormats(date_format=date_format), DataType.DATE, text)
        violation = Violation(Rule.FORMAT, "There is no such date.", ("value",))
        assert checked.violations == (violation,)


def test_booleans_can_be_other_words() -> None:
    formats = TextFormats(true=("ja", "Wahr"), false=("nein",))
    texts = ["Ja", "wahr", "NEIN"]
    values = [check_with(formats, DataType.BOOLEAN, each).values["value"] for each in texts]
    assert values == [True, True, False]
    violation = Violation(Rule.TYPE, "Write ja or nein.", ("value",))
    assert check_with(formats, DataType.BOOLEAN, "true").violations == (violation,)


@pytest.mark.parametrize(
    "formats",
    [
        {"date_format": "DD.MM"},
        {"date_format": "DDMMYYYY"},
        {"date_format": "D.M.YY"},
        {"date_format": "DD.MM.YYYY.DD"},
        {"date_format": "DD-M4-YYYY"},
        {"true": ("ja",), "false": ("JA",)},
        {"true": ()},
        {"false": ("",)},
    ],
    ids=str,
)
def test_formats_that_can_not_be_read_are_rejected(formats):
    with pytest.raises(InvalidInput):
        TextFormats(**formats)


def test_an_empty_text_is_not_set() -> None:
    texts = RecipientTexts(schema(city=DataType.TEXT, age=DataType.NUMBER))
    assert texts.check({"city": "", "age": ""}).values == {}


def test_all_violations_of_a_recipient_are_reported_together() -> None:
    texts = RecipientTexts(schema(age=DataType.NUMBER, born=DataType.DATE, city=DataType.TEXT))
    checked = texts.check({"age": "old", "born": "yesterday", "city": "Bern", "cities": "x"})
    assert checked.values == {"city": "Bern"}
    rules: list[Any] = [(each.path, each.rule) for each in checked.violations]
    assert rules == [
        (("age",), Rule.TYPE),
        (("born",), Rule.FORMAT),
        (("cities",), Rule.UNKNOWN_FIELD),
    ]
