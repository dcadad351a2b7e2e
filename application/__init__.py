"""The use cases, and the ports that they need."""

from .accounts.administration import AdministrationService, IssuedKey
from .accounts.administrators import AdministratorService, IssuedInvitation, IssuedLink, SignedIn
from .accounts.audit import AUDIT, OPERATOR, OPERATOR_AUTHOR
from .accounts.key_validation import StoredKeyValidator
from .clock import system_clock
from .copying import CopiedRecords, CopyFailed, CopyProgress, StorageRole, copy_storage
from .core import Core
from .documents.conversion import InvalidDocument
from .documents.strict_json import NotJson, TooManyValues
from .environment import CredentialsNotPermitted, MissingCredentials, UnusableCredentials
from .esp.code import EspCodeService, Target, TargetFields
from .esp.code_documents import ConditionCompilation, ContentExport
from .esp.integrations import IntegrationService, Removal
from .extras import MissingExtra
from .fields.documents import ActorDocument, FieldDocument, HistoryRecordDocument, render_field
from .fields.history_limits import DEFAULT_HISTORY_LIMIT, HistoryLimits
from .fields.publication import PublishedCatalog, published
from .ports.administrators import AdministratorRepository, AdministratorsCheck
from .ports.clock import Clock
from .ports.driving import RecipientFields
from .ports.fields import CatalogPlanner, FieldCreator, FieldRepository
from .ports.history import HistoryRepository
from .ports.integrations import EspFieldSource, IntegrationCheck, IntegrationRepository, SyncPlanner
from .ports.keys import ApiKeyRepository, KeyChange, KeySuccession, KeyValidator
from .ports.organizations import OrganizationCheck, OrganizationRepository
from .ports.sessions import PasswordHasher, SessionRepository
from .ports.storage import CallingThreadStorage, Pooled, Storage, Transferable
from .recipient_fields import (
    DEFAULT_CATALOG_SIZE,
    DEFAULT_FIELD_LIMIT,
    RecipientFieldService,
)
from .snapshots import OrganizationRecord, Records, Snapshot

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
