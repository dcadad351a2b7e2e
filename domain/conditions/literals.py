"""The values in conditions. Both forms of conditions, text and JSON, have the same rules."""

from __future__ import annotations

from datetime import date, datetime

from ..arguments import require_type
from ..errors import Rule, Violation
from ..fields.values import DataType, Scalar, canonical_number
from ..instants import NoSuchTime, format_instant, parse_date, parse_instant
from ..text import MAX_LINE_LENGTH, control_character_violation, normalize_nfc
from .errors import InvalidCondition
from .tree import Value

__all__ = ["date_literal", "number_literal", "text_literal", "to_scalar"]


def text_literal(text: str) -> str:
    """Return the text in NFC, like the allowed values of a field.

    Raises: InvalidCondition if it has line breaks, control characters, or over 255 characters.
    """
    require_type(str, text=text)
    text = normalize_nfc(text)
    violation = control_character_violation(text)
    if violation is None and len(text) > MAX_LINE_LENGTH:
        message = f"A text in a condition has at most {MAX_LINE_LENGTH} characters."
        violation = Violation(Rule.TOO_LONG, message)
    if violation is not None:
        raise InvalidCondition([violation])
    return text


def number_literal(number: float) -> int | float:
    """Return the number, as an int if it is whole.

    Raises: InvalidCondition if it is not finite, or an integer beyond ±(2^53-1).
    """
    canonical = canonical_number(number)
    if isinstance(canonical, Violation):
        raise InvalidCondition([canonical])
    return canonical


def date_literal(text: str) -> date | datetime:
    """Return the date, or the date-time in UTC.

    Raises: InvalidCondition if the text is neither `YYYY-MM-DD` nor an RFC 3339 date-time.
    """
    require_type(str, text=text)
    try:
        return parse_instant(text) if "T" in text.upper() else parse_date(text)
    except NoSuchTime as error:
        raise InvalidCondition([Violation(Rule.FORMAT, str(error))]) from None
    except (ValueError, OverflowError):
        message = "Write a date like 2026-11-20, or a date-time like 2026-11-20T09:15:00Z."
        raise InvalidCondition([Violation(Rule.FORMAT, message)]) from None


def type_of(value: Value) -> DataType:
    """Return the type of the fields that are compared with this value."""
    match value:
        case bool():
            return DataType.BOOLEAN
        case str():
            return DataType.TEXT
        case datetime():
            return DataType.DATETIME
        case date():
            return DataType.DATE
    return DataType.NUMBER


def from_scalar(data_type: DataType, value: Scalar) -> Value:
    """Return a value of this type, in the form of allowed values, as conditions compare it."""
    match data_type:
        case DataType.DATE:
            return parse_date(str(value))
        case DataType.DATETIME:
            return parse_instant(str(value))
    return value


def to_scalar(value: Value) -> Scalar:
    """Return the value in the form of allowed values: dates and date-times are texts."""
    match value:
        case datetime():
            return format_instant(value)
        case date():
            return value.isoformat()
    return value
