"""How Jinjava, HubSpot's engine, converts, compares and shows values.

https://github.com/HubSpot/jinjava (TruthyTypeConverter, ObjectTruthValue, FloatFilter and
CollectionMembershipOperator) and its expression language, https://github.com/beckchr/juel
(BooleanOperations and TypeConverterImpl). A missing value is null. Here, `int` stands for Java's
`long`, `float` for `double`, and `Single` for `float`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from .errors import NotRendered
from .truth import ORDER

Value: TypeAlias = object
_DOUBLE = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_LONG = re.compile(r"[+-]?[0-9]+")
_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


class Single(float):
    """A number in single precision."""

    def __new__(cls, value: float) -> Single:
        (rounded,) = struct.unpack("f", struct.pack("f", value))
        return super().__new__(cls, rounded)


def truth(value: Value) -> bool:
    """Return whether the value is true: not null, 0, an empty text or list, or "False"."""
    return value.lower() not in {"", "false"} if isinstance(value, str) else bool(value)


def default(value: Value, otherwise: Value, replaces_false: Value = False) -> Value:
    """Return what the filter `default` returns (DefaultFilter.java)."""
    is_used = truth(value) if truth(replaces_false) else value is not None
    return value if is_used else otherwise


def show(value: Value) -> str:
    """Return the text of the value."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() | int():
            return str(value)
        case float() if not isinstance(value, Single):
            return _show_double(value)
    raise NotRendered(f"The text of this value is not known: {value!r}")


def equal(left: Value, right: Value) -> bool:
    """Return whether the values are equal. Null equals null only."""
    if left is None or right is None:
        return left is right
    convert = _common_type(left, right, (float, int, bool, str))
    return convert(left) == convert(right)


def in_order(symbol: str, left: Value, right: Value) -> bool:
    """Return whether the values are in this order. Null has none."""
    if left is None or right is None:
        return left is right and symbol in {"<=", ">="}
    convert = _common_type(left, right, (float, int, str, bool))
    return ORDER[symbol](convert(left), convert(right))


def contains(container: Value, value: Value) -> bool:
    """Return whether the text contains the text of the value, or the list a value that equals it.

    The value is converted to the type of each item: null becomes 0.
    """
    match container:
        case str():
            return show(value) in container
        case list():
            return _is_item(value, container)
    return False


def to_single(value: Value) -> Single:
    """Return what the filter `float` returns: 0 for what is no number."""
    match value:
        case int() | float():
            return Single(value)
        case str() if _PLAIN.fullmatch(value):
            return Single(float(value))
    return Single(0)


def _is_item(value: Value, items: Sequence[Value]) -> bool:
    for item in items:
        try:
            if item is value or (item is not None and _CONVERSIONS[type(item)](value) == item):
                return True
        except NotRendered:
            return False
    return False


def _common_type(left: Value, right: Value, kinds: Sequence[type]) -> Callable[[Value], Any]:
    """Return the conversion to the first of these types that one of the values has."""
    for kind in kinds:
        if any(_has_type(each, kind) for each in (left, right)):
            return _CONVERSIONS[kind]
    raise NotRendered(f"The comparison is not known: {left!r}, {right!r}")


def _has_type(value: Value, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _double(value: Value) -> float:
    match value:
        case None | "":
            return 0.0
        case bool():
            pass
        case int() | float():
            return float(value)
        case str() if _DOUBLE.fullmatch(value):
            return float(value)
    raise NotRendered(f"Not a number: {value!r}")


def _long(value: Value) -> int:
    match value:
        case None | "":
            return 0
        case bool():
            pass
        case int() | float():
            return int(value)
        case str() if _LONG.fullmatch(value):
            return int(value)
    raise NotRendered(f"Not an integer: {value!r}")


_CONVERSIONS: Mapping[type, Callable[[Value], Any]] = {
    float: _double,
    int: _long,
    bool: truth,
    str: show,
}


def _show_double(number: float) -> str:
    """Return the text of a double, as Java's `Double.toString` does."""
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    digits, exponent = f"{Decimal(repr(number)).normalize():E}".split("E")
    return f"{digits}{'' if '.' in digits else '.0'}E{int(exponent)}"
