"""The values a recipient field is made of, each valid from the moment it exists.

HTTP contract, section 2.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Self, TypeAlias

from attrs import frozen

from .errors import InvalidField, Rule, Violation
from .instants import format_instant, parse_date, parse_instant
from .suggestions import nearest
from .text import LONGEST_LINE, composed, line_violation, normalized, verbatim_violation

Scalar: TypeAlias = str | int | float
"""One permitted value: text, number, `YYYY-MM-DD` or an RFC 3339 instant."""

LONGEST_KEY = 63
LARGEST_INTEGER = 2**53 - 1
MOST_ALLOWED_VALUES = 1_000
# fmt: off
RESERVED_KEYS = frozenset((
    "id", "key", "source", "type", "null", "none", "true", "false", "and", "or", "not", "in", "is",
    "if", "elif", "else", "endif", "for", "endfor",
))
# fmt: on
RESERVED_PREFIX = "sys_"

_KEY = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_OTHER_LETTER = re.compile(r"[^\W\0-\x7f]")
"""A letter, digit or other number outside of ASCII."""


class DataType(Enum):
    """What kind of value a field holds for each recipient."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"

    @classmethod
    def parse(cls, name: object) -> DataType:
        """The data type of that name; InvalidField where there is none."""
        name = required_text(name)
        if name not in cls._value2member_map_:
            names = [data_type.value for data_type in cls]
            message = f"Use one of {', '.join(names)}."
            violation = Violation(Rule.UNKNOWN_VALUE, message, suggestion=nearest(name, names))
            raise InvalidField([violation])
        return cls(name)


class FieldName(str):
    """What people call a field: NFC, trimmed, one line of 1 to 255 code points. Not unique."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):  # It was judged when it was made.
            return text
        text = normalized(text)
        _require(line_violation(text, longest=LONGEST_LINE))
        return super().__new__(cls, text)


class FieldKey(str):
    """What machines call a field: strict snake_case, 1 to 63 characters, not reserved."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):
            return text
        _require(_key_violation(text))
        return super().__new__(cls, text)

    @classmethod
    def derived_from(cls, name: str) -> Self:
        """Return the key that `derived_key` makes of the name.

        It has no suffix: the same name always gives the same key, so a repeated request can't make
        a second field. Raises InvalidField if no key can be derived from the name, or only a
        reserved one.
        """
        key = derived_key(name)
        if not key:
            message = (
                "A key can be derived only from letters a-z and digits 0-9, with or without"
                " accents. Send a key, such as `loyalty_tier`."
            )
            raise InvalidField([Violation(Rule.REQUIRED, message)])
        return cls(key)


class InsertionCode(str):
    """The whole snippet that replaces a field in exported content: 1 to 10,000 characters."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):
            return text
        _require(verbatim_violation(text, longest=10_000))
        return super().__new__(cls, text)


class ValueExpression(str):
    """The expression evaluated at run time in segment logic: 1 to 2,000 characters."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):
            return text
        _require(verbatim_violation(text, longest=2_000))
        return super().__new__(cls, text)


@frozen(init=False)
class AllowedValues:
    """The 1 to 1,000 unique values a field of `data_type` permits, in their given order.

    Texts become NFC, instants `2026-11-20T09:15:00.123Z`, and whole numbers `int`: JSON has one
    kind of number, so 1.0 is 1. InvalidField names each value that is not permitted.
    """

    data_type: DataType
    values: tuple[Scalar, ...]

    def __init__(self, data_type: DataType, values: Sequence[object]) -> None:
        self.__attrs_init__(data_type, _canonical(data_type, values))


def derived_key(name: str) -> str:
    """Return the key form of a name: `Größe (cm)` becomes `grosse_cm`.

    It is empty if the name has no letter or digit, or one without a form in a-z and 0-9: a key
    without it would mislead (`st_rrelse` for `Størrelse`).
    """
    letters = name.lower() if name.isascii() else _folded(name)
    if _OTHER_LETTER.search(letters) is not None:
        return ""
    key = re.sub(r"[^a-z0-9]+", "_", letters).strip("_")
    if key[:1].isdigit():
        key = "f_" + key
    return key[:LONGEST_KEY].rstrip("_")


def _folded(text: str) -> str:
    """Return the text in lower case, decomposed for compatibility, without marks.

    It is folded twice because decomposition makes capitals (`™` becomes `TM`).
    """
    folded = unicodedata.normalize("NFKD", text.casefold()).casefold()
    return "".join(c for c in folded if unicodedata.category(c) != "Mn")


def required_text(given: object) -> str:
    """The text; InvalidField where it is none."""
    if isinstance(given, str):
        return given
    raise InvalidField([Violation(Rule.TYPE, "This must be a string.")])


