"""Conversions between values of the domain and columns of PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from recipient_fields.domain import FIELD_MEMBERS, AllowedValues, IntegrationId

FIELD_TYPES: Mapping[str, str] = {
    **{each.name: "text" for each in FIELD_MEMBERS if each.name != "id"},
    **{each.name: "boolean" for each in FIELD_MEMBERS if each.kind is bool},
    **{each.name: "bigint" for each in FIELD_MEMBERS if each.kind in {IntegrationId, datetime}},
    "folded_name": "text",
    "folded_esp_field_name": "text",
    "version": "bigint",
}
"""The type in which a statement gets the value of each column of a field, except both ids.

Times are milliseconds since 1970, allowed values are JSON as text.
"""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def milliseconds(time: str) -> str:
    """Return the SQL expression of a time as milliseconds since 1970."""
    return f"(extract(epoch FROM {time}) * 1000)::bigint"


def stored_expression(column: str, value: str) -> str:
    """Return the SQL expression that converts a value of FIELD_TYPES to what the column stores."""
    if column == "allowed_values":
        return f"{value}::json"
    if column in {"created_at", "updated_at"}:
        return f"to_timestamp({value} / 1000.0)"
    return value


def optional_json(allowed: AllowedValues | None) -> str | None:
    """Return the allowed values as JSON text, which distinguishes 1 from 1.0, or None for NULL."""
    return None if allowed is None else _encode(allowed.values)
