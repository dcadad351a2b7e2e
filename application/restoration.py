"""The restoration of a deleted field, manual or synced, by an operator or an administrator."""

from __future__ import annotations

from recipient_fields.domain import (
    Author,
    FieldId,
    HistoryQuery,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.integrations import IntegrationNotFound

from .core import Core

INTEGRATION_DELETED = "The integration of this field was deleted, so the field can't be restored."


def restore_field(
    core: Core, organization_id: OrganizationId, field_id: FieldId, *, by: Author
) -> RecipientField:
    """Restore a deleted manual field, or a field that a sync has removed, with its id.

    Raises: IntegrationNotFound, whose message says so, if the integration of the field was deleted;
    the errors of `RecipientFieldService.restore_field` and `IntegrationService.restore_fields`.
    """
    newest = HistoryQuery(descending=True, limit=1)
    page = core.fields.list_field_changes(organization_id, field_id, newest)
    integration_id = next((each.field.origin.integration_id for each in page.records), None)
    if integration_id is None:
        return core.fields.by(by).restore_field(organization_id, field_id)
    try:
        (restored,) = core.integrations.by(by).restore_fields(
            organization_id, integration_id, [field_id]
        )
    except IntegrationNotFound:
        raise IntegrationNotFound(INTEGRATION_DELETED) from None
    return restored
