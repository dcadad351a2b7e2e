"""The rows that statements store."""

from __future__ import annotations

import json

from recipient_fields.domain import FieldDefinition, RecipientField, fold_case

from ..row_mapping import plain_values

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def field_row(field: FieldDefinition) -> dict[str, object]:
    """Return the values of a field's row by column, except the organization.

    A definition has the values of the new field, which has no id yet. The folded columns are those
    of databases that can't fold as `fold_case` does.
    """
    allowed = field.allowed_values
    row = {
        **plain_values(field),
        "folded_name": fold_case(field.name),
        "folded_esp_field_name": fold_case(field.origin.esp_field_name or "") or None,
        "allowed_values": None if allowed is None else _encode(allowed.values),
        "created_at": field.created_at,
        "updated_at": field.created_at,
        "version": 1,
    }
    if isinstance(field, RecipientField):
        row |= {"id": field.id, "updated_at": field.updated_at, "version": field.version}
    return row
