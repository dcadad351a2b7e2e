"""The types of identifiers. mypy reports an id of the wrong type."""

from typing import NewType

__all__ = [
    "AdministratorId",
    "ApiKeyId",
    "FieldId",
    "IntegrationId",
    "InvitationId",
    "OrganizationId",
    "SessionId",
]

OrganizationId = NewType("OrganizationId", int)
"""1 to 2^53-1, assigned by the storage, never reused."""
FieldId = NewType("FieldId", int)
"""1 to 2^53-1, assigned by the storage, unique across organizations, never reused."""
IntegrationId = NewType("IntegrationId", int)
"""1 to 2^53-1, assigned by the storage, unique across organizations, never reused."""
ApiKeyId = NewType("ApiKeyId", int)
"""1 to 2^53-1, assigned by the storage, unique across organizations, never reused."""
AdministratorId = NewType("AdministratorId", int)
"""1 to 2^53-1, assigned by the storage, never reused. Accounts belong to no single organization."""
InvitationId = NewType("InvitationId", int)
"""1 to 2^53-1, assigned by the storage, unique across organizations, never reused."""
SessionId = NewType("SessionId", int)
"""1 to 2^53-1, assigned by the storage, never reused."""
