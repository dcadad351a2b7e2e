"""Literals in the languages of ESPs."""

from __future__ import annotations

import re
from decimal import Decimal

from ..derived_codes import string_literal
from ..errors import NoSafeForm, NotExpressible
from ..esps import Esp
from ..languages.conditions.code_parts import ConditionLanguage
from ..profiles import PROFILES

_BARE_TEXT = re.compile(r"[\w.@+-]+(?: [\w.@+-]+)*")
"""Texts that can't be confused with an operator, and that have no white space at the ends."""


def write_literal(esp: Esp, language: ConditionLanguage, value: object) -> str:
    """Return the literal. Raises: NotExpressible if there is no safe one."""
    title = PROFILES[esp].title
    match value:
        case bool():
            return language.booleans[value]
        case int() | float():
            number = _number(value, decimal=language.decimal_literals)
            return f"'{number}'" if language.quotes_numbers else number
        case str() if language.quote is not None:
            return _quoted(esp, value, language.quote)
        case str() if _BARE_TEXT.fullmatch(value):
            return value
        case str():
            raise NotExpressible(f"{title} has no safe way to write this text.")
    raise TypeError(f"not a text, a number or a boolean: {value!r}")


def _quoted(esp: Esp, text: str, quote: str) -> str:
    try:
        return string_literal(esp, text, quote)
    except NoSafeForm as error:
        raise NotExpressible(str(error)) from None


def _number(value: float, *, decimal: bool) -> str:
    """Return the number without an exponent: 3, or 3.0 if it must be a decimal."""
    number = format(Decimal(repr(value)), "f")
    return f"{number}.0" if decimal and "." not in number else number
