"""Examples of what the tests store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from recipient_fields.domain import (
    API,
    Access,
    Author,
    DataType,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldName,
    KeyGrant,
    OrganizationContents,
    OrganizationId,
    PlainKey,
    RecipientField,
    grant_key,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import IntegrationDraft
from recipient_fields.testing.examples import FieldChange

NOW = datetime(2026, 11, 20, 9, 15, 0, 123_000, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
AUTHOR = Author(API, id=1, name="CI")


def a_definition(key: str = "city", **members: Any) -> FieldDefinition:
    draft = FieldDraft(**{"name": "City", "key": key, "data_type": DataType.TEXT, **members})
    return draft.define(by=API, at=NOW)


def renaming(name: str) -> FieldChange:
    changes = FieldChanges(name=FieldName(name))
    return lambda field: field.with_changes(changes, by=API, at=NOW)


def permit(_: RecipientField) -> None:
    """Permit the deletion of any field."""


def permit_organization(_: OrganizationContents) -> None:
    """Permit the deletion of any organization."""


def an_integration_draft() -> IntegrationDraft:
    return IntegrationDraft(esp=Esp.MAILCHIMP, name="Main list", created_at=NOW)


def a_grant(organization_id: OrganizationId) -> KeyGrant:
    return grant_key(
        PlainKey.generate(),
        organization_id,
        name="CI",
        access=Access.READ_WRITE,
        lifetime=None,
        at=NOW,
    )
