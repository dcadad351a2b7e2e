"""The use cases, and the ports they need. Imports the domain and attrs alone."""

from .administration import AdministrationService, IssuedKey
from .key_validation import StoredKeyValidator
from .ports import (
    ApiKeyRepository,
    Clock,
    FieldChange,
    FieldCheck,
    FieldRepository,
    KeyChange,
    KeySuccession,
    KeyValidator,
    OrganizationRepository,
    Storage,
)
from .recipient_fields import DEFAULT_FIELD_LIMIT, RecipientFieldService

__all__ = [
    "DEFAULT_FIELD_LIMIT",
    "AdministrationService",
    "ApiKeyRepository",
    "Clock",
    "FieldChange",
    "FieldCheck",
    "FieldRepository",
    "IssuedKey",
    "KeyChange",
    "KeySuccession",
    "KeyValidator",
    "OrganizationRepository",
    "RecipientFieldService",
    "Storage",
    "StoredKeyValidator",
]
