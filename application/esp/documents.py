"""The documents of integrations, of the fields at their ESPs and of sync runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from attrs import field, frozen

from recipient_fields.domain import IntegrationId, format_instant
from recipient_fields.domain.esp import Esp, EspField, EspName, Integration, SyncPlan

from ..documents.conversion import parse_document
from ..documents.schemas import described, render_document


@frozen(kw_only=True)
class IntegrationDocument:
    """A connection to an account of an ESP. Tolerate additional members."""

    id: IntegrationId
    name: str
    esp: Esp
    last_synced_at: datetime | None = field(
        metadata=described("When the last successful sync began. null if there was none.")
    )


@frozen
class IntegrationListDocument:
    """The response with all integrations."""

    integrations: Sequence[IntegrationDocument]


@frozen
class _Report:
    fields: list[EspField]


def parse_report(document: object) -> tuple[EspField, ...]:
    """Return the fields of `{"fields": [{"name", "data_type", "label", …}]}`.

    The members are those of EspField. Raises: InvalidDocument.
    """
    return tuple(parse_document(document, _Report).fields)


def render_integration(integration: Integration) -> dict[str, object]:
    """Return the six members of an integration."""
    synced = integration.last_synced_at
    return {
        "id": integration.id,
        "organization_id": integration.organization_id,
        "esp": integration.esp.value,
        "name": integration.name,
        "created_at": format_instant(integration.created_at),
        "last_synced_at": None if synced is None else format_instant(synced),
    }


def render_integrations(integrations: Iterable[Integration]) -> dict[str, object]:
    """Return the document of a list, in the given order."""
    documents = tuple(
        IntegrationDocument(
            id=each.id, name=each.name, esp=each.esp, last_synced_at=each.last_synced_at
        )
        for each in integrations
    )
    return render_document(IntegrationListDocument(documents))


def render_sync(plan: SyncPlan) -> dict[str, object]:
    """Return the keys of the fields that a sync run changes, and what it says about other fields.

    These are the fields that it refuses, the ESP names that change, also by their state alone, and
    the caveats.
    """
    return {
        "created": [field.key for field in plan.created],
        "updated": [field.key for field in plan.updated],
        "removed": [field.key for field in plan.removed],
        "unchanged": plan.unchanged,
        "refused": [{"name": field.name, "reason": field.reason} for field in plan.refused],
        "name_changes": [
            {
                "key": change.field.key,
                "integration_id": change.integration_id,
                "before": _render_esp_name(change.before),
                "after": _render_esp_name(change.after),
            }
            for change in plan.name_changes
        ],
        "caveats": [{"name": each.name, "message": each.message} for each in plan.caveats],
    }


def _render_esp_name(name: EspName | None) -> dict[str, object] | None:
    if name is None:
        return None
    return {
        "esp_field_name": name.name,
        "name_from": name.name_from.value,
        "state": None if name.state is None else name.state.value,
    }
