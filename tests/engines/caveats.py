"""The caveats of compiled conditions, and the recipients that they exclude from the comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from recipient_fields.domain import DataType
from recipient_fields.domain.conditions import Comparison, Condition, Operator
from recipient_fields.domain.content import WarningCode
from recipient_fields.domain.esp import ConditionCode

from .generation import DATA_TYPES, comparisons, literals


def codes(code: ConditionCode) -> list[WarningCode]:
    return [warning.code for warning in code.warnings]


def excluded(
    caveats: Iterable[WarningCode], condition: Condition, recipient: Mapping[str, object]
) -> bool:
    """Return whether a caveat names one of the stored values that the condition compares."""
    return any(
        CAVEATS[caveat](comparison, recipient.get(comparison.key))
        for comparison in comparisons(condition)
        for caveat in caveats
    )


def differs_in_case(comparison: Comparison, value: object) -> bool:
    """Return whether the texts are equal, or contained, only if case does not matter."""
    if not isinstance(value, str):
        return False
    texts = [literal for literal in literals(comparison) if isinstance(literal, str)]
    if comparison.operator is Operator.CONTAINS:
        return any(x not in value and x.casefold() in value.casefold() for x in texts)
    return any(x != value and x.casefold() == value.casefold() for x in texts)


def differs_in_white_space(comparison: Comparison, value: object) -> bool:
    """Return whether the value or a literal is a text with white space at an end."""
    texts = [each for each in (value, *literals(comparison)) if isinstance(each, str)]
    return any(text != text.strip() for text in texts)


def are_numbers(comparison: Comparison, value: object) -> bool:
    """Return whether the value and a literal are numbers, perhaps as texts."""
    return number(value) is not None and any(
        number(literal) is not None for literal in literals(comparison)
    )


def differs(comparison: Comparison, value: object) -> bool:
    """Return whether the values are equal only without regard to case, white space and zeros."""
    rules = (differs_in_case, differs_in_white_space, differs_in_form)
    return any(rule(comparison, value) for rule in rules)


def differs_in_case_or_white_space(comparison: Comparison, value: object) -> bool:
    rules = (differs_in_case, differs_in_white_space)
    return any(rule(comparison, value) for rule in rules)


def differs_in_form(comparison: Comparison, value: object) -> bool:
    """Return whether the values are the same number in different forms, such as 3 and 3.0."""
    return any(
        str(literal) != str(value) and number(literal) == number(value) is not None
        for literal in literals(comparison)
    )


def number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def is_zero(comparison: Comparison, value: object) -> bool:
    return value == 0 and not isinstance(value, bool)


def is_number_as_text(comparison: Comparison, value: object) -> bool:
    is_number = DATA_TYPES[comparison.key] is DataType.NUMBER
    return is_number and isinstance(value, str) and value != ""


def is_boolean_as_text(comparison: Comparison, value: object) -> bool:
    is_boolean = DATA_TYPES[comparison.key] is DataType.BOOLEAN
    return is_boolean and isinstance(value, str) and value != ""


def is_empty_boolean(comparison: Comparison, value: object) -> bool:
    return DATA_TYPES[comparison.key] is DataType.BOOLEAN and value == ""


def has_milliseconds(comparison: Comparison, value: object) -> bool:
    is_instant = DATA_TYPES[comparison.key] is DataType.DATETIME
    return is_instant and isinstance(value, str) and "." in value and ".000" not in value


def never(comparison: Comparison, value: object) -> bool:
    """Exclude no recipient: the caveat is about the source, or about values of other types."""
    return False


CAVEATS: Mapping[WarningCode, Callable[[Comparison, object], bool]] = {
    WarningCode.CASE_INSENSITIVE: differs_in_case,
    WarningCode.UNKNOWN_CASE_AND_SPACES: differs_in_case_or_white_space,
    WarningCode.UNKNOWN_COMPARISON: differs,
    WarningCode.UNKNOWN_NUMBER_FORM: differs_in_form,
    WarningCode.UNKNOWN_OPTION_FORM: never,
    WarningCode.NUMERIC_TEXT: are_numbers,
    WarningCode.UNKNOWN_ZERO: is_zero,
    WarningCode.NUMBER_AS_TEXT: is_number_as_text,
    WarningCode.BOOLEAN_AS_TEXT: is_boolean_as_text,
    WarningCode.NO_BOOLEAN_FIELDS: never,
    WarningCode.EMPTY_TEXT_IS_FALSE: is_empty_boolean,
    WarningCode.WHOLE_SECONDS: has_milliseconds,
    WarningCode.SECONDARY_SOURCES: never,
    WarningCode.PROGRAMMABLE_EMAIL: never,
    WarningCode.NESTED_CONDITIONS: never,
}
"""The comparisons and values that each caveat excludes."""
