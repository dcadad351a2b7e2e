"""Fields are proposed for the data of recipients."""

from __future__ import annotations

import pytest

from recipient_fields.domain import (
    API,
    DataType,
    DecimalMark,
    Doubt,
    FieldDraft,
    FieldInference,
    ForeignForm,
    FormRows,
    ProposedField,
    TextFormats,
    define_fields,
)
from recipient_fields.testing.examples import NOW


def propose(
    *values: object, mark: DecimalMark | None = ".", max_allowed_values: int = 20
) -> ProposedField:
    """Return the field for a column with these values."""
    formats = None if mark is None else TextFormats(decimal_mark=mark)
    inference = FieldInference(formats, max_allowed_values)
    for row, value in enumerate(values, start=1):
        inference.add({"Column": value}, row)
    (proposed,) = inference.propose()
    return proposed


def allowed(proposed: ProposedField) -> object:
    definition = proposed.draft.define(by=API, at=NOW)
    return None if definition.allowed_values is None else definition.allowed_values.values


COLUMNS: dict[DecimalMark | None, list[tuple[list[object], DataType, tuple[Doubt, ...]]]] = {
    ".": [
        (["1", "-2.5", "1e3", ""], DataType.NUMBER, ()),
        (["true", "FALSE"], DataType.BOOLEAN, ()),
        (["yes", "no"], DataType.TEXT, ()),
        (["2026-11-20", ""], DataType.DATE, ()),
        (["2026-11-20T09:15:00Z", "2026-11-20T09:15:00+01:00"], DataType.DATETIME, ()),
        (["2026-11-20", "2026-11-20T09:15:00Z"], DataType.TEXT, (Doubt.DATE_FORMAT,)),
        (["Ada", "Zoë"], DataType.TEXT, ()),
        (["1", "true"], DataType.TEXT, ()),
        (["007", "42"], DataType.TEXT, ()),
        (["01067", "10115"], DataType.TEXT, ()),
        (["10115", "80331"], DataType.TEXT, (Doubt.CODE,)),
        (["4915112345678", "491511234567"], DataType.TEXT, (Doubt.CODE,)),
        (["10115", "8033"], DataType.NUMBER, ()),
        (["10115.5", "80331"], DataType.NUMBER, ()),
        (["9007199254740992"], DataType.TEXT, ()),
        (["1,5", "2"], DataType.TEXT, (Doubt.DECIMAL_COMMA,)),
        (["1,5", "02"], DataType.TEXT, ()),
        (["20.11.2026", "1.2.99"], DataType.TEXT, (Doubt.DATE_FORMAT,)),
        (["11/20/2026 09:15"], DataType.TEXT, (Doubt.DATE_FORMAT,)),
        (["2026-02-30"], DataType.TEXT, (Doubt.DATE_FORMAT,)),
        (["10.0.0.1"], DataType.TEXT, ()),
        (["ada@example.com"], DataType.TEXT, (Doubt.EMAIL,)),
        (["ada@example.com", "-"], DataType.TEXT, ()),
        (["", ""], DataType.TEXT, (Doubt.EMPTY,)),
    ],
    ",": [(["1,5", "2"], DataType.NUMBER, ()), (["1.5", "2"], DataType.TEXT, ())],
    None: [
        ([1, 2.5, None], DataType.NUMBER, ()),
        ([10115, 80331], DataType.NUMBER, ()),
        ([True, False], DataType.BOOLEAN, ()),
        ([True, 1], DataType.TEXT, (Doubt.MIXED,)),
        ([1, True], DataType.TEXT, (Doubt.MIXED,)),
        (["1", "2"], DataType.TEXT, ()),
        (["10115", "80331"], DataType.TEXT, ()),
        (["true"], DataType.TEXT, ()),
        (["2026-11-20"], DataType.DATE, ()),
        (["2026-11-20", ""], DataType.DATE, ()),
        (["x", 1], DataType.TEXT, (Doubt.MIXED,)),
        ([[1], {}], DataType.TEXT, (Doubt.MIXED,)),
        ([None], DataType.TEXT, (Doubt.EMPTY,)),
    ],
}
"""Columns of texts with this decimal mark, or of values of JSON, and their type and doubts."""


@pytest.mark.parametrize(
    ("mark", "values", "data_type", "doubts"),
    [(mark, *row) for mark, rows in COLUMNS.items() for row in rows],
)
def test_a_column_has_the_type_that_accepts_all_its_values(mark, values, data_type, doubts):
    proposed = propose(*values, mark=mark)
    assert (proposed.draft.data_type, proposed.doubts) == (data_type, doubts)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["silver", "gold", "gold"] * 2, ("gold", "silver")),
        (["silver", "gold", "gold", "", "gold"], None),
        (["gold"] * 9, None),
        (["true", "false"] * 9, None),
        (["1", "2"] * 9, None),
        ([f"city {n}" for n in range(20)] * 3, tuple(sorted(f"city {n}" for n in range(20)))),
        ([f"city {n}" for n in range(21)] * 3, None),
        (["x" * 255, "y"] * 3, ("x" * 255, "y")),
        (["x" * 256, "y"] * 3, None),
    ],
)
def test_a_few_texts_that_repeat_are_the_allowed_values(texts, values):
    proposed = propose(*texts)
    assert (allowed(proposed), proposed.doubts) == (values, ())


