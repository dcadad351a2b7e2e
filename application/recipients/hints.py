"""Hints about the texts of a list: options that read more of them, and signs of damage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, mutable

from recipient_fields.domain import (
    DataType,
    ForeignForm,
    Rule,
    TextFormats,
    Violation,
    find_date_formats,
)

from ..wording import counted

_UNREAD = {
    DataType.BOOLEAN: Rule.TYPE,
    DataType.DATE: Rule.FORMAT,
    DataType.NUMBER: Rule.TYPE,
}
"""The rule that a text of a field violates if it is not in the format of the options."""
_NOUNS = {ForeignForm.SHORTENED_NUMBER: "number", ForeignForm.DECOMPOSED: "text"}
_ADVICE = {
    ForeignForm.SHORTENED_NUMBER: "A spreadsheet may have left out its last digits, as in"
    " 1.23457E+11. Format the column as text before you export it.",
    ForeignForm.DECOMPOSED: "Its accents are characters of their own, so conditions don't find it."
    " Save the list in Unicode NFC.",
}
_MAX_DAMAGE = 20
"""Pairs of a field and a form in the hints."""


@mutable
class _Places:
    """The line of the first text, and the number of all."""

    line: int
    count: int = 0


@mutable
class Hints:
    """What a user can do about the texts of a list, except for correcting each one.

    `decimal_comma` and `words` are whether numbers with decimal commas, or other words for true and
    false, can be the reason of violations. `date_formats` are the formats that read all dates which
    have another format.
    """

    _data_types: Mapping[str, DataType] = field(factory=dict)
    """The types of the fields by key. Without texts, there are none."""
    _formats: TextFormats = field(factory=TextFormats)
    decimal_comma: bool = False
    words: bool = False
    _date_formats: Sequence[str] | None = None
    _damage: dict[tuple[str, ForeignForm], _Places] = field(factory=dict)

    @property
    def date_formats(self) -> Sequence[str]:
        """The formats such as `D.M.YYYY`, or none if no format reads all of these dates."""
        return self._date_formats or ()

    def add_violation(self, violation: Violation, values: Mapping[str, object]) -> None:
        """Take into account what can read the text that breaks a rule."""
        key = str(violation.path[0]) if violation.path else ""
        data_type = self._data_types.get(key)
        if data_type is None or violation.rule is not _UNREAD.get(data_type):
            return
        text = str(values[key])
        match data_type:
            case DataType.BOOLEAN:
                self.words = True
            case DataType.NUMBER:
                self.decimal_comma |= self._formats.decimal_mark == "." and _has_comma(text)
            case DataType.DATE:
                self._add_date(text)

    def add_damage(self, line: int, key: str, form: ForeignForm) -> None:
        """Take into account that a text of this field is probably damaged."""
        if len(self._damage) < _MAX_DAMAGE or (key, form) in self._damage:
            self._damage.setdefault((key, form), _Places(line)).count += 1

    def damage(self) -> Sequence[str]:
        """Return a sentence for each field and form of damaged texts, with its first line."""
        sentences = []
        for (key, form), places in self._damage.items():
            count = counted(places.count, _NOUNS[form])
            sentences.append(f"{key}: {count}, first in line {places.line:,}: {_ADVICE[form]}")
        return sentences

    def _add_date(self, text: str) -> None:
        formats = find_date_formats(text)
        if formats:
            known = formats if self._date_formats is None else self._date_formats
            self._date_formats = [each for each in known if each in formats]


def _has_comma(text: str) -> bool:
    number = TextFormats(decimal_mark=",").number_check()(text)
    return "," in text and not isinstance(number, Violation)
