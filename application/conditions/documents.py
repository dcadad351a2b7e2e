"""The JSON form of conditions: parse it and render it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import TypeVar

import attrs
from attrs import frozen

from recipient_fields.domain import (
    FieldKey,
    InvalidInput,
    Rule,
    Violation,
    Violations,
    require_string,
)
from recipient_fields.domain.conditions import (
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Not,
    Operator,
    Value,
    date_literal,
    number_literal,
    text_literal,
    to_scalar,
)

from ..documents.conversion import InvalidDocument, parse_document, unknown_members
from ..documents.schemas import NamedSchema, described, named

T = TypeVar("T")

_OMITTED = object()
"""The value of a comparison that has no value."""


@frozen
class ComparisonDocument:
    """A comparison of one field."""

    field: FieldKey
    op: Operator
    value: object = attrs.field(
        default=_OMITTED,
        metadata=described(
            'A text, a number, a boolean or `{"date": "2026-11-20"}`; for `in`, an array of these.'
            " `is_set`, `is_not_set` and `is_true` have no value."
        ),
    )


def parse_condition_document(document: object) -> Condition:
    """Return the condition of `{"all": […]}`, `{"any": […]}`, `{"not": …}` or a comparison.

    A comparison is `{"field", "op", "value"}`. A date is `{"date": "2026-11-20"}`.

    Raises: InvalidDocument with all violations if the document breaks a rule.
    """
    try:
        return _parse_condition(document, 1)
    except InvalidInput as error:
        raise InvalidDocument(error.violations) from None


def render_condition_document(condition: Condition) -> dict[str, object]:
    """Return the document from which `parse_condition_document` returns this condition."""
    match condition:
        case AllOf(conditions):
            return {"all": [render_condition_document(each) for each in conditions]}
        case AnyOf(conditions):
            return {"any": [render_condition_document(each) for each in conditions]}
        case Not(negated):
            return {"not": render_condition_document(negated)}
    document: dict[str, object] = {"field": str(condition.key), "op": condition.operator.value}
    if isinstance(condition.value, tuple):
        document["value"] = [_render_value(each) for each in condition.value]
    elif condition.value is not None:
        document["value"] = _render_value(condition.value)
    return document


def _render_value(value: Value) -> object:
    return {"date": to_scalar(value)} if isinstance(value, date) else value


def _parse_condition(document: object, depth: int) -> Condition:
    if type(document) is not dict:
        raise _invalid(Rule.TYPE, "This must be an object.")
    if depth > MAX_DEPTH:
        raise _invalid(Rule.OUT_OF_RANGE, f"A condition has at most {MAX_DEPTH} levels.")
    member = next((each for each in _COMPOUNDS if each in document), None)
    if member is None:
        return _parse_comparison(document)
    violations = Violations(unknown_members(document, {member}))
    with violations.collect(member):
        condition = _COMPOUNDS[member](document[member], depth + 1)
    if violations:
        raise InvalidInput(violations)
    return condition


_COMPOUNDS: Mapping[str, Callable[[object, int], Condition]] = {
    "all": lambda parts, depth: AllOf(_parse_parts(parts, depth)),
    "any": lambda parts, depth: AnyOf(_parse_parts(parts, depth)),
    "not": lambda negated, depth: Not(_parse_condition(negated, depth)),
}
"""The members of objects that consist of other conditions, and how their values are parsed."""


def _compound(name: str, member: str, schema: object) -> NamedSchema:
    return named(
        name,
        type="object",
        properties={member: schema},
        required=[member],
        additionalProperties=False,
    )


_alternatives: list[object] = []
CONDITION_TREE = named(
    "ConditionTree",
    oneOf=_alternatives,
    description="A condition as JSON. docs/conditions.md describes it.",
)
_TREES = {"type": "array", "minItems": 2, "items": CONDITION_TREE}
_alternatives += [  # A tree contains trees.
    _compound("AllConditions", "all", _TREES),
    _compound("AnyCondition", "any", _TREES),
    _compound("NegatedCondition", "not", CONDITION_TREE),
    ComparisonDocument,
]


def _parse_parts(documents: object, depth: int) -> tuple[Condition, ...]:
    def parse(document: object) -> Condition:
        return _parse_condition(document, depth)

    return _parse_list(documents, parse, 2, "List at least two conditions.")


def _parse_comparison(document: object) -> Comparison:
    comparison = parse_document(document, ComparisonDocument)
    with _at("value"):
        value = _parse_operand(comparison.op, comparison.value)
    return Comparison(comparison.field, comparison.op, value)


def _parse_operand(operator: Operator, value: object) -> Value | tuple[Value, ...] | None:
    """Return the value of a comparison with this operator."""
    if operator in {Operator.IS_SET, Operator.IS_NOT_SET, Operator.IS_TRUE}:
        if value is not _OMITTED:
            raise _invalid(Rule.NOT_APPLICABLE, f"The operator `{operator.value}` has no value.")
        return None
    if value is _OMITTED:
        raise _invalid(Rule.REQUIRED, "Add this member.")
    if operator is Operator.IN:
        return _parse_list(value, _parse_value, 1, "List at least one value.")
    return _parse_value(value)


def _parse_value(value: object) -> Value:
    match value:
        case bool():
            return value
        case str():
            return text_literal(value)
        case int() | float():
            return number_literal(value)
        case {"date": text, **others} if not others:
            with _at("date"):
                return date_literal(require_string(text))
        case None:
            raise _invalid(Rule.TYPE, "A value is never null. Use `is_set` or `is_not_set`.")
    message = 'Send a string, a number, true, false, or a date like {"date": "2026-11-20"}.'
    raise _invalid(Rule.TYPE, message)


def _parse_list(
    items: object, parse: Callable[[object], T], minimum: int, too_few: str
) -> tuple[T, ...]:
    """Return the parsed items of an array. Raises: InvalidInput with the violations of all."""
    if type(items) is not list:
        raise _invalid(Rule.TYPE, "This must be an array.")
    if len(items) < minimum:
        raise _invalid(Rule.EMPTY, too_few)
    violations = Violations()
    parsed = []
    for index, each in enumerate(items):
        with violations.collect(index):
            parsed.append(parse(each))
    if violations:
        raise InvalidInput(violations)
    return tuple(parsed)


@contextmanager
def _at(member: str) -> Iterator[None]:
    """Add the member to the paths of violations."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(each.prefixed(member) for each in error.violations) from None


def _invalid(rule: Rule, message: str) -> InvalidInput:
    return InvalidInput([Violation(rule, message)])
