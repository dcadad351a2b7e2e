"""The identifiers, as types that can't be mixed up."""

from typing import NewType

OrganizationId = NewType("OrganizationId", int)
"""1 to 2^53-1, assigned by the storage, never used again."""
FieldId = NewType("FieldId", int)
"""1 to 2^53-1, assigned by the storage, unique across organizations, never used again."""
IntegrationId = NewType("IntegrationId", int)
"""1 to 2^53-1, assigned by the storage, unique across organizations, never used again."""
ApiKeyId = NewType("ApiKeyId", int)
"""1 to 2^53-1, assigned by the storage, unique across organizations, never used again."""
