"""The data of recipients as texts, such as the cells of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from attrs import field, frozen

from .errors import Rule, Violation
from .recipients import CheckedRecipient, RecipientSchema, ValueCheck, value_check
from .values import DataType, canonical_function, canonical_number

DecimalMark: TypeAlias = Literal[".", ","]
"""The character before the decimals of a number."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,399})(\.[0-9]{1,399})?([eE][-+]?[0-9]{1,3})?")
"""Matches the numbers of JSON. No finite number needs more digits."""
_SWAPPED_MARKS = str.maketrans(",.", ".,")
_BOOLEANS = {"true": True, "false": False}
_NOT_DECIMAL_POINT = Violation(Rule.TYPE, "Write a number like 1234.5.")
_NOT_DECIMAL_COMMA = Violation(Rule.TYPE, "Write a number like 1234,5.")
_NOT_BOOLEAN = Violation(Rule.TYPE, "Write true or false.")


@frozen
class RecipientTexts:
    """A check of values that are texts. An empty text means that the value is not set.

    Numbers are written as in JSON, with the decimal mark. Booleans are `true` and `false`, in any
    case. The values of the other types are texts.
    """

    schema: RecipientSchema
    decimal_mark: DecimalMark = "."
    _checks: Mapping[str, ValueCheck[str]] = field(init=False, eq=False, repr=False)

    @_checks.default
    def _checks_by_key(self) -> Mapping[str, ValueCheck[str]]:
        conversions: Mapping[DataType, ValueCheck[str]] = {
            DataType.NUMBER: _decimal_point if self.decimal_mark == "." else _decimal_comma,
            DataType.BOOLEAN: _boolean,
        }
        return {
            key: value_check(
                each, conversions.get(each.data_type) or canonical_function(each.data_type)
            )
            for key, each in self.schema.fields.items()
        }

    def check(self, texts: Mapping[str, str], *, suggest: bool = True) -> CheckedRecipient:
        """Convert each text to the type of its field, check the values, and return the result.

        A text that can't be converted is a violation. `suggest` is the argument of
        `RecipientSchema.check`.
        """
        present = {key: text for key, text in texts.items() if text}
        return self.schema.apply(self._checks, present, suggest=suggest)

    def check_for(self, key: str) -> ValueCheck[str]:
        """Return the check for the texts of this key that are not empty."""
        return self._checks.get(key, self.schema.check_unknown)


def _decimal_point(text: str) -> object:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return _NOT_DECIMAL_POINT
    return canonical_number(int(text) if match.lastindex is None else float(text))


def _decimal_comma(text: str) -> object:
    number = _decimal_point(text.translate(_SWAPPED_MARKS))
    return _NOT_DECIMAL_COMMA if number is _NOT_DECIMAL_POINT else number


def _boolean(text: str) -> object:
    return _BOOLEANS.get(text.lower(), _NOT_BOOLEAN)
