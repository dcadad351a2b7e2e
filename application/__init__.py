"""The use cases, and the ports that they need."""

from .administration import AUDIT, AdministrationService, IssuedKey
from .clock import system_clock
from .conversion import InvalidDocument
from .copying import CopiedRecords, CopyFailed, CopyProgress, StorageRole, copy_storage
from .core import Core
from .documents import FieldDocument, render_field
from .driving_ports import RecipientFields
from .environment import MissingCredentials, UnusableCredentials
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
from .publication import PublishedCatalog, published
from .recipient_fields import DEFAULT_FIELD_LIMIT, RecipientFieldService
from .snapshots import OrganizationRecord, Records, Snapshot
from .strict_json import NotJson, TooManyValues

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
    "FieldDocument",
    "FieldRepository",
    "IntegrationCheck",
    "IntegrationRepository",
    "IntegrationService",
    "InvalidDocument",
    "IssuedKey",
    "KeyChange",
    "KeySuccession",
    "KeyValidator",
    "MissingCredentials",
    "MissingExtra",
    "NotJson",
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
    "TooManyValues",
    "Transferable",
    "UnusableCredentials",
    "copy_storage",
    "published",
    "render_field",
    "system_clock",
]
