"""The tree of a condition: comparisons of fields with values, joined by and, or and not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import TypeAlias, get_args

from attrs import field, frozen

from ..choices import KeyEnum
from ..errors import Violation

__all__ = [
    "AllOf",
    "AnyOf",
    "Comparison",
    "Condition",
    "LocatedViolation",
    "Not",
    "Operator",
    "TextPosition",
    "Value",
    "condition_keys",
]


class Operator(KeyEnum):
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


@frozen(order=True)
class TextPosition:
    """A place in a text. Lines and columns begin at 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}"

    def locate(self, violation: Violation) -> LocatedViolation:
        """Return the violation with this position in its message, instead of a path."""
        return LocatedViolation(
            violation.rule,
            f"{self}: {violation.message}",
            suggestion=violation.suggestion,
            position=self,
        )


@frozen
class LocatedViolation(Violation):
    """A violation at a position of a text. The message begins with the position."""

    position: TextPosition = field(kw_only=True)

    @property
    def reason(self) -> str:
        """The message without the position."""
        return self.message.removeprefix(f"{self.position}: ")


@frozen
class Comparison:
    """The comparison of a field's value, by the field's key, or of data, by its path.

    `value` is a tuple for `IN`, None for `IS_SET`, `IS_NOT_SET` and `IS_TRUE`, and one value for
    the other operators. `position` and `value_positions` are the places of the key and of each
    value in the text. If the condition was not parsed from text, they are None and empty.
    """

    key: str
    operator: Operator
    value: Value | tuple[Value, ...] | None = None
    position: TextPosition | None = field(default=None, eq=False)
    value_positions: tuple[TextPosition, ...] = field(default=(), eq=False)

    @property
    def values(self) -> tuple[Value, ...]:
        """The values with which the field is compared: none, one or several."""
        if isinstance(self.value, tuple):
            return self.value
        return () if self.value is None else (self.value,)


@frozen(cache_hash=True)
class Not:
    """The negation of a condition."""

    condition: Condition


@frozen(cache_hash=True)
class AllOf:
    """The conjunction of two or more conditions."""

    conditions: tuple[Condition, ...]


@frozen(cache_hash=True)
class AnyOf:
    """The disjunction of two or more conditions."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Not | AllOf | AnyOf
"""A comparison, or a combination of other conditions."""


def require_condition(condition: object) -> None:
    """Require that the condition is parsed. Raises: TypeError if it is not."""
    if not isinstance(condition, get_args(Condition)):
        wrong = type(condition).__name__
        raise TypeError(f"condition must be a Condition, not {wrong}. Pass parse_condition(text).")


def condition_keys(condition: Condition) -> Iterator[str]:
    """Yield the keys in the condition, in order."""
    return (comparison.key for comparison in comparisons(condition))


def replace_comparisons(
    condition: Condition, replace: Callable[[Comparison], Comparison]
) -> Condition:
    """Return the condition with what `replace` returns for each comparison."""
    match condition:
        case Comparison():
            return replace(condition)
        case Not(negated):
            return Not(replace_comparisons(negated, replace))
    parts = tuple(replace_comparisons(each, replace) for each in condition.conditions)
    return AllOf(parts) if isinstance(condition, AllOf) else AnyOf(parts)


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """Yield the comparisons of the condition, in order."""
    pending = [condition]
    while pending:
        match pending.pop():
            case Comparison() as comparison:
                yield comparison
            case Not(negated):
                pending.append(negated)
            case AllOf(conditions) | AnyOf(conditions):
                pending += reversed(conditions)
