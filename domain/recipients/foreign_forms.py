"""Forms in which spreadsheets and databases write values, and what they do to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum

from attrs import evolve

from ..arguments import require_type
from ..errors import Violation
from ..fields.values import DataType
from ..text import normalize_nfc

__all__ = ["ForeignForm", "find_date_formats"]


class ForeignForm(Enum):
    """A form of values that recipient fields don't have, or that a damaged value has."""

    SERIAL_DATE = "serial_date"
    """The number of a day, as spreadsheets store dates: 44197 is 2021-01-01."""
    UNIX_TIME = "unix_time"
    """The seconds or milliseconds since 1970, such as 1700000000."""
    NUMERIC_DATE = "numeric_date"
    """A date with a year of four digits, such as 31.01.1985. Another format may read it."""
    TWO_DIGIT_YEAR = "two_digit_year"
    """A date with a year of two digits, such as 1/31/85, whose century is unknown."""
    MONTH_NAME = "month_name"
    """A date with a word for the month, such as 31-Jan-1985."""
    DATE_AND_TIME = "date_and_time"
    """A date with a time, such as 1985-01-31 00:00:00."""
    ZERO_DATE = "zero_date"
    """The date 0000-00-00, which stands for no date in some databases."""
    SHORTENED_NUMBER = "shortened_number"
    """A number such as 1.23457E+11, whose last digits a spreadsheet has left out."""
    DECOMPOSED = "decomposed"
    """A text whose accents are characters of their own. In Unicode NFC, it is another text."""


DATE_FORMS = frozenset(
    (
        *(ForeignForm.NUMERIC_DATE, ForeignForm.TWO_DIGIT_YEAR, ForeignForm.MONTH_NAME),
        *(ForeignForm.DATE_AND_TIME, ForeignForm.ZERO_DATE),
    )
)
"""The forms that can only be dates."""
NUMBER_FORMS = frozenset((ForeignForm.SERIAL_DATE, ForeignForm.UNIX_TIME))
"""The forms that are numbers, and can be dates."""

EXPONENT = "E+"
"""Each shortened number contains it."""
SHORTENED = r"-?[0-9](?:[.,][0-9]+)?E\+[0-9]{2,3}"
"""Matches a shortened number. Programs that write numbers for programs write `e`."""

_MAX_LENGTH = 64
"""Characters of a date or a number."""
_MAX_NUMBER = 10**15
"""No form has a greater number."""
_LONG_YEAR = r"(?:[0-9]{4}([./-])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([./-])[0-9]{1,2}\2[0-9]{4})"
_WORD = r"[^\W\d_]{3,12}\.?"
_PATTERNS: Mapping[ForeignForm, re.Pattern[str]] = {
    form: re.compile(pattern)
    for form, pattern in {
        # From 1949 to 2050. Other numbers of five digits are rather codes.
        ForeignForm.SERIAL_DATE: r"(?:1[89]|[2-4][0-9]|5[0-4])[0-9]{3}(?:[.,][0-9]+)?",
        # From 2001 to 2033.
        ForeignForm.UNIX_TIME: r"1[0-9]{9}(?:[0-9]{3})?",
        ForeignForm.ZERO_DATE: r"0{1,4}([./-])0{1,2}\1(?:0{1,4})(?:[ T].*)?",
        ForeignForm.NUMERIC_DATE: _LONG_YEAR,
        ForeignForm.DATE_AND_TIME: rf"{_LONG_YEAR}[ T].+",
        ForeignForm.TWO_DIGIT_YEAR: r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}(?: .*)?",
        ForeignForm.MONTH_NAME: (
            rf"[0-9]{{1,4}}[-./ ]{{1,2}}{_WORD}[-./, ]{{1,2}}[0-9]{{2,4}}(?:[ T].*)?"
            rf"|{_WORD}[-./ ]{{1,2}}[0-9]{{1,2}}[-./, ]{{1,2}}[0-9]{{2,4}}(?: .*)?"
        ),
        ForeignForm.SHORTENED_NUMBER: SHORTENED,
    }.items()
}
_AS_TEXT: Mapping[ForeignForm, str] = {
    ForeignForm.SERIAL_DATE: "It looks like the number of a day in a spreadsheet.",
    ForeignForm.UNIX_TIME: "It looks like a Unix time.",
    ForeignForm.TWO_DIGIT_YEAR: "Its year has only two digits.",
    ForeignForm.MONTH_NAME: "Its month is a word.",
}
_REASONS: Mapping[DataType, Mapping[ForeignForm, str]] = {
    DataType.DATE: {**_AS_TEXT, ForeignForm.DATE_AND_TIME: "It has a time."},
    DataType.DATETIME: {**_AS_TEXT, ForeignForm.NUMERIC_DATE: "It has no time."},
}
"""Why a value of a form is none of a data type."""
_NO_DATE = "If it stands for no date, leave it empty."


def find_form(text: str) -> ForeignForm | None:
    """Return the form of the text, or None if it has none."""
    if is_decomposed(text):
        return ForeignForm.DECOMPOSED
    if len(text) > _MAX_LENGTH:
        return None
    return next((form for form, each in _PATTERNS.items() if each.fullmatch(text)), None)


def find_damage(text: str) -> ForeignForm | None:
    """Return the form of a permitted text that a program has probably damaged, or None."""
    if is_decomposed(text):
        return ForeignForm.DECOMPOSED
    if EXPONENT in text and _PATTERNS[ForeignForm.SHORTENED_NUMBER].fullmatch(text):
        return ForeignForm.SHORTENED_NUMBER
    return None


def is_decomposed(text: str) -> bool:
    """Return whether the text differs from its form in Unicode NFC, which allowed values have."""
    return not text.isascii() and text != normalize_nfc(text)


def explain(violation: Violation, data_type: DataType, value: object) -> Violation:
    """Return the violation of a value that is none of this type, with what its form shows."""
    form = find_form(_to_text(value))
    if form is None:
        return violation
    if form is ForeignForm.ZERO_DATE:
        return evolve(violation, message=f"{violation.message} {_NO_DATE}")
    reason = _REASONS[data_type].get(form)
    return (
        violation if reason is None else evolve(violation, message=f"{reason} {violation.message}")
    )


def _to_text(value: object) -> str:
    """Return a text as it is, a number as it is usually written, and nothing for other values."""
    if isinstance(value, int | float) and abs(value) < _MAX_NUMBER:
        return f"{value:.15g}"
    return value if isinstance(value, str) else ""


def find_date_formats(text: str) -> Sequence[str]:
    """Return the formats with which the text is a date that exists, such as `D.M.YYYY`."""
    require_type(str, text=text)
    match = _PATTERNS[ForeignForm.NUMERIC_DATE].fullmatch(text)
    if match is None:
        return ()
    mark = match[1] or match[2]
    numbers = [int(part) for part in text.split(mark)]
    orders = (("YYYY", "M", "D"),) if match[1] else (("D", "M", "YYYY"), ("M", "D", "YYYY"))
    return [mark.join(order) for order in orders if _exists(dict(zip(order, numbers, strict=True)))]


def _exists(parts: Mapping[str, int]) -> bool:
    try:
        date(parts["YYYY"], parts["M"], parts["D"])
    except ValueError:
        return False
    return True
