"""Conditions as English sentences."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from .literals import to_scalar
from .syntax import format_value
from .tree import AllOf, AnyOf, Comparison, Condition, Not, Operator, Value

__all__ = ["describe"]

_PHRASES: Mapping[Operator, tuple[str, str]] = {
    Operator.EQUAL: ("is", "is not"),
    Operator.NOT_EQUAL: ("is not", "is"),
    Operator.LESS: ("is less than", "is not less than"),
    Operator.AT_MOST: ("is at most", "is not at most"),
    Operator.GREATER: ("is greater than", "is not greater than"),
    Operator.AT_LEAST: ("is at least", "is not at least"),
    Operator.IN: ("is one of", "is none of"),
    Operator.CONTAINS: ("contains", "does not contain"),
    Operator.IS_SET: ("is set", "is not set"),
    Operator.IS_NOT_SET: ("is not set", "is set"),
    Operator.IS_TRUE: ("is true", "is not true"),
}
"""The phrases for a comparison and for its negation."""
_DATE_PHRASES: Mapping[Operator, tuple[str, str]] = {
    Operator.LESS: ("is before", "is not before"),
    Operator.AT_MOST: ("is at or before", "is not at or before"),
    Operator.GREATER: ("is after", "is not after"),
    Operator.AT_LEAST: ("is at or after", "is not at or after"),
}
"""The phrases for comparisons with dates, if they differ."""


def describe(condition: Condition) -> str:
    """Return an English sentence that states when the condition is true."""
    return f"The condition is true if {_clause(condition)}."


def _clause(condition: Condition) -> str:
    match condition:
        case AnyOf(conditions):
            return " or ".join(map(_grouped, conditions))
        case AllOf(conditions):
            return " and ".join(map(_grouped, conditions))
        case Not(Comparison() as comparison):
            return _comparison(comparison, negated=True)
        case Not(negated):
            return f"it is not true that {_grouped(negated)}"
        case Comparison():
            return _comparison(condition, negated=False)


def _grouped(condition: Condition) -> str:
    """Return the clause, in parentheses unless it is a comparison or the negation of one."""
    innermost = condition.condition if isinstance(condition, Not) else condition
    clause = _clause(condition)
    return clause if isinstance(innermost, Comparison) else f"({clause})"


def _comparison(comparison: Comparison, *, negated: bool) -> str:
    phrases = _PHRASES
    if isinstance(comparison.value, date):  # A datetime is a date.
        phrases = {**_PHRASES, **_DATE_PHRASES}
    words = [f"`{comparison.key}`", phrases[comparison.operator][negated]]
    values = ", ".join(map(_value, comparison.values))
    if values:
        words.append(f"({values})" if comparison.operator is Operator.IN else values)
    return " ".join(words)


def _value(value: Value) -> str:
    return str(to_scalar(value)) if isinstance(value, date) else format_value(value)
