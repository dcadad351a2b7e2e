"""The data of recipients as texts, such as the cells of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from attrs import field, frozen

from ..arguments import require_type
from ..errors import InvalidInput, Rule, Violation
from ..fields.values import DataType, canonical_function, canonical_number
from .schema import CheckedRecipient, RecipientSchema, ValueCheck, value_check

__all__ = ["DecimalMark", "RecipientTexts", "TextFormats"]

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
