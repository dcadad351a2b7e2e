"""Proposals of fields for the data of recipients, such as the rows of a spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from attrs import field, frozen, mutable

from ..arguments import require_type
from ..errors import InvalidField
from ..fields.field import FieldDraft
from ..fields.protocol import Field
from ..fields.unstored import define_fields
from ..fields.values import AllowedValues, DataType, FieldKey, derive_key
from ..text import MAX_LINE_LENGTH, clean_line
from .column_titles import match_columns, propose_keys
from .foreign_forms import (
    DATE_FORMS,
    NUMBER_FORMS,
    SHORTENED,
    ForeignForm,
    find_date_formats,
    find_form,
)
from .schema import NOT_SET, CheckedRecipient, RecipientSchema
from .texts import RecipientTexts, TextFormats

__all__ = ["DEFAULT_MAX_PROPOSED_VALUES", "Doubt", "FieldInference", "FormRows", "ProposedField"]

_MAX_ROWS = 10


@frozen
class FormRows:
    """The first ten rows whose values have a form, and the number of all such rows."""

    first: tuple[int, ...]
    count: int


@mutable
class _FoundForms:
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


DEFAULT_MAX_PROPOSED_VALUES = 20
"""Allowed values of a proposed field. Tiers, languages and salutations have fewer."""

_MIN_OCCURRENCES = 3
"""Occurrences of each text, on average, from which the texts of a column are choices."""
_MAX_EXCEPTIONS = 10
"""A data type that rejects more values of a column is given up."""


class Doubt(Enum):
    """A reason to review a proposed field before it is created."""

    EMPTY = "empty"
    """The column has no values, so its data type is unknown."""
    MIXED = "mixed"
    """No data type accepts all values. Texts have no such doubt: a text field accepts them."""
    CODE = "code"
    """All values have only digits, at least five, as postal codes and phone numbers have."""
    DECIMAL_COMMA = "decimal_comma"
    """The values look like numbers with decimal commas."""
    DATE_FORMAT = "date_format"
    """The values look like dates or date-times in another format."""
    EMAIL = "email"
    """The values look like email addresses."""
    UNLISTED = "unlisted"
    """A few texts repeat, but one of them can't be an allowed value."""
    KEY = "key"
    """The key is not that of the title: none can be derived, or it is reserved or taken."""


_PATTERNS = {
    Doubt.CODE: re.compile(f"[0-9]{{5,}}|{SHORTENED}"),
    Doubt.DECIMAL_COMMA: re.compile("-?(0|[1-9][0-9]*)(,[0-9]+)?"),
    Doubt.EMAIL: re.compile("[^@\\s]+@[^@\\s]+"),
}
"""The doubts of a column whose values all match a pattern."""
_DATES = frozenset((DataType.DATE.value, DataType.DATETIME.value))
_NUMBERS = NUMBER_FORMS | {ForeignForm.SHORTENED_NUMBER}
_Judged: TypeAlias = tuple[Collection[str], ForeignForm | None]
"""The data types that accept a value, and its foreign form."""
_PATTERNS_OF_STRINGS = (Doubt.EMAIL,)
"""The doubts about strings of JSON, where numbers are not written as strings."""


@frozen(kw_only=True)
class ProposedField:
    """The field for a column, and the reasons to review it.

    If another data type accepts most values, it is the `intended_type`, and `exceptions` contains
    the rows of the other values, which can be errors in the data. `forms` are those of values that
    a program has written in another form or damaged, with their first rows. `date_formats` are the
    formats that read all values which look like dates.
    """

    title: str
    draft: FieldDraft
    doubts: tuple[Doubt, ...] = ()
    intended_type: DataType | None = None
    exceptions: tuple[int, ...] = ()
    forms: Mapping[ForeignForm, FormRows] = field(factory=dict)
    date_formats: tuple[str, ...] = ()


@mutable
class FieldInference:
    """An inference of fields from the columns of recipients.

    It requires memory for each column, but not for each recipient. With formats, the values are
    texts, as in `RecipientTexts`. Without them, they are those of `RecipientSchema`. A text field
    gets allowed values if its column has at most `max_allowed_values` different values.
    """

    formats: TextFormats | None = None
    max_allowed_values: int = DEFAULT_MAX_PROPOSED_VALUES
    _columns: dict[str, _Column] = field(init=False, factory=dict, repr=False)
    _check: Callable[..., CheckedRecipient] = field(init=False, repr=False)

    @_check.default
    def _check_as_every_type(self) -> Callable[..., CheckedRecipient]:
        schema = _schema_of_every_type()
        require_type(TextFormats | None, formats=self.formats)
        if self.formats is None:
            return schema.check
        return RecipientTexts(schema, self.formats).check

    @property
    def titles(self) -> Collection[str]:
        """The titles of the columns, in the order of their first values."""
        return self._columns.keys()

    def add(self, values: Mapping[str, object], row: int) -> None:
        """Take the values of a recipient into account, by the titles of their columns.

        `row` identifies the recipient in `ProposedField.exceptions`.
        """
        for title, value in values.items():
            column = self._columns.get(title)
            if column is None:
                column = self._columns[title] = self._new_column()
            if value not in NOT_SET:
                column.add(value, row)

    def propose(
        self,
        fields: Collection[Field] = (),
        definitions: Mapping[str, str] | None = None,
        esp_names: Mapping[str, str] | None = None,
    ) -> tuple[ProposedField, ...]:
        """Return a proposal for each column that is not one of these fields.

        `definitions` and `esp_names` are those of `find_columns`.
        """
        known = match_columns(self._columns, fields, definitions, esp_names)
        titles = [title for title in self._columns if title not in known]
        keys = propose_keys(titles, {str(each.key) for each in fields})
        return tuple(self._columns[title].propose(title, keys[title]) for title in titles)

    def _new_column(self) -> _Column:
        patterns = _PATTERNS_OF_STRINGS if self.formats is None else tuple(_PATTERNS)
        return _Column(self._check, self.max_allowed_values, patterns)


