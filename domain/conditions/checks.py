"""Checks of conditions against the fields of an organization."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime

from ..arguments import require_type
from ..errors import Rule, Violation
from ..fields.protocol import Field
from ..fields.values import DataType, Scalar
from ..suggestions import closest_match
from .errors import InvalidCondition
from .literals import to_scalar
from .syntax import MAX_DEPTH, SYMBOLS
from .tree import AllOf, AnyOf, Comparison, Condition, Not, Operator, require_condition

__all__ = ["SUPPORTED_OPERATORS", "check_condition"]

MAX_COMPARISONS = 200
"""The maximum number of comparisons of a condition."""
_MAX_SUGGESTIONS = 5
"""The maximum number of searches for a similar word, which take up to 50 ms each: the time for
1,000 allowed values.
"""

_ALWAYS = frozenset((Operator.EQUAL, Operator.NOT_EQUAL, Operator.IS_SET, Operator.IS_NOT_SET))
_ORDER = frozenset((Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST))
SUPPORTED_OPERATORS: Mapping[DataType, frozenset[Operator]] = {
    DataType.TEXT: _ALWAYS | {Operator.IN, Operator.CONTAINS},
    DataType.NUMBER: _ALWAYS | {Operator.IN} | _ORDER,
    DataType.BOOLEAN: _ALWAYS | {Operator.IS_TRUE},
    DataType.DATE: _ALWAYS | {Operator.IN} | _ORDER,
    DataType.DATETIME: _ALWAYS | {Operator.IN} | _ORDER,
}
"""The operators that fields of each type support."""
_OF_ALLOWED_VALUES = frozenset((Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN))
"""The operators whose values must be allowed values. For `<`, a value between two is useful."""
_TYPES: Mapping[DataType, tuple[type, ...]] = {
    DataType.TEXT: (str,),
    DataType.NUMBER: (int, float),
    DataType.BOOLEAN: (bool,),
    DataType.DATE: (date,),
    DataType.DATETIME: (datetime,),
}
_EXAMPLES: Mapping[DataType, tuple[str, str]] = {
    DataType.TEXT: ('"gold"', '"gold"'),
    DataType.NUMBER: ("3", "3"),
    DataType.BOOLEAN: ("true", "true"),
    DataType.DATE: ('date "2026-11-20"', '{"date": "2026-11-20"}'),
    DataType.DATETIME: ('date "2026-11-20T09:15:00Z"', '{"date": "2026-11-20T09:15:00Z"}'),
}
"""A value of each type, as text and as JSON."""

_Path = tuple[str | int, ...]
_Suggest = Callable[[str, Iterable[str]], str | None]


def check_condition(condition: Condition, fields: Iterable[Field]) -> None:
    """Check that the condition can be evaluated for recipients who have these fields.

    Raises: InvalidCondition, with all violations, if a field is unknown, if its type does not
    support the operator or the value, if its allowed values do not contain the value, or if the
    condition is deeper than 12 levels or has more than 200 comparisons. TypeError if it is not
    parsed.
    """
    require_type(Iterable, fields=fields)
    check_with_keys(condition, {str(field.key): field for field in fields})


def check_with_keys(condition: Condition, fields: Mapping[str, Field]) -> None:
    """Check the condition as `check_condition` does, with the fields by the keys that mean them."""
    require_condition(condition)
    searches = 0

    def suggest(word: str, words: Iterable[str]) -> str | None:
        nonlocal searches
        searches += 1
        return closest_match(word, words) if searches <= _MAX_SUGGESTIONS else None

    violations: list[Violation] = []
    count = 0
    for path, part in _walk(condition):
        if not isinstance(part, Comparison):
            violations.append(_located(_TOO_DEEP, path, _first_comparison(part)))
            continue
        count += 1
        if count > MAX_COMPARISONS:
            violations.append(_located(_TOO_MANY, (), part))
            break
        violations += (
            _located(violation, path, part)
            for violation in _comparison_violations(part, fields, suggest)
        )
    if violations:
        raise InvalidCondition(violations)


_TOO_DEEP = Violation(Rule.OUT_OF_RANGE, f"A condition has at most {MAX_DEPTH} levels.")
_TOO_MANY = Violation(
    Rule.TOO_MANY_ITEMS, f"A condition has at most {MAX_COMPARISONS} comparisons."
)


def _walk(
    condition: Condition, path: _Path = (), depth: int = 1
) -> Iterator[tuple[_Path, Condition]]:
    """Yield the comparisons, and the conditions whose parts are too deep, with their paths."""
    if isinstance(condition, Comparison) or depth == MAX_DEPTH:
        yield path, condition
        return
    match condition:
        case Not(negated):
            yield from _walk(negated, (*path, "not"), depth + 1)
        case AllOf(conditions):
            for index, each in enumerate(conditions):
                yield from _walk(each, (*path, "all", index), depth + 1)
        case AnyOf(conditions):
            for index, each in enumerate(conditions):
                yield from _walk(each, (*path, "any", index), depth + 1)


def _first_comparison(condition: Condition) -> Comparison:
    while not isinstance(condition, Comparison):
        condition = condition.condition if isinstance(condition, Not) else condition.conditions[0]
    return condition


def _located(violation: Violation, path: _Path, comparison: Comparison) -> Violation:
    """Return the violation with its place in the text, or with its path in the JSON form."""
    if comparison.position is None:
        return violation.prefixed(*path)
    match violation.path:
        case ("value", int(index)):
            return comparison.value_positions[index].locate(violation)
        case ("value",):
            return comparison.value_positions[0].locate(violation)
    return comparison.position.locate(violation)


def _comparison_violations(
    comparison: Comparison, fields: Mapping[str, Field], suggest: _Suggest
) -> Iterator[Violation]:
    field = fields.get(comparison.key)
    if field is None:
        message, suggestion = "There is no field with this key.", suggest(comparison.key, fields)
        yield Violation(Rule.UNKNOWN_VALUE, message, ("field",), suggestion)
    elif comparison.operator not in SUPPORTED_OPERATORS[field.data_type]:
        message = _operator_message(comparison, field.data_type)
        yield Violation(Rule.NOT_APPLICABLE, message, ("op",))
    else:
        yield from _value_violations(comparison, field, suggest)


def _operator_names(comparison: Comparison) -> Mapping[Operator, str]:
    """Return the names of the operators in the form, text or JSON, of this comparison."""
    return {each: each.value for each in Operator} if comparison.position is None else SYMBOLS


def _operator_message(comparison: Comparison, data_type: DataType) -> str:
    names = _operator_names(comparison)
    if comparison.operator not in names:
        return (
            "Only a boolean field is a condition by itself."
            " Compare this field with a value, or use `is set`."
        )
    supported = SUPPORTED_OPERATORS[data_type]
    *others, last = (f"`{name}`" for operator, name in names.items() if operator in supported)
    return (
        f"A {data_type.value} field does not support `{names[comparison.operator]}`."
        f" Use {', '.join(others)} or {last}."
    )


def _value_violations(
    comparison: Comparison, field: Field, suggest: _Suggest
) -> Iterator[Violation]:
    several = comparison.operator is Operator.IN
    allowed = _allowed_values(comparison, field)
    for index, value in enumerate(comparison.values):
        path = ("value", index) if several else ("value",)
        if type(value) not in _TYPES[field.data_type]:
            yield Violation(Rule.TYPE, _type_message(comparison, field.data_type), path)
        elif value == "":
            yield Violation(Rule.BLANK, _empty_text_message(comparison), path)
        elif allowed is not None and to_scalar(value) not in allowed:
            message = "This is not one of the field's allowed values."
            suggestion = suggest(value, map(str, allowed)) if isinstance(value, str) else None
            yield Violation(Rule.UNKNOWN_VALUE, message, path, suggestion)


def _allowed_values(comparison: Comparison, field: Field) -> Mapping[Scalar, None] | None:
    """Return the only values that the comparison permits, in order, or None if it permits all."""
    if field.allowed_values is None or comparison.operator not in _OF_ALLOWED_VALUES:
        return None
    return dict.fromkeys(field.allowed_values.values)


def _type_message(comparison: Comparison, data_type: DataType) -> str:
    as_text, as_json = _EXAMPLES[data_type]
    example = as_json if comparison.position is None else as_text
    return f"Compare a {data_type.value} field with a {data_type.value}, such as {example}."


def _empty_text_message(comparison: Comparison) -> str:
    selects_empty = comparison.operator in {Operator.EQUAL, Operator.IN}
    operator = Operator.IS_NOT_SET if selects_empty else Operator.IS_SET
    return f"An empty text is not set. Use `{_operator_names(comparison)[operator]}`."
