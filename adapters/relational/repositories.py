"""The tables of a database, and the repositories over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from attrs import frozen

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    EspCredentialRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRecord,
    OrganizationRepository,
    SessionRepository,
)
from recipient_fields.domain import Administrator, ApiKey, HistoryRecord, RecipientField
from recipient_fields.domain.integrations import Integration

from ..row_mapping import (
    administrator_values,
    api_key_values,
    field_values,
    integration_values,
    membership_values,
    organization_values,
    read_field,
    read_record,
    record_values,
)
from .administrators import RelationalAdministratorRepository, read_administrator
from .api_keys import RelationalApiKeyRepository, read_api_key
from .database import Database, Row, Values
from .fields import RelationalFieldRepository
from .history import RelationalHistoryRepository
from .integrations import (
    RelationalEspCredentialRepository,
    RelationalIntegrationRepository,
    read_integration,
)
from .organizations import RelationalOrganizationRepository, read_organization_record
from .sessions import RelationalSessionRepository
from .statements import SQL, NamedStatement, Statement

T = TypeVar("T")


@frozen
class Table(Statement, Generic[T]):
    """A table, and the conversion of its rows to objects of the domain.

    As a statement, it selects all rows.
    """

    name: str
    columns: NamedStatement
    """The columns of a row for `read`."""
    read: Callable[[Row], T]
    values: Callable[[T], Values]
    """Return the values of a row by column."""
    details: tuple[tuple[str, Callable[[T], Iterable[Values]]], ...] = ()
    """Other tables, and the rows in them that also belong to a record."""

    @property
    def template(self) -> str:
        """The statement."""
        return f"SELECT {self.columns.template} FROM {self.name}"


SHARED_VALUES = "recipient_field_values"
"""The table of the shared values of records."""
ORGANIZATIONS = Table[OrganizationRecord](
    "organizations", SQL.organization_record_columns, read_organization_record, organization_values
)
INTEGRATIONS = Table[Integration](
    "integrations", SQL.integration_columns, read_integration, integration_values
)
API_KEYS = Table[ApiKey]("api_keys", SQL.key_columns, read_api_key, api_key_values)
FIELDS = Table[RecipientField]("recipient_fields", SQL.field_columns, read_field, field_values)
HISTORY = Table[HistoryRecord](
    "recipient_field_changes", SQL.record_columns, read_record, record_values
)
ADMINISTRATORS = Table[Administrator](
    "administrators",
    SQL.administrator_columns,
    read_administrator,
    administrator_values,
    (("administrator_memberships", membership_values),),
)

COPIED: Mapping[str, Table[Any]] = {
    "organizations": ORGANIZATIONS,
    "integrations": INTEGRATIONS,
    "api_keys": API_KEYS,
    "fields": FIELDS,
    "history": HISTORY,
    "administrators": ADMINISTRATORS,
}
"""The tables of a copy in the order in which they are stored, by the attributes of a snapshot."""
OWNED = (
    "recipient_fields",
    "recipient_field_changes",
    "recipient_field_values",
    "api_keys",
    "integrations",
    "esp_credentials",
    "administrator_memberships",
    "administrator_invitations",
)
"""The tables whose rows belong to an organization, and are deleted with it."""
TABLES = (
    *OWNED,
    "organizations",
    "administrators",
    "administrator_links",
    "administrator_sessions",
    "administrator_forms",
    "sign_in_attempts",
)
"""All tables, which a storage requires."""


class RelationalRepositories:
    """The repositories that a Storage has, over the transactions of one database."""

    def __init__(self, database: Database) -> None:
        self.organizations: OrganizationRepository = RelationalOrganizationRepository(
            database, OWNED
        )
        self.fields: FieldRepository = RelationalFieldRepository(database)
        self.history: HistoryRepository = RelationalHistoryRepository(database)
        self.integrations: IntegrationRepository = RelationalIntegrationRepository(database)
        self.esp_credentials: EspCredentialRepository = RelationalEspCredentialRepository(database)
        self.api_keys: ApiKeyRepository = RelationalApiKeyRepository(database)
        self.administrators: AdministratorRepository = RelationalAdministratorRepository(database)
        self.sessions: SessionRepository = RelationalSessionRepository(database)
