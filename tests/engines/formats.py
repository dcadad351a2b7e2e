"""What the documentation of the ESPs states about formats of words, numbers and dates.

The functions reject values for which no source establishes the result.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from .errors import NotRendered

_TOKEN = re.compile(r"(?:([A-Za-z])\1*)")
_STRFTIME = {
    "d": "%-d",
    "dd": "%d",
    "MM": "%m",
    "MMM": "%b",
    "MMMM": "%B",
    "yy": "%y",
    "yyyy": "%Y",
}


def capitalized_words(text: str) -> str:
    """Return the text with a capital in each word, if it has only letters and blanks."""
    if re.fullmatch(r"[A-Za-z ]*", text) is None:
        raise NotRendered(f"The result is not established for {text}.")
    return text.title()


def fixed_decimals(number: Decimal, decimals: int) -> str:
    """Return the number with these decimals, unless it is a half or a negative zero."""
    unit = Decimal(1).scaleb(-decimals)
    rounded = number.quantize(unit, ROUND_HALF_UP)
    if abs(number - rounded) == unit / 2 or (number < 0 and rounded.is_zero()):
        raise NotRendered(f"The result is not established for {number}.")
    return f"{rounded:f}"


def date_in(text: str) -> date:
    """Return the date of a text without a time."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise NotRendered(f"The result is not established for {text}.") from None


def format_date(day: date, form: str) -> str:
    """Return the date in a format with the letters of .NET, which those of Java contain."""
    if form == "d" or not {token[0] for token in _TOKEN.finditer(form)} <= set(_STRFTIME):
        raise NotRendered(f"Not documented: {form}")
    return day.strftime(_TOKEN.sub(lambda token: _STRFTIME[token[0]], form))
