"""The data of recipients as texts."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import (
    API,
    CheckedRecipient,
    DataType,
    DecimalMark,
    FieldDraft,
    FieldId,
    OrganizationId,
    RecipientSchema,
    RecipientTexts,
    Rule,
    Violation,
)
from recipient_fields.testing.examples import NOW


def schema(**data_types: DataType) -> RecipientSchema:
    drafts = [FieldDraft(name=key, key=key, data_type=each) for key, each in data_types.items()]
    return RecipientSchema.of(
        draft.define(by=API, at=NOW).with_id(FieldId(number), OrganizationId(1))
        for number, draft in enumerate(drafts, start=1)
    )


def check_one(data_type: DataType, text: str, decimal_mark: DecimalMark = ".") -> CheckedRecipient:
    return RecipientTexts(schema(value=data_type), decimal_mark).check({"value": text})


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
def test_a_text_is_converted_to_the_type_of_its_field(
    data_type: DataType, text: str, value: object
) -> None:
    assert check_one(data_type, text) == CheckedRecipient({"value": value})


@pytest.mark.parametrize("text", ["1,5", "007", "+1", " 1", "1 ", "NaN", "٣", "0x1", "9" * 5000])
def test_other_texts_are_no_numbers(text: str) -> None:
    violation = Violation(Rule.TYPE, "Write a number like 1234.5.", ("value",))
    assert check_one(DataType.NUMBER, text).violations == (violation,)


def test_numbers_can_have_decimal_commas() -> None:
    assert check_one(DataType.NUMBER, "1,5", ",").values == {"value": 1.5}
    assert check_one(DataType.NUMBER, "1.5", ",").violations


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
