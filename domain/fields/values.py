"""The value objects of a recipient field, validated when created."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from json import JSONEncoder
from typing import Self, TypeAlias

from attrs import frozen

from ..arguments import require_type
from ..choices import KeyEnum
from ..errors import InvalidField, Rule, Violation
from ..instants import NoSuchTime, format_instant, parse_date, parse_instant
from ..suggestions import closest_match
from ..text import (
    MAX_LINE_LENGTH,
    line_violation,
    normalize_line,
    normalize_nfc,
    verbatim_violation,
)

__all__ = [
    "KEY_PATTERN",
    "MAX_ALLOWED_VALUES",
    "MAX_ALLOWED_VALUES_SIZE",
    "MAX_KEY_LENGTH",
    "MAX_SAFE_INTEGER",
    "RESERVED_KEYS",
    "RESERVED_PREFIX",
    "AllowedValues",
    "DataType",
    "FieldKey",
    "FieldName",
    "InsertionCode",
    "Scalar",
    "ValueExpression",
    "derive_key",
    "item_count_violation",
    "name_letters",
    "require_boolean",
    "require_string",
]

Scalar: TypeAlias = str | int | float
"""One allowed value: a text, a number, `YYYY-MM-DD`, or an RFC 3339 date-time."""

MAX_KEY_LENGTH = 63
MAX_INSERTION_CODE_LENGTH = 10_000
MAX_VALUE_EXPRESSION_LENGTH = 2_000
MAX_SAFE_INTEGER = 2**53 - 1
MAX_ALLOWED_VALUES = 1_000
MAX_ALLOWED_VALUES_SIZE = 64 * 1024
"""The bytes of the allowed values of a field as JSON."""
# fmt: off
RESERVED_KEYS = frozenset((
    "id", "key", "source", "type", "null", "none", "true", "false", "and", "or", "not", "in", "is",
    "if", "elif", "else", "endif", "for", "endfor",
))
# fmt: on
RESERVED_PREFIX = "sys_"
KEY_PATTERN = "[a-z][a-z0-9]*(?:_[a-z0-9]+)*"
"""The regular expression of a whole key. Reserved keys match it too."""

_encode = JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
"""Encodes without white space and unnecessary escapes."""
_KEY = re.compile(KEY_PATTERN)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?")
"""Numbers as they are usually written."""
_NON_ASCII_LETTER = re.compile(r"[^\W\0-\x7f]")
"""A letter or number outside ASCII."""


class DataType(KeyEnum):
    """The type of the values that recipients have for a field."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"

    @classmethod
    def parse(cls, name: object) -> DataType:
        """Return the data type of this name. Raises: InvalidField if there is none."""
        name = require_string(name)
        if name not in cls._value2member_map_:
            names = [data_type.value for data_type in cls]
            message = f"Use one of {', '.join(names)}."
            suggestion = closest_match(name, names)
            raise InvalidField([Violation(Rule.UNKNOWN_VALUE, message, suggestion=suggestion)])
        return cls(name)


class FieldName(str):
    """The display name of a field: NFC, trimmed, one line of 1 to 255 code points. Not unique."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):  # already validated
            return text
        if not isinstance(text, str):
            require_type(str, text=text)
        text = normalize_line(text)
        _require(line_violation(text, max_length=MAX_LINE_LENGTH))
        return super().__new__(cls, text)


class FieldKey(str):
    """The identifier of a field in code: strict snake_case, 1 to 63 characters, not reserved."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):
            return text
        if not isinstance(text, str):
            require_type(str, text=text)
        _require(_key_violation(text))
        return super().__new__(cls, text)

    @classmethod
    def derived_from(cls, name: str) -> Self:
        """Return the key that `derive_key` derives from the name.

        The same name always has the same key, without a suffix, so a repeated request can't create
        a second field.

        Raises: InvalidField if no key can be derived from the name, or if the key is reserved.
        """
        key = derive_key(name)
        if not key:
            message = (
                "A key can be derived only from letters a-z and digits 0-9, with or without"
                " accents. Choose a key, such as loyalty_tier."
            )
            raise InvalidField([Violation(Rule.REQUIRED, message)])
        return cls(key)


class InsertionCode(str):
    """The whole code that replaces a field in exported content: 1 to 10,000 characters."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):
            return text
        _require(verbatim_violation(text, max_length=MAX_INSERTION_CODE_LENGTH))
        return super().__new__(cls, text)


class ValueExpression(str):
    """The expression that segment logic evaluates at run time: 1 to 2,000 characters."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if isinstance(text, cls):
            return text
        _require(verbatim_violation(text, max_length=MAX_VALUE_EXPRESSION_LENGTH))
        return super().__new__(cls, text)


