"""The data of recipients as rows of texts."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    DataType,
    DecimalMark,
    FieldDraft,
    RecipientRows,
    RecipientSchema,
    RecipientTexts,
    TextFormats,
    define_fields,
)

DRAFTS = (
    FieldDraft(name="name", data_type=DataType.TEXT),
    FieldDraft(name="tier", data_type=DataType.TEXT, allowed_values=["gold", "1.5", "2026-11-20"]),
    FieldDraft(name="size", data_type=DataType.NUMBER),
    FieldDraft(name="level", data_type=DataType.NUMBER, allowed_values=[1, 2.5]),
    FieldDraft(name="subscribed", data_type=DataType.BOOLEAN),
    FieldDraft(name="born", data_type=DataType.DATE),
    FieldDraft(name="seen", data_type=DataType.DATETIME),
)
FIELDS = define_fields(DRAFTS)
KEYS = ("nickname", *(field.key for field in FIELDS))

EXAMPLES = (
    *("", "gold", "Gold", "g", "1", "1.0", "2,5", "-0", "-", "007", ".5", "5.", "1_0", "٣", "1\n"),
    *("9007199254740991", "9007199254740992", "9" * 15, "9" * 16, "0." + "9" * 400, "1e3", "1e999"),
    *("TRUE", "false", "t", "2026-11-20", "2026-11-20T09:15:00Z", "2", "2026-02-30"),
    *("a\nb", "a\0b", "a\ud800", "\u2028"),
)
numbers = st.from_regex(r"-?[0-9]{0,20}([.,][0-9]{0,3})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
dates = st.dates().map(str) | st.from_regex("[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True)
texts = st.one_of(
    st.sampled_from(EXAMPLES), numbers, dates, dates.map("{}T09:15:00Z".format), st.text()
)
marks = st.sampled_from([".", ","])


def require_same_violations(
    keys: Sequence[str], rows: Sequence[Sequence[str]], mark: DecimalMark, *, additional: bool
) -> None:
    """Check that the rows have the violations of their texts."""
    checked = RecipientTexts(
        RecipientSchema.of(FIELDS, additional=additional), TextFormats(decimal_mark=mark)
    )
    checked_rows = RecipientRows(checked, keys)
    for row in [*rows, *rows]:  # the second time, texts are remembered
        expected = checked.check(dict(zip(keys, row, strict=True))).violations
        assert checked_rows.violations(row) == expected


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("additional", [False, True])
def test_a_text_has_the_same_violation_in_a_row(key, mark, additional):
    require_same_violations([key], [[text] for text in EXAMPLES], mark, additional=additional)


@given(st.lists(st.tuples(*(texts for _ in KEYS)), max_size=5), marks, st.booleans())
def test_a_row_has_the_violations_of_its_texts(rows, mark, additional):
    require_same_violations(KEYS, rows, mark, additional=additional)


def test_suggestions_can_be_left_out() -> None:
    rows = RecipientRows(RecipientTexts(RecipientSchema.of(FIELDS)), ["tier"])
    assert [each.suggestion for each in rows.violations(["Gold"])] == ["gold"]
    assert [each.suggestion for each in rows.violations(["Gold"], suggest=False)] == [None]


@pytest.mark.parametrize("row", [("gold",), ("", "gold", "3")])
def test_a_row_has_one_text_for_each_key(row):
    checked = RecipientRows(RecipientTexts(RecipientSchema.of(FIELDS)), ("tier", "size"))
    with pytest.raises(ValueError, match="zip"):
        checked.violations(row)


@pytest.mark.slow
def test_the_memory_for_remembered_texts_is_limited() -> None:
    rows = RecipientRows(RecipientTexts(RecipientSchema.of(FIELDS)), ["seen"])
    tracemalloc.start()
    try:
        for second in range(200_000):
            minute, hour = second // 60, second // 3_600
            text = f"2026-11-{hour // 24 + 1:02}T{hour % 24:02}:{minute % 60:02}:{second % 60:02}Z"
            assert rows.violations([text]) == ()
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 20 * 1024 * 1024
