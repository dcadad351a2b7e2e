"""The data of recipients as texts, such as the cells of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from operator import call
from typing import Literal, TypeAlias

from attrs import field, frozen

from ..arguments import require_type
from ..errors import InvalidInput, Rule, Violation
from ..fields.values import AllowedValues, DataType, canonical_function, canonical_number
from .foreign_forms import EXPONENT, ForeignForm, find_damage
from .schema import CheckedRecipient, RecipientSchema, ValueCheck, value_check

__all__ = ["DecimalMark", "RecipientRows", "RecipientTexts", "TextFormats"]

DecimalMark: TypeAlias = Literal[".", ","]
"""The character before the decimals of a number."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,399})(\.[0-9]{1,399})?([eE][-+]?[0-9]{1,3})?")
"""Matches the numbers of JSON. No finite number needs more digits."""
_SWAPPED_MARKS = str.maketrans(",.", ".,")
_NOT_DECIMAL_POINT = Violation(
    Rule.TYPE, "Write a number like 1234.5, without thousands separators."
)
_NOT_DECIMAL_COMMA = Violation(
    Rule.TYPE, "Write a number like 1234,5, without thousands separators."
)
_NO_DATE = Violation(Rule.FORMAT, "There is no such date.")
_DATE_PART = re.compile("YYYY|MM?|DD?")
_DATE_PATTERNS = {
    "YYYY": "(?P<year>[0-9]{4})",
    "MM": "(?P<month>[0-9]{2})",
    "M": "(?P<month>[0-9]{1,2})",
    "DD": "(?P<day>[0-9]{2})",
    "D": "(?P<day>[0-9]{1,2})",
}
_EXAMPLE_DATE = {"YYYY": "2026", "MM": "11", "M": "11", "DD": "20", "D": "20"}


def _lower(words: Collection[str]) -> tuple[str, ...]:
    require_type(Collection, words=words)
    return tuple(word.lower() for word in words)


@frozen(kw_only=True)
class TextFormats:
    """How numbers, dates and booleans are written in texts.

    By default, they are written as in JSON. Numbers have the decimal mark. `date_format` has YYYY,
    MM and DD in any order, such as `DD.MM.YYYY`, or M and D for months and days without leading
    zeros. Booleans are words, in any case.

    Raises: InvalidInput if the format does not have each part once, or has other letters or digits;
    or if there is no word for a boolean, or one for both.
    """

    decimal_mark: DecimalMark = "."
    date_format: str = "YYYY-MM-DD"
    true: tuple[str, ...] = field(default=("true",), converter=_lower)
    false: tuple[str, ...] = field(default=("false",), converter=_lower)

    def __attrs_post_init__(self) -> None:
        require_type(str, date_format=self.date_format)
        parts = sorted(part[0] for part in _DATE_PART.findall(self.date_format))
        separators = _DATE_PART.sub("", self.date_format)
        if parts != ["D", "M", "Y"] or len(separators) < 2 or any(map(str.isalnum, separators)):
            raise InvalidInput([Violation(Rule.FORMAT, self._format_message, ("date_format",))])
        words = {*self.true, *self.false}
        is_distinct = len(words) == len({*self.true}) + len({*self.false})
        if not (self.true and self.false and is_distinct) or "" in words:
            message = "Use different words for true and false, at least one for each."
            raise InvalidInput([Violation(Rule.DUPLICATE_ITEM, message, ("true",))])

    @property
    def _format_message(self) -> str:
        if "YY" in self.date_format and "YYYY" not in self.date_format:
            return (
                "Use YYYY instead of YY: a year of two digits has no century. Write the years with"
                " four digits in the file, too."
            )
        return "Use YYYY, MM and DD, once each and separated, such as DD.MM.YYYY."

    def number_check(self) -> ValueCheck[str]:
        """Return the check for numbers."""
        return _decimal_point if self.decimal_mark == "." else _decimal_comma

    def date_check(self) -> ValueCheck[str]:
        """Return the check for dates, which returns them in ISO form."""
        escaped = re.escape(self.date_format)
        pattern = _DATE_PART.sub(lambda part: _DATE_PATTERNS[part[0]], escaped)
        match = re.compile(pattern).fullmatch
        example = _DATE_PART.sub(lambda part: _EXAMPLE_DATE[part[0]], self.date_format)
        refused = Violation(Rule.FORMAT, f"Write a date like {example}.")
        canonical = canonical_function(DataType.DATE)

        def check(text: str) -> object:
            found = match(text)
            if found is None:
                return refused
            date = canonical(f"{found['year']}-{found['month']:0>2}-{found['day']:0>2}")
            return _NO_DATE if isinstance(date, Violation) else date

        return check

    def boolean_check(self) -> ValueCheck[str]:
        """Return the check for booleans."""
        booleans = {**dict.fromkeys(self.true, True), **dict.fromkeys(self.false, False)}
        refused = Violation(Rule.TYPE, f"Write {self.true[0]} or {self.false[0]}.")
        return lambda text: booleans.get(text.lower(), refused)


@frozen
class RecipientTexts:
    """A check of values that are texts. An empty text means that the value is not set."""

    schema: RecipientSchema
    formats: TextFormats = field(factory=TextFormats)
    _checks: Mapping[str, ValueCheck[str]] = field(init=False, eq=False, repr=False)

    @_checks.default
    def _checks_by_key(self) -> Mapping[str, ValueCheck[str]]:
        require_type(RecipientSchema, schema=self.schema)
        require_type(TextFormats, formats=self.formats)
        conversions: Mapping[DataType, ValueCheck[str]] = {
            DataType.NUMBER: self.formats.number_check(),
            DataType.DATE: self.formats.date_check(),
            DataType.BOOLEAN: self.formats.boolean_check(),
        }
        return {
            key: value_check(
                each, conversions.get(each.data_type) or canonical_function(each.data_type)
            )
            for key, each in self.schema.fields.items()
        }

    def check(self, texts: Mapping[str, str], *, suggest: bool = True) -> CheckedRecipient:
        """Convert each text to the type of its field, check the values, and return the result.

        A text that can't be converted is a violation. `suggest` is the argument of
        `RecipientSchema.check`.
        """
        present = {key: text for key, text in texts.items() if text}
        return self.schema.apply(self._checks, present, suggest=suggest)

    def check_for(self, key: str) -> ValueCheck[str]:
        """Return the check for the texts of this key that are not empty."""
        return self._checks.get(key, self.schema.check_unknown)


def _decimal_point(text: str) -> object:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return _NOT_DECIMAL_POINT
    return canonical_number(int(text) if match.lastindex is None else float(text))


def _decimal_comma(text: str) -> object:
    number = _decimal_point(text.translate(_SWAPPED_MARKS))
    return _NOT_DECIMAL_COMMA if number is _NOT_DECIMAL_POINT else number


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
