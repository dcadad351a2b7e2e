"""The meaning of conditions: evaluate them for a recipient. `docs/conditions.md` has a table."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from attrs import frozen

from ..arguments import require_type
from ..errors import Rule, Violation
from ..fields.protocol import Field
from ..fields.values import DataType, Scalar
from ..recipients.schema import RecipientSchema
from .errors import InvalidRecipient
from .literals import from_scalar
from .tree import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Not,
    Operator,
    Value,
    condition_keys,
    require_condition,
)

__all__ = ["evaluate"]

_RELATIONS: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.GREATER: operator.gt,
    Operator.AT_LEAST: operator.ge,
    Operator.IN: lambda value, values: value in values,
    Operator.CONTAINS: operator.contains,
}
"""The operators that are false if the value is not set."""


def evaluate(condition: Condition, fields: Iterable[Field], values: Mapping[str, object]) -> bool:
    """Return whether the condition, which `check_condition` accepts, is true for a recipient.

    `values` are the recipient's values by the keys of the fields, as `RecipientSchema.check`
    accepts them. A value that is not one of the allowed values is compared as it is. Values that
    are not compared are not read.

    Raises: InvalidRecipient if values that are compared have another type than their fields,
    TypeError if the condition is not parsed.
    """
    require_type(Iterable, fields=fields)
    require_type(Mapping, values=values)
    require_condition(condition)
    keys = {*condition_keys(condition)}
    schema = RecipientSchema.of(field for field in fields if field.key in keys)
    compared = {key: value for key, value in values.items() if key in keys}
    return RecipientValues.read(schema, compared).satisfy(condition)


@frozen
class RecipientValues:
    """The values of a recipient that are set, as conditions compare them and previews show them.

    `unlisted` are the violations of those that are not among the allowed values of their fields.
    """

    _schema: RecipientSchema
    _values: Mapping[tuple[str, DataType], Value]
    unlisted: tuple[Violation, ...]

    @classmethod
    def read(
        cls,
        schema: RecipientSchema,
        values: Mapping[str, object],
        *,
        max_length: int | None = None,
    ) -> RecipientValues:
        """Check the values, which are by the keys of the fields, and return those that are set.

        `max_length` is the maximum number of characters in a text.
        Raises: InvalidRecipient, with all violations, unless each of them is `unlisted`.
        """
        too_long = () if max_length is None else tuple(_too_long(values, max_length))
        checked = schema.check(values)
        unlisted = tuple(each for each in checked.violations if each.rule is Rule.UNKNOWN_VALUE)
        if too_long or len(unlisted) < len(checked.violations):
            raise InvalidRecipient((*checked.violations, *too_long))
        read: dict[tuple[str, DataType], Value] = {}
        for key, value in {**checked.values, **checked.unlisted}.items():
            if value is not None:
                data_type = schema.fields[key].data_type
                read[schema.definition_of(key), data_type] = from_scalar(
                    data_type, cast("Scalar", value)
                )
        return cls(schema, read, unlisted)

    def get(self, key: str) -> Value | None:
        """Return the value of the field with this key, or None if it is not set.

        A field and those for which it stands have the same value, if their types are the same.
        """
        data_type = self._schema.fields[key].data_type
        return self._values.get((self._schema.definition_of(key), data_type))

    def satisfy(self, condition: Condition) -> bool:
        """Return whether the condition is true."""
        return holds(condition, self.get)


def holds(condition: Condition, get: Callable[[str], Value | None]) -> bool:
    """Return whether the condition is true. `get` returns the value of a key that is set."""
    match condition:
        case AllOf(conditions):
            return all(holds(each, get) for each in conditions)
        case AnyOf(conditions):
            return any(holds(each, get) for each in conditions)
        case Not(negated):
            return not holds(negated, get)
    return compare(condition, get(condition.key))


def compare(comparison: Comparison, value: Value | None) -> bool:
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


def _too_long(values: Mapping[str, object], max_length: int) -> Iterator[Violation]:
    for key, value in values.items():
        if isinstance(value, str) and len(value) > max_length:
            message = f"A value has at most {max_length:,} characters."
            yield Violation(Rule.TOO_LONG, message, (key,))
