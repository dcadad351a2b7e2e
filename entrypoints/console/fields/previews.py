"""The previews on the page of a field: how ESPs write the field, and conditions on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, frozen

from recipient_fields.domain import DataType, IntegrationId, RecipientField
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
from recipient_fields.domain.esp import (
    DIALECTS,
    ConditionCode,
    DerivedCodes,
    Esp,
    FieldCodes,
    Integration,
    IntegrationDraft,
    NoSafeForm,
    NotExpressible,
    SetName,
    compile_condition,
    derive_codes,
)

THEN, OTHERWISE = "A", "B"
"""The texts that the code of the example conditions selects."""

_EXAMPLES: Mapping[DataType, Value] = {
    DataType.TEXT: "example",
    DataType.NUMBER: 3,
    DataType.DATE: date_literal("2026-11-20"),
    DataType.DATETIME: date_literal("2026-11-20T09:15:00Z"),
}
"""A value of each type for fields without allowed values."""


@frozen
class FieldPreview:
    """How one ESP writes a field, or the reason why it can't."""

    esp: Esp
    name: str
    is_own: bool
    """Whether this is the ESP of the field's own integration."""
    codes: DerivedCodes | None
    reason: str

    @classmethod
    def of(
        cls, esp: Esp, name: str, field: RecipientField, integration: Integration | None
    ) -> FieldPreview:
        """Return the preview for a field with this name in the ESP."""
        codes, reason = None, ""
        try:
            codes = derive_codes(esp, name, data_type=field.data_type)
        except NoSafeForm as refused:
            reason = " ".join(violation.message for violation in refused.violations)
        is_own = integration is not None and integration.esp is esp
        return cls(esp, name, is_own, codes, reason)

    @property
    def title(self) -> str:
        """The name of the ESP."""
        return DIALECTS[self.esp].title


@frozen
class ConditionPreview:
    """How one ESP writes a condition, or the reason why it can't."""

    title: str
    code: ConditionCode | None
    reason: str

    @classmethod
    def of(
        cls, condition: Condition, field: RecipientField, preview: FieldPreview
    ) -> ConditionPreview:
        """Return the preview of a condition on the field, which the ESP writes like this."""
        if preview.codes is None:
            return cls(preview.title, None, preview.reason)
        # An integration at which the field is found under this name.
        draft = IntegrationDraft(esp=preview.esp, name="Preview", created_at=field.created_at)
        integration = draft.with_id(IntegrationId(0), field.organization_id)
        names = {field.id: SetName(preview.name, custom=True)}
        integration = evolve(integration, names=names, refused_names=[preview.name])
        codes = FieldCodes.of([field], [integration])
        try:
            code = compile_condition(condition, codes, preview.esp, then=THEN, otherwise=OTHERWISE)
        except NotExpressible as refused:
            return cls(preview.title, None, str(refused))
        return cls(preview.title, code, "")


@frozen
class ConditionExample:
    """An example condition, and how ESPs write it."""

    condition: str
    previews: tuple[ConditionPreview, ...]


def condition_examples(
    field: RecipientField, previews: Iterable[FieldPreview]
) -> list[ConditionExample]:
    """Return examples for the ESPs of these previews, or only for that of a synced field."""
    shown = [each for each in previews if each.is_own or field.origin.integration_id is None]
    return [
        ConditionExample(
            format_condition(condition),
            tuple(ConditionPreview.of(condition, field, preview) for preview in shown),
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