@frozen(init=False)
class AllowedValues:
    """The 1 to 1,000 unique values that a field of `data_type` allows, in the given order.

    They are stored in canonical form: texts in NFC, date-times as `2026-11-20T09:15:00.123Z`, and
    whole numbers as `int` (JSON has one type of number, so 1.0 is 1).

    Raises: InvalidField, with one violation per value that is not allowed.
    """

    data_type: DataType
    values: tuple[Scalar, ...]

    def __init__(self, data_type: DataType, values: Sequence[object]) -> None:
        if not isinstance(data_type, DataType):
            require_type(DataType, data_type=data_type)
        self.__attrs_init__(data_type, _canonical_values(data_type, values))

    def require_size(self) -> Self:
        """Return these values for a field that is created with them, or changed to them.

        Fields that older versions have stored can have larger values.
        Raises: InvalidField if they have more than 64 KiB as JSON.
        """
        size = json_size(self.values)
        if size > MAX_ALLOWED_VALUES_SIZE:
            message = (
                f"As JSON, the values have at most {MAX_ALLOWED_VALUES_SIZE:,} bytes, and these"
                f" have {size:,}. List fewer or shorter ones."
            )
            raise InvalidField([Violation(Rule.TOO_LARGE, message)])
        return self


def derive_key(name: str) -> str:
    """Return the name as snake_case in ASCII: `Größe (cm)` becomes `grosse_cm`.

    The result is empty if the name has no letter or digit, or if one of them has no ASCII form: a
    key without that letter would be misleading (`st_rrelse` for `Størrelse`).
    """
    if not isinstance(name, str):
        require_type(str, name=name)
    return _derive_key(name)


@lru_cache(maxsize=4_096)  # a sync asks for the key of each name several times
def _derive_key(name: str) -> str:
    letters = name.lower() if name.isascii() else _without_accents(name)
    if _NON_ASCII_LETTER.search(letters) is not None:
        return ""
    key = re.sub(r"[^a-z0-9]+", "_", letters).strip("_")
    if key[:1].isdigit():
        key = "f_" + key
    return key[:MAX_KEY_LENGTH].rstrip("_")


def name_letters(name: str) -> str:
    """Return the letters and digits of the key that is derived from the name.

    Names with the same ones, such as `first_name` and `FirstName`, can be mistaken for each other.
    """
    return derive_key(name).replace("_", "")


def _without_accents(text: str) -> str:
    """Return the text in lower case and NFKD, without combining marks.

    Each character is decomposed by itself: to sort a run of marks takes quadratic time. Case is
    folded a second time because NFKD can add capitals (`™` becomes `TM`).
    """
    decomposed = "".join(unicodedata.normalize("NFKD", each) for each in text.casefold())
    return "".join(c for c in decomposed.casefold() if unicodedata.category(c) != "Mn")


def json_size(value: object) -> int:
    """Return the bytes of a value as JSON in UTF-8, in which a tuple is a list.

    Limits refer to such sizes.
    """
    return len(_encode(value).encode())


def require_string(value: object) -> str:
    """Return the value. Raises: InvalidField if it is not a string."""
    if isinstance(value, str):
        return value
    raise InvalidField([Violation(Rule.TYPE, "This must be a string.")])


def require_boolean(value: object) -> bool:
    """Return the value. Raises: InvalidField if it is neither True nor False."""
    if isinstance(value, bool):
        return value
    raise InvalidField([Violation(Rule.TYPE, "This must be true or false.")])


def item_count_violation(values: Sequence[object]) -> Violation | None:
    """Return a violation unless the list has 1 to 1,000 allowed values."""
    if not values:
        return Violation(Rule.EMPTY, "List at least one value, or use null for no restriction.")
    if len(values) > MAX_ALLOWED_VALUES:
        return Violation(Rule.TOO_MANY_ITEMS, f"List at most {MAX_ALLOWED_VALUES:,} values.")
    return None


def canonical_number(value: object) -> int | float | Violation:
    """Return the number, as an int if it is whole, or the rule that the value breaks."""
    if type(value) is float:
        if not math.isfinite(value):
            return Violation(Rule.OUT_OF_RANGE, "A number must be finite.")
        if not value.is_integer():
            return value
        value = int(value)
    if type(value) is int:
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return value
        return Violation(Rule.OUT_OF_RANGE, "An integer must be within ±9007199254740991.")
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return Violation(Rule.TYPE, f"This is a text. Write the number {value} without quotes.")
    return Violation(Rule.TYPE, "A number field requires a number, such as 1.5.")


def _require(violation: Violation | None) -> None:
    if violation is not None:
        raise InvalidField([violation])


