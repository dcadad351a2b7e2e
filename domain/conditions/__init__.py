"""Conditions on the values of recipients: their tree, syntax, checks and meaning."""

from .tree import AllOf, AnyOf, Comparison, Condition, Not, Operator, Position, Value

__all__ = [
    "AllOf",
    "AnyOf",
    "Comparison",
    "Condition",
    "Not",
    "Operator",
    "Position",
    "Value",
]
