"""Literals in the languages of ESPs."""

from __future__ import annotations

import re
from decimal import Decimal

from ..derived_codes import string_literal
from ..errors import NoSafeForm, NotExpressible
from ..profiles.profile import Profile

_BARE_TEXT = re.compile(r"[\w.@+-]+(?: [\w.@+-]+)*")
"""Texts that can't be confused with an operator, and that have no white space at the ends."""


def write_literal(profile: Profile, value: object) -> str:
    """Return the literal. Raises: NotExpressible if there is no safe one."""
    language = profile.conditions
    match value:
        case bool():
            return language.booleans[value]
        case int() | float():
            number = _number(value, decimal=language.decimal_literals)
            return f"'{number}'" if language.quotes_numbers else number
        case str() if language.quote is not None:
            return _quoted(profile, value, language.quote)
        case str() if _BARE_TEXT.fullmatch(value):
            return value
        case str():
            raise NotExpressible(f"{profile.title} has no safe way to write this text.")
    raise TypeError(f"not a text, a number or a boolean: {value!r}")


def _quoted(profile: Profile, text: str, quote: str) -> str:
    try:
        return string_literal(profile, text, quote)
    except NoSafeForm as error:
        raise NotExpressible(str(error)) from None


def _number(value: float, *, decimal: bool) -> str:
    """Return the number without an exponent: 3, or 3.0 if it must be a decimal."""
    number = format(Decimal(repr(value)), "f")
    return f"{number}.0" if decimal and "." not in number else number
