"""The documents of integrations, of the fields at their ESPs and of sync runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from attrs import field, frozen

from recipient_fields.domain import FieldId, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp, EspName
from recipient_fields.domain.integrations import (
    EspField,
    Integration,
    NamedField,
    NameMatch,
    SetName,
    SyncPlan,
)

from ..documents.conversion import parse_document
from ..documents.schemas import described, render_document


@frozen(kw_only=True)
class SetNameDocument:
    """The ESP name that was set for a field. The field can be a deleted one."""

    field_id: FieldId
    esp_field_name: str
    custom: bool = field(
        metadata=described(
            "Whether it is a custom field, although the ESP has a standard field with this name."
        )
    )


@frozen(kw_only=True)
class IntegrationDocument:
    """A connection to an account of an ESP. Tolerate additional members."""

    id: IntegrationId
    name: str
    esp: Esp
    last_synced_at: datetime | None = field(
        metadata=described("When the last successful sync began. null if there was none.")
    )
    created_at: datetime
    names: Sequence[SetNameDocument] = field(
        metadata=described("The ESP names that were set, ordered by the ids of the fields.")
    )
    refused_names: Sequence[str] = field(
        metadata=described("The names of the fields that the last sync refused, sorted.")
    )

    @classmethod
    def of(cls, integration: Integration) -> IntegrationDocument:
        """Return the document of the integration."""
        return cls(
            id=integration.id,
            name=integration.name,
            esp=integration.esp,
            last_synced_at=integration.last_synced_at,
            created_at=integration.created_at,
            names=tuple(
                SetNameDocument(field_id=field_id, esp_field_name=each.name, custom=each.custom)
                for field_id, each in integration.names.items()
            ),
            refused_names=tuple(sorted(integration.refused_names)),
        )

    def to_integration(self, organization_id: OrganizationId) -> Integration:
        """Return the integration. Raises: InvalidIntegration if its name is invalid."""
        return Integration(
            id=self.id,
            organization_id=organization_id,
            esp=self.esp,
            name=self.name,
            created_at=self.created_at,
            last_synced_at=self.last_synced_at,
            refused_names=frozenset(self.refused_names),
            names={each.field_id: SetName(each.esp_field_name, each.custom) for each in self.names},
        )


@frozen
class IntegrationListDocument:
    """The response with all integrations."""

    integrations: Sequence[IntegrationDocument]


_LISTED = ("id", "organization_id", "esp", "name", "created_at", "last_synced_at")
"""The members that commands list."""


@frozen
class _Report:
    fields: list[EspField]


def parse_report(document: object) -> tuple[EspField, ...]:
    """Return the fields of `{"fields": [{"name", "data_type", "label", …}]}`.

    The members are those of EspField. Raises: InvalidDocument.
    """
    return tuple(parse_document(document, _Report).fields)


def render_integration(integration: Integration) -> dict[str, object]:
    """Return the members of an integration without its names, and the id of its organization."""
    members = render_document(IntegrationDocument.of(integration))
    members["organization_id"] = integration.organization_id
    return {name: members[name] for name in _LISTED}


def render_integrations(integrations: Iterable[Integration]) -> dict[str, object]:
    """Return the document of a list, in the given order."""
    documents = tuple(map(IntegrationDocument.of, integrations))
    return render_document(IntegrationListDocument(documents))


def render_matches(matches: Iterable[NameMatch]) -> dict[str, object]:
    """Return the document of the proposals, in their order."""
    return {
        "matches": [
            {
                "key": each.field.key,
                "esp_field_name": None if each.esp_name is None else each.esp_name.name,
                "reason": each.reason.name.lower(),
                "creation": each.creation,
            }
            for each in matches
        ]
    }


def render_sync(plan: SyncPlan) -> dict[str, object]:
    """Return the keys of the fields that a sync run changes, and what it says about other fields.

    `linked` has the new fields for which another field stands, `created` the others. What it says
    are the fields that it refuses, the ESP names that change, also by their state alone, and the
    caveats.
    """
    return {
        "linked": [
            {
                "key": link.definition.key,
                "esp_field_name": link.counterpart.origin.esp_field_name,
                "counterpart": link.counterpart.key,
            }
            for link in plan.links
        ],
        "created": [field.key for field in plan.standalone],
        "updated": [field.key for field in plan.updated],
        "removed": [field.key for field in plan.removed],
        "unchanged": plan.unchanged,
        "refused": [{"name": field.name, "reason": field.reason} for field in plan.refused],
        "name_changes": [
            {
                "key": change.field.key,
                "integration_id": change.field.integration.id,
                "before": _render_name(change.before),
                "after": _render_name(change.after),
            }
            for change in plan.name_changes
        ],
        "caveats": [{"name": each.name, "message": each.message} for each in plan.caveats],
    }


def _render_name(named: NamedField[EspName] | None) -> dict[str, object] | None:
    if named is None:
        return None
    name = named.esp_name
    return {
        "esp_field_name": name.name,
        "name_from": name.name_from.value,
        "state": None if name.state is None else name.state.value,
    }
