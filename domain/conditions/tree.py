"""The tree of a condition: comparisons of fields with values, joined by and, or and not."""

from __future__ import annotations

from datetime import date, datetime
from enum import Enum
from typing import TypeAlias

from attrs import field, frozen


class Operator(Enum):
    """The operators of comparisons. The enum values are those of the JSON form."""

    EQUAL = "eq"
    NOT_EQUAL = "ne"
    LESS = "lt"
    AT_MOST = "le"
    GREATER = "gt"
    AT_LEAST = "ge"
    IN = "in"
    CONTAINS = "contains"
    IS_SET = "is_set"
    IS_NOT_SET = "is_not_set"
    IS_TRUE = "is_true"


Value: TypeAlias = str | bool | int | float | date | datetime
"""A text, a boolean, a number, a date, or an aware date-time with a precision of milliseconds."""


@frozen
class Position:
    """A place in the text of a condition. Lines and columns begin at 1."""

    line: int
    column: int


@frozen
class Comparison:
    """The comparison of a field's value, by the field's key.

    `value` is a tuple for `IN`, None for `IS_SET`, `IS_NOT_SET` and `IS_TRUE`, and one value for
    the other operators. `position` is None if the condition was not parsed from text.
    """

    key: str
    operator: Operator
    value: Value | tuple[Value, ...] | None = None
    position: Position | None = field(default=None, eq=False)


@frozen
class Not:
    """The negation of a condition."""

    condition: Condition


@frozen
class AllOf:
    """The conjunction of two or more conditions."""

    conditions: tuple[Condition, ...]


@frozen
class AnyOf:
    """The disjunction of two or more conditions."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Not | AllOf | AnyOf
