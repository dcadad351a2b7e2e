"""The tables of a database, and the repositories over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from attrs import frozen

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    ConnectionPlanner,
    EspConnectionRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRecord,
    OrganizationRepository,
    SessionRepository,
)
from recipient_fields.domain import (
    Administrator,
    ApiKey,
    HistoryRecord,
    IntegrationId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.integrations import EspConnection, Integration, IntegrationNotFound

from ..row_mapping import (
    administrator_values,
    api_key_values,
    connection_document,
    field_values,
    integration_values,
    map_rows,
    membership_values,
    organization_values,
    read_field,
    read_record,
    record_values,
    stored_connection,
)
from .administrators import RelationalAdministratorRepository, read_administrator
from .api_keys import RelationalApiKeyRepository, read_api_key
from .database import Connection, Database, Row, Values, id_values, lock_catalog
from .fields import RelationalFieldRepository
from .history import RelationalHistoryRepository
from .integrations import RelationalIntegrationRepository, read_integration
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
    has_ids: bool = True
    """Whether the database assigns ids to the rows."""

    @property
    def template(self) -> str:
        """The statement."""
        return f"SELECT {self.columns.template} FROM {self.name}"


def connection_values(connection: EspConnection) -> Values:
    """Return the values of the row of a connection by column."""
    return {
        "organization_id": connection.organization_id,
        "integration_id": connection.id,
        "document": connection_document(connection),
    }


def read_connection(row: Row) -> EspConnection:
    """Return the connection in a row of `connection_columns`."""
    return stored_connection(*row)


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
    "recipient_field_changes", SQL.record_columns, read_record, record_values, has_ids=False
)
ADMINISTRATORS = Table[Administrator](
    "administrators",
    SQL.administrator_columns,
    read_administrator,
    administrator_values,
    (("administrator_memberships", membership_values),),
)
CONNECTIONS = Table[EspConnection](
    "esp_connections", SQL.connection_columns, read_connection, connection_values, has_ids=False
)

COPIED: Mapping[str, Table[Any]] = {
    "organizations": ORGANIZATIONS,
    "integrations": INTEGRATIONS,
    "api_keys": API_KEYS,
    "fields": FIELDS,
    "history": HISTORY,
    "administrators": ADMINISTRATORS,
    "esp_connections": CONNECTIONS,
}
"""The tables of a copy in the order in which they are stored, by the attributes of a snapshot."""
OWNED = (
    "recipient_fields",
    "recipient_field_changes",
    "recipient_field_values",
    "api_keys",
    "integrations",
    "esp_connections",
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


@frozen
class RelationalEspConnectionRepository(EspConnectionRepository):
    """The connections in one database. The deletion of an integration deletes its connection."""

    _database: Database

    def all(self) -> tuple[EspConnection, ...]:
        rows = self._database.read(lambda c: c.all(SQL.select_connections))
        return tuple(map_rows(read_connection, rows))

    def get(
        self, organization_id: OrganizationId, integration_id: IntegrationId, /
    ) -> EspConnection:
        return self._database.read(lambda c: _get_connection(c, organization_id, integration_id))

    def change(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        plan: ConnectionPlanner,
        /,
    ) -> EspConnection:
        def change(connection: Connection) -> EspConnection:
            changed = plan(_get_connection(connection, organization_id, integration_id))
            connection.execute(SQL.put_connection, connection_values(changed))
            return changed

        # The deletion of an integration locks the catalog, too.
        return self._database.write(change, lock=lock_catalog(organization_id))


def _get_connection(
    connection: Connection, organization_id: OrganizationId, integration_id: IntegrationId
) -> EspConnection:
    ids = id_values(organization_id=organization_id, id=integration_id)
    if connection.one(SQL.select_integration, ids) is None:
        raise IntegrationNotFound
    row = connection.one(SQL.select_connection, ids)
    if row is None:
        return EspConnection(id=integration_id, organization_id=organization_id)
    return read_connection(row)


class RelationalRepositories:
    """The repositories that a Storage has, over the transactions of one database."""

    def __init__(self, database: Database) -> None:
        self.organizations: OrganizationRepository = RelationalOrganizationRepository(
            database, OWNED
        )
        self.fields: FieldRepository = RelationalFieldRepository(database)
        self.history: HistoryRepository = RelationalHistoryRepository(database)
        self.integrations: IntegrationRepository = RelationalIntegrationRepository(database)
        self.esp_connections: EspConnectionRepository = RelationalEspConnectionRepository(database)
        self.api_keys: ApiKeyRepository = RelationalApiKeyRepository(database)
        self.administrators: AdministratorRepository = RelationalAdministratorRepository(database)
        self.sessions: SessionRepository = RelationalSessionRepository(database)
