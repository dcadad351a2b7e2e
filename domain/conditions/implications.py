"""The fields that are certainly set where a condition is true or false."""

from __future__ import annotations

from .tree import AllOf, Comparison, Condition, Not, Operator

_TRUE_WITHOUT_VALUE = {Operator.NOT_EQUAL, Operator.IS_NOT_SET}
"""The comparisons that are true, and not false, for a field that is not set."""


def keys_set_if(condition: Condition, *, holds: bool) -> frozenset[str]:
    """Return the keys of the fields that are set if the condition is true, or if it is false."""
    match condition:
        case Comparison(key, operator):
            is_false_without_value = operator not in _TRUE_WITHOUT_VALUE
            return frozenset((key,)) if holds is is_false_without_value else frozenset()
        case Not(negated):
            return keys_set_if(negated, holds=not holds)
    parts = [keys_set_if(each, holds=holds) for each in condition.conditions]
    if isinstance(condition, AllOf) is holds:
        return frozenset().union(*parts)
    return frozenset.intersection(*parts)
