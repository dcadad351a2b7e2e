"""From what the core returns to the JSON that answers."""

from __future__ import annotations

import json
from collections.abc import Iterable

from recipient_fields.application import field_document
from recipient_fields.domain import RecipientField, format_instant
from recipient_fields.domain.esp import Integration, SyncPlan

# `dumps` would make an encoder for each document.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def render_fields(fields: Iterable[RecipientField]) -> dict[str, object]:
    """The fields, in their order."""
    return {"recipient_fields": [field_document(field) for field in fields]}


def render_integration(integration: Integration) -> dict[str, object]:
    """The six members of an integration."""
    synced = integration.last_synced_at
    return {
        "id": integration.id,
        "organization_id": integration.organization_id,
        "esp": integration.esp.value,
        "name": integration.name,
        "created_at": format_instant(integration.created_at),
        "last_synced_at": None if synced is None else format_instant(synced),
    }


def render_sync(plan: SyncPlan) -> dict[str, object]:
    """What a run changed, by keys, and what it refused, by the ESP's names."""
    return {
        "created": [field.key for field in plan.created],
        "updated": [field.key for field in plan.updated],
        "removed": [field.key for field in plan.removed],
        "unchanged": plan.unchanged,
        "refused": [{"name": field.name, "reason": field.reason} for field in plan.refused],
    }


def to_json(document: object) -> bytes:
    """The document as compact UTF-8 JSON."""
    return _encode(document).encode("utf-8")
