"""The data of recipients as rows of texts, such as the rows of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import call
from typing import TypeAlias

from attrs import field, frozen

from .errors import Violation
from .recipient_texts import DecimalMark, RecipientTexts
from .recipients import ValueCheck
from .values import DataType

_Acceptance: TypeAlias = Callable[[str], object]
"""Returns a true value only for texts that are permitted."""

_MAX_REMEMBERED = 100_000
"""Texts in memory, in all columns. They occupy less than 20 MiB."""
_MAX_REMEMBERED_LENGTH = 32
"""Characters of a text in memory. Dates, date-times and most allowed values are shorter."""


def _number_acceptance(decimal_mark: DecimalMark) -> _Acceptance:
    """Return a function that matches the numbers that can't be out of range, and empty texts."""
    pattern = rf"-?(?:[1-9][0-9]{{0,14}}+|0)(?:{re.escape(decimal_mark)}[0-9]{{1,300}}+)?+|"
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

    @_acceptances.default
    def _acceptances_by_column(self) -> Sequence[_Acceptance]:
        return [self._acceptance(key) for key in self.keys]

    def violations(self, row: Sequence[str], *, suggest: bool = True) -> Sequence[Violation]:
        """Return the violations that `RecipientTexts.check` reports for the texts of a row."""
        if len(row) == len(self.keys) and all(map(call, self._acceptances, row)):
            return ()
        texts = dict(zip(self.keys, row, strict=True))
        return self.texts.check(texts, suggest=suggest).violations

    def _acceptance(self, key: str) -> _Acceptance:
        schema = self.texts.schema
        recipient_field = schema.fields.get(key)
        if recipient_field is None and schema.additional:
            return str.isprintable
        if recipient_field is not None and recipient_field.allowed_values is None:
            if recipient_field.data_type is DataType.TEXT:
                return str.isprintable
            if recipient_field.data_type is DataType.NUMBER:
                return _NUMBER_ACCEPTANCES[self.texts.decimal_mark]
        max_remembered = _MAX_REMEMBERED // len(self.keys)
        return _PermittedTexts(self.texts.check_for(key), max_remembered).__getitem__


class _PermittedTexts(dict[str, bool]):
    """Whether a text is permitted. The dictionary remembers short texts that are permitted."""

    def __init__(self, check: ValueCheck[str], max_remembered: int) -> None:
        super().__init__({"": True})
        self._check = check
        self._max_remembered = max_remembered

    def __missing__(self, text: str) -> bool:
        permitted = not isinstance(self._check(text), Violation)
        if permitted and len(self) < self._max_remembered and len(text) <= _MAX_REMEMBERED_LENGTH:
            self[text] = True
        return permitted