@pytest.mark.parametrize(
    ("texts", "data_type", "doubts", "forms", "date_formats"),
    [
        (["44197", "43831"], "text", ["code"], {"serial_date": (1, 2)}, ()),
        (["44197", "12345"], "text", ["code"], {}, ()),
        (["44197", "17"], "number", [], {}, ()),
        (["44197", "12", "n/a"], "text", [], {}, ()),
        (["1700000000", "1700000000123"], "text", ["code"], {"unix_time": (1, 2)}, ()),
        (["1.5E+11", "123456"], "text", [], {"shortened_number": (1,)}, ()),
        (["1.5E+11", "0123456"], "text", [], {"shortened_number": (1,)}, ()),
        (["1.5E+11", "1.5"], "number", [], {"shortened_number": (1,)}, ()),
        (["1.5e11", "1.5"], "number", [], {}, ()),
        (["31.1.1985", "1.2.1985"], "text", ["date_format"], {}, ("D.M.YYYY",)),
        (["1.2.1985"], "text", ["date_format"], {}, ("D.M.YYYY", "M.D.YYYY")),
        (["31.1.1985", "1.31.1985"], "text", ["date_format"], {}, ()),
        (["31.1.1985", "1.2.85"], "text", ["date_format"], {"two_digit_year": (2,)}, ()),
        (["0000-00-00", "1985-01-31"], "text", ["date_format"], {"zero_date": (1,)}, ()),
        (["31 Jan 1985"], "text", ["date_format"], {"month_name": (1,)}, ()),
        (["1985-01-31 00:00"], "text", ["date_format"], {"date_and_time": (1,)}, ()),
        (["31 Main 85", "Broadway"], "text", [], {}, ()),
        (["o\u0308", "\u00f6"], "text", [], {"decomposed": (1,)}, ()),
    ],
)
def test_forms_that_other_programs_write_are_found(texts, data_type, doubts, forms, date_formats):
    proposed = propose(*texts)
    assert proposed.draft.data_type is DataType(data_type)
    assert [each.value for each in proposed.doubts] == doubts
    assert {form.value: rows.first for form, rows in proposed.forms.items()} == forms
    assert proposed.date_formats == date_formats


def test_only_the_first_rows_with_a_form_are_kept_and_all_counted() -> None:
    rows = propose(*["1/31/85"] * 12).forms[ForeignForm.TWO_DIGIT_YEAR]
    assert rows == FormRows(tuple(range(1, 11)), 12)


def test_strings_of_json_have_forms_of_dates_only() -> None:
    assert propose(44197, 43831, mark=None).forms == {}
    (form,) = propose("1/31/85", "31.01.1985", mark=None).forms
    assert form is ForeignForm.TWO_DIGIT_YEAR


def test_the_number_of_allowed_values_can_be_limited() -> None:
    texts = ["a", "b", "c"] * 3
    assert allowed(propose(*texts, max_allowed_values=3)) == ("a", "b", "c")
    assert allowed(propose(*texts, max_allowed_values=2)) is None
    assert allowed(propose(*texts, max_allowed_values=0)) is None


@pytest.mark.parametrize("text", ["gold ", "two\nlines", " "])
def test_texts_that_can_not_be_allowed_values_are_a_doubt(text):
    proposed = propose(*["gold", text] * 3)
    assert (allowed(proposed), proposed.doubts) == (None, (Doubt.UNLISTED,))


@pytest.mark.parametrize(
    ("texts", "intended_type", "exceptions"),
    [
        (["n/a", "1", "2"], DataType.NUMBER, (1,)),
        (["1", "2", "3", "n/a", "-", ""], DataType.NUMBER, (4, 5)),
        (["n/a", "1", "2", "-"], None, ()),
        (["01067", "10115", "80331"], None, ()),
        (["1"] * 50 + ["n/a"] * 10, DataType.NUMBER, tuple(range(51, 61))),
        (["1"] * 50 + ["n/a"] * 11, None, ()),
        (["2026-11-20", "2026-11-21", "today"], DataType.DATE, (3,)),
    ],
)
def test_a_few_texts_that_another_type_rejects_are_exceptions(texts, intended_type, exceptions):
    proposed = propose(*texts)
    assert proposed.draft.data_type is DataType.TEXT
    assert (proposed.intended_type, proposed.exceptions) == (intended_type, exceptions)


@pytest.mark.parametrize(
    ("values", "intended_type", "exceptions"),
    [
        ([1, 2, "n/a"], DataType.NUMBER, (3,)),
        (["x", 1, "y"], DataType.TEXT, (2,)),
        ([1, "x"], None, ()),
        (["2026-11-20", "2026-11-21", "today"], DataType.DATE, (3,)),
    ],
)
def test_a_few_values_that_another_type_rejects_are_exceptions(values, intended_type, exceptions):
    proposed = propose(*values, mark=None)
    assert (proposed.intended_type, proposed.exceptions) == (intended_type, exceptions)


def test_a_text_in_a_column_of_numbers_is_no_choice() -> None:
    proposed = propose(*["1", "2"] * 10, "n/a")
    assert (allowed(proposed), proposed.exceptions) == (None, (21,))


def test_columns_that_are_fields_are_left_out_and_their_keys_are_not_proposed() -> None:
    (field,) = define_fields([FieldDraft(name="Tier", key="level", data_type=DataType.TEXT)])
    inference = FieldInference(TextFormats())
    inference.add({"Tier": "gold", "Level": "1"}, 1)
    (proposed,) = inference.propose([field])
    names = proposed.title, proposed.draft.name, proposed.draft.key
    assert names == ("Level", "Level", "level_2")
    assert proposed.doubts == (Doubt.KEY,)


def test_a_member_without_a_name_has_its_key_as_the_name() -> None:
    inference = FieldInference()
    inference.add({"": 1}, 1)
    (proposed,) = inference.propose()
    assert (proposed.draft.name, proposed.draft.key) == ("field_1", "field_1")
