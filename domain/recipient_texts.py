"""The data of recipients as texts, such as the cells of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from attrs import field, frozen

from .errors import Rule, Violation
from .recipients import CheckedRecipient, RecipientSchema
from .values import DataType

DecimalMark: TypeAlias = Literal[".", ","]
"""The character before the decimals of a number."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,399})(\.[0-9]{1,399})?([eE][-+]?[0-9]{1,3})?")
"""Matches the numbers of JSON. No finite number needs more digits."""
_BOOLEANS = {"true": True, "false": False}


@frozen
class RecipientTexts:
    """Checks values that are texts. An empty text is a value that is not set.

    Numbers are written as in JSON, with the decimal mark. Booleans are `true` and `false`, in any
    case. The values of the other types are texts.
    """

    schema: RecipientSchema
    decimal_mark: DecimalMark = "."
    _conversions: Mapping[str, Callable[[str], object]] = field(init=False, eq=False, repr=False)

    @_conversions.default
    def _conversions_by_key(self) -> Mapping[str, Callable[[str], object]]:
        functions = {
            DataType.NUMBER: _decimal_point if self.decimal_mark == "." else _decimal_comma,
            DataType.BOOLEAN: _boolean,
        }
        return {
            key: functions[each.data_type]
            for key, each in self.schema.fields.items()
            if each.data_type in functions
        }

    def check(self, texts: Mapping[str, str], *, suggest: bool = True) -> CheckedRecipient:
        """Convert each text to the type of its field, and check the values.

        A text that can't be converted is a violation. `suggest` is the argument of
        `RecipientSchema.check`.
        """
        conversions = self._conversions
        values: dict[str, object] = {}
        violations: list[Violation] = []
        for key, text in texts.items():
            if not text:
                continue
            convert = conversions.get(key)
            if convert is None:
                values[key] = text
                continue
            value = convert(text)
            if isinstance(value, Violation):
                violations.append(value.prefixed(key))
            else:
                values[key] = value
        checked = self.schema.check(values, suggest=suggest)
        if not violations:
            return checked
        return CheckedRecipient(checked.values, (*violations, *checked.violations))


def _decimal_point(text: str) -> object:
    return _number(text, "Write a number like 1234.5.")


def _decimal_comma(text: str) -> object:
    return _number(text.translate(_SWAPPED_MARKS), "Write a number like 1234,5.")


def _boolean(text: str) -> object:
    value = _BOOLEANS.get(text.lower())
    return Violation(Rule.TYPE, "Write true or false.") if value is None else value


def _number(text: str, message: str) -> object:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return Violation(Rule.TYPE, message)
    return int(text) if match.lastindex is None else float(text)


_SWAPPED_MARKS = str.maketrans(",.", ".,")
