"""What these tests store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from recipient_fields.application import FieldChange
from recipient_fields.domain import (
    API,
    Access,
    DataType,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldName,
    KeyGrant,
    OrganizationId,
    PlainKey,
    RecipientField,
    grant_key,
)

NOW = datetime(2026, 11, 20, 9, 15, 0, 123_000, tzinfo=UTC)


def a_definition(key: str = "city", **members: Any) -> FieldDefinition:
    draft = FieldDraft(**{"name": "City", "key": key, "data_type": DataType.TEXT, **members})
    return draft.defined(by=API, at=NOW)


def renaming(name: str) -> FieldChange:
    changes = FieldChanges(name=FieldName(name))
    return lambda field: field.revised(changes, by=API, at=NOW)


def permit(_: RecipientField) -> None:
    """The check that lets every field go."""


def a_grant(organization_id: OrganizationId) -> KeyGrant:
    return grant_key(
        PlainKey.generate(),
        organization_id,
        name="CI",
        access=Access.READ_WRITE,
        lifetime=None,
        at=NOW,
    )
