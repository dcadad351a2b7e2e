"""The errors of conditions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ..errors import InvalidInput, Violation

__all__ = ["InvalidCondition", "InvalidRecipient"]

_MAX_VIOLATIONS = 1_000
"""A small condition must not cause a large message."""


class InvalidCondition(InvalidInput):
    """A condition can't be parsed, or does not fit the fields.

    If the condition was parsed from text, the messages begin with the line and the column.
    Otherwise, the paths of the violations are those of the JSON form. At most 1,000 violations are
    listed.
    """

    def __init__(self, violations: Iterable[Violation]) -> None:
        super().__init__(islice(violations, _MAX_VIOLATIONS))


class InvalidRecipient(InvalidInput):
    """A recipient has a value without a field, or of another type than the field.

    The path of a violation is the key.
    """
