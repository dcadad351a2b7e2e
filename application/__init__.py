"""The use cases, and the ports that they need."""

from .administration import AdministrationService, IssuedKey
from .administrators import AdministratorService, IssuedInvitation, IssuedLink, SignedIn
from .audit import AUDIT, OPERATOR, OPERATOR_AUTHOR
from .clock import system_clock
from .conversion import InvalidDocument
from .copying import CopiedRecords, CopyFailed, CopyProgress, StorageRole, copy_storage
from .core import Core
from .documents import ActorDocument, FieldDocument, HistoryRecordDocument, render_field
from .driving_ports import RecipientFields
from .environment import CredentialsNotPermitted, MissingCredentials, UnusableCredentials
from .esp_code import EspCodeService, Target, TargetFields
from .esp_code_documents import ConditionCompilation, ContentExport
from .extras import MissingExtra
from .history_limits import DEFAULT_HISTORY_LIMIT, HistoryLimits
from .integrations import IntegrationService, Removal
from .key_validation import StoredKeyValidator
from .ports import (
    AdministratorRepository,
    AdministratorsCheck,
    ApiKeyRepository,
    CallingThreadStorage,
    CatalogPlanner,
    Clock,
    EspFieldSource,
    FieldCreator,
    FieldRepository,
    HistoryRepository,
    IntegrationCheck,
    IntegrationRepository,
    KeyChange,
    KeySuccession,
    KeyValidator,
    OrganizationCheck,
    OrganizationRepository,
    PasswordHasher,
    Pooled,
    SessionRepository,
    Storage,
    SyncPlanner,
    Transferable,
)
from .publication import PublishedCatalog, published
from .recipient_fields import (
    DEFAULT_CATALOG_SIZE,
    DEFAULT_FIELD_LIMIT,
    RecipientFieldService,
)
from .snapshots import OrganizationRecord, Records, Snapshot
from .strict_json import NotJson, TooManyValues

__all__ = [
    "AUDIT",
    "DEFAULT_CATALOG_SIZE",
    "DEFAULT_FIELD_LIMIT",
    "DEFAULT_HISTORY_LIMIT",
    "OPERATOR",
    "OPERATOR_AUTHOR",
    "ActorDocument",
    "AdministrationService",
    "AdministratorRepository",
    "AdministratorService",
    "AdministratorsCheck",
    "ApiKeyRepository",
    "CallingThreadStorage",
    "CatalogPlanner",
    "Clock",
    "ConditionCompilation",
    "ContentExport",
    "CopiedRecords",
    "CopyFailed",
    "CopyProgress",
    "Core",
    "CredentialsNotPermitted",
    "EspCodeService",
    "EspFieldSource",
    "FieldCreator",
    "FieldDocument",
    "FieldRepository",
    "HistoryLimits",
    "HistoryRecordDocument",
    "HistoryRepository",
    "IntegrationCheck",
    "IntegrationRepository",
    "IntegrationService",
    "InvalidDocument",
    "IssuedInvitation",
    "IssuedKey",
    "IssuedLink",
    "KeyChange",
    "KeySuccession",
    "KeyValidator",
    "MissingCredentials",
    "MissingExtra",
    "NotJson",
    "OrganizationCheck",
    "OrganizationRecord",
    "OrganizationRepository",
    "PasswordHasher",
    "Pooled",
    "PublishedCatalog",
    "RecipientFieldService",
    "RecipientFields",
    "Records",
    "Removal",
    "SessionRepository",
    "SignedIn",
    "Snapshot",
    "Storage",
    "StorageRole",
    "StoredKeyValidator",
    "SyncPlanner",
    "Target",
    "TargetFields",
    "TooManyValues",
    "Transferable",
    "UnusableCredentials",
    "copy_storage",
    "published",
    "render_field",
    "system_clock",
]
