"""The details of an ESP's field, which content does not need: its label and its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..errors import InvalidField, Rule, Violation
from ..fields.values import AllowedValues, DataType, FieldName
from ..text import clean_line, normalize_nfc, to_line

_Sentences: TypeAlias = Sequence[str]

_WITHOUT_VALUES = "It is synced without allowed values."
_MAX_REASONS = 5
_MAX_SHOWN = 60
"""Characters of a choice or a name in a sentence."""
_DECOMPOSED = Violation(
    Rule.FORMAT, "Write each accented letter as one character, as in Unicode NFC."
)
_NO_TEXT = Violation(Rule.TYPE, "It is not a text.")


def find_name(label: str | None, esp_field_name: str) -> tuple[FieldName, _Sentences]:
    """Return the name of a field with this label, and why it is not the label, if it is not."""
    try:
        return FieldName((label or "").strip() or esp_field_name), ()
    except InvalidField as invalid:
        name = FieldName(clean_line(label or "") or esp_field_name)
        return name, [f"Its label is stored as {_quoted(name)}. {invalid}"]


def find_allowed_values(
    data_type: DataType, choices: Sequence[object] | None
) -> tuple[AllowedValues | None, _Sentences]:
    """Return the allowed values of a field with these choices, and what is left out, and why.

    An empty choice means that the value is not set, so it is no allowed value. If another choice
    can't be one, there are none, because a shorter list would reject values that recipients have.
    """
    if choices is None:
        return None, ()
    if isinstance(choices, str):  # It is a sequence of characters, but not a list of choices.
        return None, [f"{_WITHOUT_VALUES} Its choices are not a list."]
    numbered = {number: choice for number, choice in enumerate(choices, start=1) if choice != ""}
    empty = [number for number, choice in enumerate(choices, start=1) if choice == ""]
    sentences = [f"Choice {each} is empty: it means that no value is set." for each in empty[:1]]
    if not numbered:
        return None, sentences
    try:
        return _require_allowed(data_type, numbered), sentences
    except InvalidField as invalid:
        reasons = [_describe(each, choices) for each in invalid.violations[:_MAX_REASONS]]
        more = len(invalid.violations) - len(reasons)
        reasons += [f"There are {more:,} more invalid choices."] if more else []
        return None, [" ".join((_WITHOUT_VALUES, *reasons)), *sentences]


def _require_allowed(data_type: DataType, choices: Mapping[int, object]) -> AllowedValues:
    """Return the choices as allowed values.

    Raises: InvalidField if a choice is none. Its path is the number of the choice.
    """
    if data_type is DataType.TEXT:
        reasons = {number: _text_violation(choice) for number, choice in choices.items()}
        unusable = [each.prefixed(number) for number, each in reasons.items() if each is not None]
        if unusable:
            raise InvalidField(unusable)
    try:
        return AllowedValues(data_type, list(choices.values())).require_size()
    except InvalidField as invalid:
        numbers = list(choices)
        raise InvalidField(
            Violation(each.rule, each.message, (numbers[int(each.path[0])],)) if each.path else each
            for each in invalid.violations
        ) from None


def _text_violation(choice: object) -> Violation | None:
    if not isinstance(choice, str):
        return _NO_TEXT
    return _DECOMPOSED if choice != normalize_nfc(choice) else None


def _describe(violation: Violation, choices: Sequence[object]) -> str:
    if not violation.path:
        return f"It has {len(choices):,} choices. {violation.message}"
    number = int(violation.path[0])
    choice = choices[number - 1]
    shown = f", {_quoted(choice)}" if isinstance(choice, str) else ""
    return f"Choice {number}{shown}: {violation.message}"


def _quoted(text: str) -> str:
    return f'"{to_line(text, max_length=_MAX_SHOWN)}"'
