"""Integrations, and the fields that the last sync found at their ESPs."""

from __future__ import annotations

from recipient_fields.application import Core
from recipient_fields.domain import DataType, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, Integration, ReportedField


def add_integration(
    core: Core, organization: OrganizationId, esp: str, name: str, *fields: str | ReportedField
) -> Integration:
    """Create an integration, and sync fields if there are any. A name is that of a text field."""
    created = core.integrations.create_integration(organization, esp=Esp(esp), name=name)
    if fields:
        sync_fields(core, created, *fields)
    return created


def sync_fields(core: Core, integration: Integration, *fields: str | ReportedField) -> None:
    """Sync all fields of the integration. A name is that of a text field."""
    reported = [
        EspField(name=each, data_type=DataType.TEXT) if isinstance(each, str) else each
        for each in fields
    ]
    core.integrations.sync_fields(integration.organization_id, integration.id, reported)
