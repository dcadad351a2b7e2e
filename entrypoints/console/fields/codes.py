"""The codes of a field at each integration and ESP: for content, and in example conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from attrs import frozen

from recipient_fields.application.content.content import find_support
from recipient_fields.domain import DataType, RecipientField
from recipient_fields.domain.conditions import (
    SUPPORTED_OPERATORS,
    Comparison,
    Condition,
    Not,
    Operator,
    Value,
    date_literal,
    format_condition,
)
from recipient_fields.domain.content import WarningCode
from recipient_fields.domain.esp import ConditionCode, EspName, FieldCode, NameFrom, NameState
from recipient_fields.domain.integrations import FieldCodes, Integration


class ShownState(Enum):
    """A state as a word, the tone of its badge, and its icon."""

    label: str
    tone: str
    icon: str

    FOUND = "Found", "ok", "check"
    AMBIGUOUS = "Ambiguous", "warn", "question"
    MISSING = "Missing", "warn", "warning"
    ASSUMED = "Assumed", "", "question"
    NONE = "No name", "warn", "warning"
    OWN = "Own code", "ok", "check"

    def __init__(self, label: str, tone: str, icon: str) -> None:
        self.label = label
        self.tone = tone
        self.icon = icon


_STATES: Mapping[NameState | None, ShownState] = {
    NameState.FOUND: ShownState.FOUND,
    NameState.AMBIGUOUS: ShownState.AMBIGUOUS,
    NameState.MISSING: ShownState.MISSING,
    NameState.UNKNOWN: ShownState.ASSUMED,
    None: ShownState.OWN,
}


def shown_state(name: EspName | None) -> ShownState:
    """Return the state of an ESP name as pages show it. None means that there is no name."""
    return ShownState.NONE if name is None else _STATES[name.state]


@frozen(kw_only=True)
class CodeRow:
    """The codes of a field at one integration, or at an ESP without one."""

    code: FieldCode
    title: str
    integration: Integration | None

    @property
    def state(self) -> ShownState:
        """The state of the name, as pages show it."""
        if self.code.name_from is NameFrom.FIELD:
            return ShownState.OWN
        return shown_state(self.code.esp_name)

    @property
    def advice(self) -> str:
        """What helps if the name is not certain, or an empty text."""
        name = self.code.esp_name
        if name is None or self.integration is None or self.code.name_from is NameFrom.FIELD:
            return ""
        if self.code.similar_names:
            return self.code.describe()
        if name.state is NameState.MISSING:
            creation = self.code.explain_creation()
            return f"The last sync found no field {name.name}. {creation} Then sync again."
        if name.state is NameState.UNKNOWN and self.integration.last_synced_at is None:
            return "The integration was never synced, so this name is assumed. Sync it."
        if name.state is NameState.UNKNOWN:
            return f"The API of {self.title} does not list every field, so this name is assumed."
        return ""


def code_rows(codes: FieldCodes, field: RecipientField) -> tuple[list[CodeRow], list[CodeRow]]:
    """Return the rows of the integrations, and those of the ESPs without an integration."""
    connected: list[CodeRow] = []
    others: list[CodeRow] = []
    for code in codes.list_codes(field):
        integration = None
        if code.integration_id is not None:
            integration = codes.names.integrations[code.integration_id]
        row = CodeRow(code=code, title=code.profile.title, integration=integration)
        (others if integration is None else connected).append(row)
    return connected, others


THEN, OTHERWISE = "A", "B"
"""The texts that the code of the example conditions selects."""

_ABOUT_NAMES = {WarningCode.ASSUMED_NAME, WarningCode.MISSING_NAME, WarningCode.UNKNOWN_NAME}

_EXAMPLES: Mapping[DataType, Value] = {
    DataType.TEXT: "example",
    DataType.NUMBER: 3,
    DataType.DATE: date_literal("2026-11-20"),
    DataType.DATETIME: date_literal("2026-11-20T09:15:00Z"),
}
"""A value of each type for fields without allowed values."""


@frozen
class ConditionPreview:
    """How one integration or ESP writes a condition, or the reason why it can't."""

    title: str
    name: str
    """The name of the integration, or an empty text."""
    code: ConditionCode | None
    reason: str

    @property
    def caveats(self) -> str:
        """The caveats of the code, without those about names: another table shows their states."""
        warnings = () if self.code is None else self.code.warnings
        return " ".join(each.message for each in warnings if each.code not in _ABOUT_NAMES)

    @classmethod
    def of(cls, condition: Condition, codes: FieldCodes, row: CodeRow) -> ConditionPreview:
        """Return the preview of the condition at the integration or the ESP of the row."""
        name = "" if row.integration is None else row.integration.name
        target = row.code.esp if row.integration is None else row.integration.id
        support = find_support(
            condition, codes, target, then=THEN, otherwise=OTHERWISE, strict=False
        )
        return cls(row.title, name, support.code, support.refusal or "")


@frozen
class ConditionExample:
    """An example condition, and how integrations or ESPs write it."""

    condition: str
    previews: tuple[ConditionPreview, ...]


def condition_examples(
    field: RecipientField, codes: FieldCodes, rows: Iterable[CodeRow]
) -> list[ConditionExample]:
    """Return examples for the integrations or the ESPs of these rows."""
    rows = tuple(rows)
    return [
        ConditionExample(
            format_condition(condition),
            tuple(ConditionPreview.of(condition, codes, row) for row in rows),
        )
        for condition in example_conditions(field)
    ]


def example_conditions(field: RecipientField) -> tuple[Condition, Condition]:
    """Return two conditions on the field that its type and its allowed values permit."""
    key = str(field.key)
    if field.data_type is DataType.BOOLEAN:
        is_true = Comparison(key, Operator.IS_TRUE)
        return is_true, Not(is_true)
    has_order = Operator.AT_LEAST in SUPPORTED_OPERATORS[field.data_type]
    operator = Operator.AT_LEAST if has_order else Operator.EQUAL
    return Comparison(key, operator, _example(field)), Comparison(key, Operator.IS_SET)


def _example(field: RecipientField) -> Value:
    """Return the first allowed value, or a value of the field's type."""
    if field.allowed_values is None:
        return _EXAMPLES[field.data_type]
    value = field.allowed_values.values[0]
    is_date = field.data_type in {DataType.DATE, DataType.DATETIME}
    return date_literal(str(value)) if is_date else value
