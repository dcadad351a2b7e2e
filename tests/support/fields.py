"""Fields that exist before a test."""

from __future__ import annotations

from typing import Any

from recipient_fields.application import Core
from recipient_fields.domain import (
    API,
    Author,
    Channel,
    DataType,
    FieldDraft,
    OrganizationId,
    RecipientField,
)


def add_field(
    core: Core, organization: OrganizationId, name: str, by: Channel = API, **members: Any
) -> RecipientField:
    """Create a field through a channel, by default for texts."""
    draft = FieldDraft(**{"data_type": DataType.TEXT, **members, "name": name})
    return core.fields.by(Author(by)).create_field(organization, draft)
