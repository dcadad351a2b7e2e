"""Parsing of the members of queries. Invalid ones raise InvalidQuery, with the member as path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

from attrs import Attribute

from ..errors import InvalidField, InvalidQuery, Rule, Violation
from ..suggestions import closest_match
from .origins import Source
from .values import MAX_SAFE_INTEGER, FieldKey

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def enum_member(enum: type[E], value: E | str, member: str) -> E:
    """Return the member of the enum with this value, or the value itself if it is a member."""
    if isinstance(value, enum):
        return value
    name = require_member_type(str, value, member)
    names = [each.value for each in enum]
    if name in names:
        return enum(name)
    message, suggestion = f"Use one of {', '.join(names)}.", closest_match(name, names)
    raise InvalidQuery([Violation(Rule.UNKNOWN_VALUE, message, (member,), suggestion)])


def enum_members(enum: type[E], values: Iterable[E | str], member: str) -> frozenset[E]:
    """Return the members of the enum with these values."""
    return frozenset(enum_member(enum, each, member) for each in _items(values, member))


def to_sources(values: Iterable[Source | str]) -> frozenset[Source]:
    """Return the sources with these values, for the member `sources`."""
    return enum_members(Source, values, "sources")


def possible_keys(values: Iterable[str]) -> frozenset[FieldKey]:
    """Return the keys without those that no field can have, for the member `keys`."""
    keys = set()
    for each in _items(values, "keys"):
        with suppress(InvalidField):
            keys.add(FieldKey(require_member_type(str, each, "keys")))
    return frozenset(keys)


def possible_ids(values: Iterable[int], member: str) -> frozenset[int]:
    """Return the ids without those that no storage assigns."""
    ids = [require_member_type(int, each, member) for each in _items(values, member)]
    return frozenset(each for each in ids if 1 <= each <= MAX_SAFE_INTEGER)


def require_safe_integer(value: object, member: str) -> int:
    """Return the value. Raises: InvalidQuery if it is not an integer within ±(2^53-1)."""
    number = require_member_type(int, value, member)
    if abs(number) > MAX_SAFE_INTEGER:
        message = f"This must be between -{MAX_SAFE_INTEGER} and {MAX_SAFE_INTEGER}."
        raise invalid_member(Rule.OUT_OF_RANGE, message, member)
    return number


def require_member_type(expected: type[T], value: object, member: str) -> T:
    """Return the value. Raises: InvalidQuery if it does not have this type."""
    is_bool = isinstance(value, bool)
    if isinstance(value, expected) and is_bool is (expected is bool):  # True is an int
        return value
    name = TYPE_NAMES.get(expected, f"a {expected.__name__}")
    raise invalid_member(Rule.TYPE, f"This must be {name}.", member)


def of_type(expected: type[object]) -> Callable[[object, Attribute[Any], object], None]:
    """Return the validator of a member that must have this type."""

    def validate(_query: object, member: Attribute[Any], value: object) -> None:
        require_member_type(expected, value, member.name)

    return validate


def invalid_member(rule: Rule, message: str, *path: str) -> InvalidQuery:
    """Return the error for the member at this path."""
    return InvalidQuery([Violation(rule, message, path)])


def among(value: object, alternatives: frozenset[object] | None) -> bool:
    """Return whether a filter with these alternatives matches the value. None matches any value."""
    return alternatives is None or value in alternatives


def _items(values: Iterable[T], member: str) -> Iterable[T]:
    # A string is an iterable of characters, but not a set of values.
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return values
    message = "This must be a set of values, even if it has only one."
    raise invalid_member(Rule.TYPE, message, member)


TYPE_NAMES: Mapping[type[object], str] = {
    bool: "true or false",
    int: "an integer",
    str: "a string",
    datetime: "a datetime",
}
"""The names of types in messages."""
