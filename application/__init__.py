"""The use cases, and the ports that they need."""

from .administration import AUDIT, AdministrationService, IssuedKey
from .clock import system_clock
from .copying import CopiedRecords, CopyFailed, CopyProgress, StorageRole, copy_storage
from .core import Core
from .driving_ports import RecipientFields
from .extras import MissingExtra
from .integrations import IntegrationService
from .key_validation import StoredKeyValidator
from .ports import (
    ApiKeyRepository,
    Clock,
    EspFieldSource,
    FieldChange,
    FieldCheck,
    FieldRepository,
    IntegrationCheck,
    IntegrationRepository,
    KeyChange,
    KeySuccession,
    KeyValidator,
    OrganizationCheck,
    OrganizationRepository,
    Pooled,
    Storage,
    SyncPlanner,
    Transferable,
)
from .publication import PublishedCatalog, field_document, published
from .recipient_fields import DEFAULT_FIELD_LIMIT, RecipientFieldService
from .snapshots import OrganizationRecord, Records, Snapshot

__all__ = [
    "AUDIT",
    "DEFAULT_FIELD_LIMIT",
    "AdministrationService",
    "ApiKeyRepository",
    "Clock",
    "CopiedRecords",
    "CopyFailed",
    "CopyProgress",
    "Core",
    "EspFieldSource",
    "FieldChange",
    "FieldCheck",
    "FieldRepository",
    "IntegrationCheck",
    "IntegrationRepository",
    "IntegrationService",
    "IssuedKey",
    "KeyChange",
    "KeySuccession",
    "KeyValidator",
    "MissingExtra",
    "OrganizationCheck",
    "OrganizationRecord",
    "OrganizationRepository",
    "Pooled",
    "PublishedCatalog",
    "RecipientFieldService",
    "RecipientFields",
    "Records",
    "Snapshot",
    "Storage",
    "StorageRole",
    "StoredKeyValidator",
    "SyncPlanner",
    "Transferable",
    "copy_storage",
    "field_document",
    "published",
    "system_clock",
]