def required_boolean(given: object) -> bool:
    """True or false; InvalidField where it is neither."""
    if isinstance(given, bool):
        return given
    raise InvalidField([Violation(Rule.TYPE, "This must be true or false.")])


def cardinality_violation(proposed: Sequence[object]) -> Violation | None:
    """What is wrong with the number of allowed values."""
    if not proposed:
        return Violation(Rule.EMPTY, "List at least one value, or send null for no restriction.")
    if len(proposed) > MOST_ALLOWED_VALUES:
        return Violation(Rule.TOO_MANY_ITEMS, f"List at most {MOST_ALLOWED_VALUES:,} values.")
    return None


def _require(violation: Violation | None) -> None:
    if violation is not None:
        raise InvalidField([violation])


def _key_violation(text: str) -> Violation | None:
    if not text or text.isspace():
        return Violation(Rule.BLANK, "This must not be empty or only white space.")
    if len(text) > LONGEST_KEY:
        return Violation(Rule.TOO_LONG, f"A key has at most {LONGEST_KEY} characters.")
    if _KEY.fullmatch(text) is None:
        return Violation(
            Rule.FORMAT,
            "Use lower-case letters, digits and single underscores, beginning with a letter.",
            suggestion=_suggested_key(text),
        )
    if text in RESERVED_KEYS or text.startswith(RESERVED_PREFIX):
        return Violation(Rule.RESERVED, "This key is reserved. Send another key.")
    return None


def _suggested_key(text: str) -> str | None:
    key = derived_key(text)
    return key if key and _key_violation(key) is None else None


def _canonical(data_type: DataType, proposed: Sequence[object]) -> tuple[Scalar, ...]:
    if data_type is DataType.BOOLEAN:
        _require(
            Violation(Rule.NOT_APPLICABLE, "A boolean field has no allowed values. Send null.")
        )
    # A text is a sequence too, yet never meant as one.
    if not isinstance(proposed, Sequence) or isinstance(proposed, str | bytes):
        _require(Violation(Rule.TYPE, "This must be a list of values."))
    _require(cardinality_violation(proposed))
    judged = [_judge(data_type, value) for value in proposed]
    violations = [v.under(i) for i, v in enumerate(judged) if isinstance(v, Violation)]
    values = {i: v for i, v in enumerate(judged) if not isinstance(v, Violation)}
    violations += _duplicates(values)
    if violations:
        raise InvalidField(violations)
    return tuple(values.values())


def _judge(data_type: DataType, value: object) -> Scalar | Violation:
    """The canonical form of one proposed value, or what is wrong with it."""
    if data_type is DataType.NUMBER:
        return _judge_number(value)
    if not isinstance(value, str):
        return Violation(Rule.TYPE, f"A {data_type.value} field allows strings here.")
    if data_type is DataType.TEXT:
        return _judge_text(value)
    try:
        if data_type is DataType.DATE:
            return parse_date(value).isoformat()
        return format_instant(parse_instant(value))
    except ValueError:
        example = "2026-11-20" if data_type is DataType.DATE else "2026-11-20T09:15:00.123Z"
        return Violation(Rule.FORMAT, f"Write a {data_type.value} like {example}.")
    except OverflowError:
        return Violation(Rule.OUT_OF_RANGE, "In UTC, the year must be between 1 and 9999.")


def _judge_number(value: object) -> Scalar | Violation:
    if type(value) is float:
        if not math.isfinite(value):
            return Violation(Rule.OUT_OF_RANGE, "A number must be finite.")
        if not value.is_integer():
            return value
        value = int(value)
    if type(value) is int:
        if abs(value) <= LARGEST_INTEGER:
            return value
        return Violation(Rule.OUT_OF_RANGE, "An integer must be within ±9007199254740991.")
    return Violation(Rule.TYPE, "A number field allows numbers here.")


def _judge_text(value: str) -> Scalar | Violation:
    text = composed(value)
    trimmed = text.strip()
    if not trimmed:
        return Violation(Rule.BLANK, "This must not be empty or only white space.")
    violation = line_violation(text, longest=LONGEST_LINE)
    if violation is None and text != trimmed:
        return Violation(Rule.FORMAT, "Remove the white space at the ends.")
    return text if violation is None else violation


def _duplicates(values: Mapping[int, Scalar]) -> list[Violation]:
    first: dict[Scalar, int] = {}
    return [
        Violation(Rule.DUPLICATE_ITEM, "Each value may be listed once.", (index,))
        for index, value in values.items()
        if first.setdefault(value, index) != index
    ]