def _key_violation(text: str) -> Violation | None:
    if not text or text.isspace():
        return Violation(Rule.BLANK, "This must not be empty or only white space.")
    if len(text) > MAX_KEY_LENGTH:
        return Violation(Rule.TOO_LONG, f"A key has at most {MAX_KEY_LENGTH} characters.")
    if _KEY.fullmatch(text) is None:
        return Violation(
            Rule.FORMAT,
            "Use lower-case letters, digits and single underscores, beginning with a letter.",
            suggestion=_suggested_key(text),
        )
    if text in RESERVED_KEYS or text.startswith(RESERVED_PREFIX):
        return Violation(Rule.RESERVED, "This key is reserved. Choose another key.")
    return None


def _suggested_key(text: str) -> str | None:
    key = derive_key(text)
    return key if key and _key_violation(key) is None else None


def _canonical_values(data_type: DataType, values: Sequence[object]) -> tuple[Scalar, ...]:
    if data_type is DataType.BOOLEAN:
        _require(
            Violation(
                Rule.NOT_APPLICABLE,
                "A boolean field has no allowed values. Remove them.",
            )
        )
    # A string is a sequence of characters, but not a list of values.
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        _require(Violation(Rule.TYPE, "This must be a list of values."))
    _require(item_count_violation(values))
    results = [
        _canonical_text(value) if data_type is DataType.TEXT else canonical_value(data_type, value)
        for value in values
    ]
    violations = [v.prefixed(i) for i, v in enumerate(results) if isinstance(v, Violation)]
    valid = {i: v for i, v in enumerate(results) if not isinstance(v, Violation)}
    violations += _duplicate_violations(valid)
    if violations:
        raise InvalidField(violations)
    return tuple(valid.values())


def canonical_value(data_type: DataType, value: object) -> Scalar | Violation:
    """Return the canonical form of a value of this type, or the rule that it breaks.

    Whole numbers are `int`, dates and date-times are texts like `2026-11-20` and
    `2026-11-20T09:15:00.123Z`, and texts and booleans are unchanged. Dates and date-times can also
    be `date` and aware `datetime` objects.
    """
    return canonical_function(data_type)(value)


def canonical_function(data_type: DataType) -> Callable[[object], Scalar | Violation]:
    """Return `canonical_value` for one type, which is faster for many values."""
    return _CANONICAL_FUNCTIONS[data_type]


def _canonical_boolean(value: object) -> Scalar | Violation:
    if isinstance(value, bool):
        return value
    return Violation(Rule.TYPE, "A boolean field requires true or false, without quotes.")


def _canonical_string(value: object) -> Scalar | Violation:
    return value if isinstance(value, str) else _not_string(DataType.TEXT)


def _canonical_date(value: object) -> Scalar | Violation:
    if type(value) is date:
        return value.isoformat()
    if not isinstance(value, str):
        return _not_string(DataType.DATE)
    try:
        return parse_date(value).isoformat()
    except NoSuchTime as error:
        return Violation(Rule.FORMAT, str(error))
    except ValueError:
        return Violation(Rule.FORMAT, "Write a date like 2026-11-20.")


def _canonical_datetime(value: object) -> Scalar | Violation:
    if not isinstance(value, str | datetime):
        return _not_string(DataType.DATETIME)
    try:
        return format_instant(value if isinstance(value, datetime) else parse_instant(value))
    except NoSuchTime as error:
        return Violation(Rule.FORMAT, str(error))
    except ValueError:
        return Violation(Rule.FORMAT, "Write a datetime like 2026-11-20T09:15:00.123Z.")
    except OverflowError:
        return Violation(Rule.OUT_OF_RANGE, "In UTC, the year must be between 1 and 9999.")


def _not_string(data_type: DataType) -> Violation:
    return Violation(Rule.TYPE, f"A {data_type.value} field requires a text in quotes.")


_CANONICAL_FUNCTIONS: Mapping[DataType, Callable[[object], Scalar | Violation]] = {
    DataType.TEXT: _canonical_string,
    DataType.NUMBER: canonical_number,
    DataType.BOOLEAN: _canonical_boolean,
    DataType.DATE: _canonical_date,
    DataType.DATETIME: _canonical_datetime,
}


def _canonical_text(value: object) -> Scalar | Violation:
    """Return an allowed text in NFC, or the rule that it breaks."""
    if not isinstance(value, str):
        return _not_string(DataType.TEXT)
    text = normalize_nfc(value)
    trimmed = text.strip()
    if not trimmed:
        return Violation(Rule.BLANK, "This must not be empty or only white space.")
    violation = line_violation(text, max_length=MAX_LINE_LENGTH)
    if violation is None and text != trimmed:
        return Violation(Rule.FORMAT, "Remove the white space at the ends.")
    return text if violation is None else violation


def _duplicate_violations(values: Mapping[int, Scalar]) -> list[Violation]:
    first_index: dict[Scalar, int] = {}
    return [
        Violation(Rule.DUPLICATE_ITEM, "Each value may be listed once.", (index,))
        for index, value in values.items()
        if first_index.setdefault(value, index) != index
    ]