@mutable
class _Column:
    """What the values of a column have in common."""

    check: Callable[..., CheckedRecipient]
    max_texts: int
    patterns: Collection[Doubt]
    count: int = 0
    exceptions: dict[str, list[int]] = field(
        factory=lambda: {data_type.value: [] for data_type in DataType}
    )
    """The rows of the values that a data type rejects, for each type that is not given up."""
    texts: dict[str, _Judged] | None = field(factory=dict)
    """What is known of each text, or None if the texts can't be allowed values."""
    forms: _FoundForms = field(factory=_FoundForms)

    def add(self, value: object, row: int) -> None:
        self.count += 1
        known = self.texts.get(value) if self.texts and isinstance(value, str) else None
        accepting, form = known or self._judge(value)
        is_date = not _DATES.isdisjoint(accepting)
        self.forms.add(value, form, row, is_date=is_date)
        for name in [each for each in self.exceptions if each not in accepting]:
            self.exceptions[name].append(row)
            if len(self.exceptions[name]) > _MAX_EXCEPTIONS:
                del self.exceptions[name]

    def _judge(self, value: object) -> _Judged:
        """Return the data types that accept the value, and its form."""
        types = dict.fromkeys((*self.exceptions, *_DATES), value)
        accepting = self.check(types, suggest=False).values.keys()
        if self.patterns:
            self.patterns = [each for each in self.patterns if _matches(each, value)]
        if not isinstance(value, str):
            return accepting, None
        judged = accepting, find_form(value)
        if self.texts is not None:
            self.texts[value] = judged
            if len(self.texts) > self.max_texts or len(value) > MAX_LINE_LENGTH:
                self.texts = None
        return judged

    def propose(self, title: str, key: FieldKey) -> ProposedField:
        data_type, doubts = self._data_type()
        forms = self.forms.relevant(data_type, are_codes=Doubt.CODE in doubts)
        if ForeignForm.SHORTENED_NUMBER in forms and Doubt.CODE in doubts:
            doubts.remove(Doubt.CODE)
        intended_type = self._intended_type(forms)
        allowed_values = None
        is_plain = not (doubts or intended_type or forms)
        if data_type is DataType.TEXT and is_plain and self._has_choices():
            allowed_values = _allowed_values(self.texts or ())
            if allowed_values is None:
                doubts.append(Doubt.UNLISTED)
        if key not in {title, derive_key(title)}:
            doubts.append(Doubt.KEY)
        return ProposedField(
            title=title,
            draft=FieldDraft(
                name=clean_line(title) or key,
                key=key,
                data_type=data_type,
                allowed_values=allowed_values,
            ),
            doubts=tuple(doubts),
            intended_type=intended_type,
            exceptions=() if intended_type is None else tuple(self.exceptions[intended_type.value]),
            forms=forms,
            date_formats=self.forms.date_formats,
        )

    def _data_type(self) -> tuple[DataType, list[Doubt]]:
        """Return the data type, and the doubts about it."""
        if not self.count:
            return DataType.TEXT, [Doubt.EMPTY]
        accepting = [DataType(each) for each, rows in self.exceptions.items() if not rows]
        match accepting:
            case []:
                return DataType.TEXT, [Doubt.MIXED]
            case [DataType.TEXT, DataType.NUMBER] if Doubt.CODE in self.patterns:
                return DataType.TEXT, [Doubt.CODE]
            case [DataType.TEXT] if Doubt.CODE not in self.patterns:
                dates = [Doubt.DATE_FORMAT] if self.forms.are_dates else []
                return DataType.TEXT, [*dates, *self.patterns]
        return accepting[-1], []  # TEXT is the first type, and accepts the texts of other types.

    def _intended_type(self, forms: Collection[ForeignForm]) -> DataType | None:
        """Return the data type that accepts more than half of the values, but not all.

        Codes have none: a code with a leading zero is not a mistake in a number. If the numbers are
        shortened or dates, the other values are those that no program has changed.
        """
        if Doubt.CODE in self.patterns:
            return None
        intended = [n for n, rows in self.exceptions.items() if 0 < len(rows) < self.count / 2]
        if not _NUMBERS.isdisjoint(forms):
            intended = [each for each in intended if each != DataType.NUMBER.value]
        return DataType(intended[0]) if intended else None

    def _has_choices(self) -> bool:
        """Return whether the column has a few different texts that repeat."""
        return self.texts is not None and 1 < len(self.texts) <= self.count / _MIN_OCCURRENCES


def _matches(doubt: Doubt, value: object) -> bool:
    return isinstance(value, str) and _PATTERNS[doubt].fullmatch(value) is not None


def _allowed_values(texts: Collection[str]) -> AllowedValues | None:
    """Return the texts in order, or None if a text changes or is rejected as an allowed value."""
    try:
        allowed_values = AllowedValues(DataType.TEXT, sorted(texts))
    except InvalidField:
        return None
    return allowed_values if set(allowed_values.values) == set(texts) else None


def _schema_of_every_type() -> RecipientSchema:
    """Return a schema with one field for each data type, whose key is the name of the type."""
    drafts = (FieldDraft(name=each.value, key=each.value, data_type=each) for each in DataType)
    return RecipientSchema.of(define_fields(drafts))
