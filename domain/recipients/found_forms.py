"""The foreign forms of the values in one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen, mutable

from ..fields.values import DataType
from .foreign_forms import DATE_FORMS, NUMBER_FORMS, ForeignForm, find_date_formats

__all__ = ["FormRows"]

_MAX_ROWS = 10


@frozen
class FormRows:
    """The first ten rows whose values have a form, and the number of all such rows."""

    first: tuple[int, ...]
    count: int


@mutable
class FoundForms:
    """The forms of the values of a column, and how many of the values are dates in any form."""

    _count: int = 0
    _dates: int = 0
    _rows: dict[ForeignForm, list[int]] = field(factory=dict)
    _counts: dict[ForeignForm, int] = field(factory=dict)
    _date_formats: Sequence[str] | None = None

    def add(self, value: object, form: ForeignForm | None, row: int, *, is_date: bool) -> None:
        """Take a value into account. If `is_date` is true, a date or datetime field accepts it."""
        self._count += 1
        self._dates += is_date or form in DATE_FORMS
        if form is None or is_date:
            return
        self._counts[form] = self._counts.get(form, 0) + 1
        rows = self._rows.setdefault(form, [])
        if len(rows) < _MAX_ROWS:
            rows.append(row)
        if form is ForeignForm.NUMERIC_DATE:
            formats = find_date_formats(str(value))
            known = formats if self._date_formats is None else self._date_formats
            self._date_formats = [each for each in known if each in formats]

    @property
    def are_dates(self) -> bool:
        """Whether all values are dates, in any form."""
        return self._count == self._dates

    @property
    def date_formats(self) -> tuple[str, ...]:
        """The formats that read all values which no date field accepts as they are."""
        has_others = any(each in self._counts for each in DATE_FORMS - {ForeignForm.NUMERIC_DATE})
        return () if has_others else tuple(self._date_formats or ())

    def relevant(self, data_type: DataType, *, are_codes: bool) -> Mapping[ForeignForm, FormRows]:
        """Return the forms to review if the field has this type.

        `are_codes` is whether all values have only digits. Then they can be dates as numbers.
        """
        return {
            form: FormRows(tuple(rows), self._counts[form])
            for form, rows in self._rows.items()
            if self._is_relevant(form, is_text=data_type is DataType.TEXT, are_codes=are_codes)
        }

    def _is_relevant(self, form: ForeignForm, *, is_text: bool, are_codes: bool) -> bool:
        if form is ForeignForm.SHORTENED_NUMBER:
            return True
        if form is ForeignForm.NUMERIC_DATE or not is_text:
            return False
        if form in DATE_FORMS:
            return self._dates > self._count / 2
        if form in NUMBER_FORMS:
            numbers = sum(self._counts.get(each, 0) for each in NUMBER_FORMS)
            others_are_dates = 0 < self._dates == self._count - numbers
            return others_are_dates or (are_codes and self._counts[form] > self._count / 2)
        return True
