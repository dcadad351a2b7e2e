"""The data of recipients as rows of texts, such as the rows of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from operator import call
from typing import TypeAlias

from attrs import field, frozen

from ..arguments import require_type
from ..errors import Violation
from ..fields.values import AllowedValues, DataType
from .foreign_forms import EXPONENT, ForeignForm, find_damage
from .schema import ValueCheck
from .texts import DecimalMark, RecipientTexts

__all__ = ["RecipientRows"]

_Acceptance: TypeAlias = Callable[[str], object]
"""Returns a true value only for texts that are permitted."""
_Rule: TypeAlias = tuple[DataType, AllowedValues | None]

_MAX_REMEMBERED = 50_000
"""Dates in memory, and date-times. Both occupy less than 20 MiB."""
_MAX_REMEMBERED_LENGTH = 32
"""Characters of a text in memory. Dates, date-times and most allowed values are shorter."""


def _number_acceptance(decimal_mark: DecimalMark) -> _Acceptance:
    """Return a function that matches the numbers that can't be out of range, and empty texts."""
    pattern = rf"-?(?:[1-9][0-9]{{0,14}}+|0)(?>(?:{re.escape(decimal_mark)}[0-9]{{1,300}}+)?)|"
    return re.compile(pattern).fullmatch


_NUMBER_ACCEPTANCES: Mapping[DecimalMark, _Acceptance] = {
    mark: _number_acceptance(mark) for mark in (".", ",")
}


@frozen
class RecipientRows:
    """A fast check of many rows of texts. The texts of each row are in the order of the keys.

    Almost all texts of most lists are accepted by compiled code: `str.isprintable`, a regular
    expression for numbers, and a dictionary of texts that have been checked before. Only rows with
    other texts are checked by `RecipientTexts`.
    """

    texts: RecipientTexts
    keys: Sequence[str]
    _acceptances: Sequence[_Acceptance] = field(init=False, eq=False, repr=False)

    _unlimited: Set[str] = field(init=False, eq=False, repr=False)
    """The keys of the fields for texts and numbers without allowed values."""

    @_acceptances.default
    def _acceptances_by_column(self) -> Sequence[_Acceptance]:
        require_type(RecipientTexts, texts=self.texts)
        require_type(Sequence, keys=self.keys)
        remembered: dict[_Rule, _PermittedTexts] = {}
        return [self._acceptance(key, remembered) for key in self.keys]

    @_unlimited.default
    def _keys_without_allowed_values(self) -> Set[str]:
        return {
            key
            for key, each in self.texts.schema.fields.items()
            if each.allowed_values is None and each.data_type in (DataType.TEXT, DataType.NUMBER)
        }

    def violations(self, row: Sequence[str], *, suggest: bool = True) -> Sequence[Violation]:
        """Return the violations that `RecipientTexts.check` reports for the texts of a row."""
        if len(row) == len(self.keys) and all(map(call, self._acceptances, row)):
            return ()
        texts = dict(zip(self.keys, row, strict=True))
        return self.texts.check(texts, suggest=suggest).violations

    def damage(self, row: Sequence[str]) -> Iterator[tuple[str, ForeignForm]]:
        """Yield the keys and the forms of permitted texts that a program has probably damaged."""
        text = "".join(row)
        if not text.isascii() or EXPONENT in text:
            for key, each in zip(self.keys, row, strict=False):
                form = find_damage(each) if key in self._unlimited else None
                if form is not None:
                    yield key, form

    def _acceptance(self, key: str, remembered: dict[_Rule, _PermittedTexts]) -> _Acceptance:
        """Return the function for a column. Fields with the same rule share the texts in memory."""
        schema = self.texts.schema
        recipient_field = schema.fields.get(key)
        if recipient_field is None:
            return str.isprintable if schema.additional else _permits_no_text
        data_type, allowed_values = rule = recipient_field.data_type, recipient_field.allowed_values
        if allowed_values is None:
            if data_type is DataType.TEXT:
                return str.isprintable
            if data_type is DataType.NUMBER:
                return _NUMBER_ACCEPTANCES[self.texts.formats.decimal_mark]
        max_remembered = _MAX_REMEMBERED if allowed_values is None else len(allowed_values.values)
        if rule not in remembered:
            check = self.texts.check_for(key)
            remembered[rule] = _PermittedTexts(check, max_remembered)
        return remembered[rule].__getitem__


def _permits_no_text(text: str) -> bool:
    return not text


class _PermittedTexts(dict[str, bool]):
    """Whether a text is permitted. The dictionary remembers short texts that are permitted."""

    def __init__(self, check: ValueCheck[str], max_remembered: int) -> None:
        super().__init__({"": True})
        self._check = check
        self._max_remembered = max_remembered

    def __missing__(self, text: str) -> bool:
        permitted = not isinstance(self._check(text), Violation)
        if permitted and len(self) <= self._max_remembered and len(text) <= _MAX_REMEMBERED_LENGTH:
            self[text] = True
        return permitted
