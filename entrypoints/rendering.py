"""From fields to the JSON that answers."""

from __future__ import annotations

import json
from collections.abc import Iterable

from recipient_fields.domain import RecipientField, format_instant


def render_field(field: RecipientField) -> dict[str, object]:
    """The 13 members of a field, always all of them (HTTP contract, section 2)."""
    return {
        "id": field.id,
        "name": field.name,
        "key": field.key,
        "data_type": field.data_type.value,
        "allowed_values": None if field.allowed_values is None else field.allowed_values.values,
        "insertable": field.insertable,
        "source": field.origin.source.value,
        "integration_id": field.origin.integration_id,
        "esp_field_name": field.origin.esp_field_name,
        "custom_insertion_code": field.custom_insertion_code,
        "custom_value_expression": field.custom_value_expression,
        "created_at": format_instant(field.created_at),
        "updated_at": format_instant(field.updated_at),
    }


def render_fields(fields: Iterable[RecipientField]) -> dict[str, object]:
    """The fields, in their order."""
    return {"recipient_fields": [render_field(field) for field in fields]}


def to_json(document: object) -> bytes:
    """The document as compact UTF-8 JSON."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8"
    )
