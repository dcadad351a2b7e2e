"""The meaning of conditions: evaluate them for a recipient. `docs/conditions.md` has a table."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from ..arguments import require_type
from ..errors import Rule, Violation
from ..fields.field import RecipientField
from ..fields.values import DataType
from ..instants import parse_date, parse_instant, whole_milliseconds
from .errors import InvalidRecipient
from .tree import AllOf, AnyOf, Comparison, Condition, Not, Operator, Value, require_condition

__all__ = ["evaluate", "read_value"]

_RELATIONS: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.GREATER: operator.gt,
    Operator.AT_LEAST: operator.ge,
    Operator.IN: lambda value, values: value in values,
    Operator.CONTAINS: operator.contains,
}
"""The operators that are false if the value is not set."""

_READERS: Mapping[DataType, Mapping[type, Callable[[Any], Value]]] = {
    DataType.TEXT: {str: str},
    DataType.NUMBER: {int: int, float: float},
    DataType.BOOLEAN: {bool: bool},
    DataType.DATE: {date: lambda value: value, str: parse_date},
    DataType.DATETIME: {datetime: whole_milliseconds, str: parse_instant},
}
"""The types of the values that recipients can have, and the functions that read them."""

_EXPECTED: Mapping[DataType, str] = {
    DataType.TEXT: "a text in quotes",
    DataType.NUMBER: "a number without quotes, such as 3 or 0.5",
    DataType.BOOLEAN: "true or false, without quotes",
    DataType.DATE: "a date such as 2026-11-20",
    DataType.DATETIME: "a date-time with an offset, such as 2026-11-20T09:15:00Z",
}
"""What a message about a value of another type requires."""


def evaluate(
    condition: Condition, fields: Iterable[RecipientField], values: Mapping[str, object]
) -> bool:
    """Return whether the condition, which `check_condition` accepts, is true for a recipient.

    `values` are the recipient's values by the keys of the fields. A missing value, None, and an
    empty text are not set. Dates are `date` and aware `datetime` objects, or texts in the formats
    of allowed values.

    Raises: InvalidRecipient if a value that is compared has another type than its field, TypeError
    if the condition is not parsed.
    """
    require_type(Iterable, fields=fields)
    require_type(Mapping, values=values)
    require_condition(condition)
    data_types = {str(field.key): field.data_type for field in fields}

    def holds(condition: Condition) -> bool:
        match condition:
            case AllOf(conditions):
                return all(map(holds, conditions))
            case AnyOf(conditions):
                return any(map(holds, conditions))
            case Not(negated):
                return not holds(negated)
        key = condition.key
        return _compare(condition, read_value(key, data_types[key], values.get(key)))

    return holds(condition)


def _compare(comparison: Comparison, value: Value | None) -> bool:
    """Return whether the comparison is true for this value. None means that it is not set."""
    match comparison.operator:
        case Operator.IS_SET:
            return value is not None
        case Operator.IS_NOT_SET:
            return value is None
        case Operator.NOT_EQUAL:
            return value != comparison.value
    if value is None:
        return False
    match comparison.operator:
        case Operator.EQUAL:
            return value == comparison.value
        case Operator.IS_TRUE:
            return value is True
    return _RELATIONS[comparison.operator](value, comparison.value)


def read_value(key: str, data_type: DataType, value: object) -> Value | None:
    """Return the recipient's value for the field with this key, or None if it is not set.

    Raises: InvalidRecipient if the value has another type than the field.
    """
    require_type(DataType, data_type=data_type)
    if value is None or value == "":
        return None
    read = _READERS[data_type].get(type(value))
    if read is not None:
        with suppress(ValueError, OverflowError):
            return read(value)
    message = f"A {data_type.value} field requires {_EXPECTED[data_type]}."
    raise InvalidRecipient([Violation(Rule.TYPE, message, (key,))])
