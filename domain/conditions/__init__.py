"""Conditions on the values of recipients: their tree, syntax, checks and meaning."""

from .checks import MAX_COMPARISONS, SUPPORTED_OPERATORS, check_condition
from .english import describe
from .errors import InvalidCondition, InvalidRecipient
from .evaluation import evaluate, read_value
from .literals import date_literal, number_literal, text_literal, to_scalar
from .syntax import MAX_DEPTH, format_condition, parse_condition
from .tree import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    LocatedViolation,
    Not,
    Operator,
    TextPosition,
    Value,
)

__all__ = [
    "MAX_COMPARISONS",
    "MAX_DEPTH",
    "SUPPORTED_OPERATORS",
    "AllOf",
    "AnyOf",
    "Comparison",
    "Condition",
    "InvalidCondition",
    "InvalidRecipient",
    "LocatedViolation",
    "Not",
    "Operator",
    "TextPosition",
    "Value",
    "check_condition",
    "date_literal",
    "describe",
    "evaluate",
    "format_condition",
    "number_literal",
    "parse_condition",
    "read_value",
    "text_literal",
    "to_scalar",
]
