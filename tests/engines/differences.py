"""The values for which an ESP can show something else than the preview, as its caveats say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from recipient_fields.domain import DataType, Violation
from recipient_fields.domain.conditions import Value
from recipient_fields.domain.conditions.literals import from_scalar
from recipient_fields.domain.content import WarningCode
from recipient_fields.domain.content.filters import Filter, apply_filters
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.fields.values import canonical_value


def has(*parts: str) -> Callable[[object], bool]:
    return lambda value: any(part in str(value) for part in parts)


def has_other_characters(allowed: str) -> Callable[[object], bool]:
    return lambda value: re.fullmatch(rf"[{allowed}]*", str(value)) is None


def is_rounded(value: object) -> bool:
    """Return whether the number is near a half, or near a negative zero."""
    try:
        decimal = Decimal(str(value))
    except InvalidOperation:
        return False
    return -1 < decimal < 0 or decimal.as_tuple().digits[-1] == 5


def has_many_digits(value: object) -> bool:
    return len(re.sub(r"\D", "", str(value))) > 15


def is_long_or_small(value: object) -> bool:
    """Return whether the number has more than 15 digits, or is below 0.0001."""
    return has_many_digits(value) or 0 < abs(Decimal(str(value))) < Decimal("0.0001")


def is_no_timestamp(value: object) -> bool:
    """Return whether Customer.io does not read the value, which the tests store in seconds."""
    try:
        return seconds(str(value)) < 100_000_000
    except ValueError:
        return False


def seconds(text: str) -> int:
    at = datetime.fromisoformat(text)
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())


def always(value: object) -> bool:
    return True


EXAMPLES: Mapping[str, Callable[[object], bool]] = {
    "writes Σ at the end of a word as in its middle": has("\u03a3", "\u03c3", "\u03c2"),
    "LiquidJS does not encode !'()*": has(*"!'()*"),
    "is stored with another one than UTC": has("+02:00", "-05:00"),
    "shows an instant, such as": always,
    "reads only Unix timestamps": is_no_timestamp,
    "accents that are separate characters": has("\u0301", "\u0307"),
    "pongo2 does not write ß as SS": has("ß", "ﬁ", "ŉ", "ǆ"),
    "pongo2 writes Σ at the end of a word": has("\u03a3", "\u03c3", "\u03c2", "İ"),
    "Django and pongo2 write different capitals": has_other_characters(
        r"\x00-\x26\x28-\x5e\x60-\x7e"
    ),
    "with three periods instead of …": lambda value: len(str(value)) > 3,
    "calculates with 15 digits": lambda value: is_rounded(value) or has_many_digits(value),
    "with more than 15 digits or below 0.0001": is_long_or_small,
    "can be a negative zero": lambda value: str(value) in {"0", "0.0"},
    "can show & in an item": has("&", "<", ">", '"', "'"),
    "pongo2 rounds some halves down": is_rounded,
    "writes a capital only after white space": has_other_characters(r"a-zA-Zé "),
    "writes a blank as +": has(" ", "~", "*"),
    "rounds some halves down": is_rounded,
    "for other letters than A to Z": lambda value: not str(value).isascii(),
    "in words with other characters than A to Z": has_other_characters("A-Za-z "),
    "counts characters such as 🚀": has("\U0001f680"),
    "writes codes in small letters": lambda value: (
        not str(value).strip() or has_other_characters("A-Za-z0-9 _.-")(value)
    ),
    "encodes other characters than A to Z and digits": has_other_characters("A-Za-z0-9"),
}
"""The values that each difference names. A caveat with the difference excuses them."""
HTML = {"can spoil the email": has("<", "&", '"', "'", ">")}
"""The values that the caveats about HTML name."""
CAVEATS = {WarningCode.FILTER_DIFFERENCE, WarningCode.HTML_IN_VALUES}


def names(difference: str, values: Iterable[object]) -> bool:
    """Return whether this sentence of a caveat names one of the values."""
    values = tuple(values)
    return any(
        phrase in difference and any(map(applies, values))
        for phrase, applies in (*EXAMPLES.items(), *HTML.items())
    )


def read_value(value: object, data_type: DataType) -> Value | None:
    """Return the value as the preview reads it, or None if it is not set."""
    if value in (None, ""):
        return None
    canonical = canonical_value(data_type, value)
    assert not isinstance(canonical, Violation), canonical
    return from_scalar(data_type, canonical)


def inputs(value: object, data_type: DataType, filters: Sequence[Filter]) -> Iterator[object]:
    """Yield what each filter reads: the value, and the results of the filters before it."""
    yield value
    read = read_value(value, data_type)
    for end in range(1, len(filters)):
        if read is not None:
            yield apply_filters(read, filters[:end])


def stored(esp: Esp, value: object, data_type: DataType) -> object:
    """Return the value as the ESP stores it."""
    is_time = data_type in (DataType.DATE, DataType.DATETIME)
    if esp == Esp("customerio") and is_time and value:
        return seconds(str(value))
    if esp == Esp("sfmc") and isinstance(value, float):
        return f"{Decimal(str(value)):f}"
    return value
