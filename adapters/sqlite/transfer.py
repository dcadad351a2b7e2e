"""Copies of the whole content of a SQLite file, from and to other storages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar

from attrs import frozen

from recipient_fields.application import OrganizationRecord, Records, Snapshot
from recipient_fields.domain import (
    Administrator,
    ApiKey,
    HistoryRecord,
    RecipientField,
    StorageNotEmpty,
    epoch_milliseconds,
)
from recipient_fields.domain.esp import Integration

from ..relational import administrators, api_keys, integrations, organizations
from ..row_mapping import (
    administrator_values,
    api_key_values,
    field_values,
    integration_values,
    map_rows,
    membership_values,
    organization_values,
    read_field,
    read_record,
    record_values,
)
from . import fields, recording
from .database import Database
from .dialect import SQLITE

T = TypeVar("T")

Row: TypeAlias = tuple[Any, ...]
Values: TypeAlias = Mapping[str, object]

_HAS_ORGANIZATIONS = "SELECT EXISTS (SELECT 1 FROM organizations)"
_SELECT_LAST_ID = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{}'), 0)"
_SKIP_IDS = "UPDATE sqlite_sequence SET seq = max(seq, :last_id) WHERE name = :table"
# SQLite adds the row of a table when it assigns the first id.
_SKIP_FIRST_IDS = """
    INSERT INTO sqlite_sequence (name, seq) SELECT :table, :last_id
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = :table)
"""


@frozen
class _Table(Generic[T]):
    """A table and the conversion of its rows."""

    name: str
    columns: str
    read: Callable[[Row], T]
    values: Callable[[T], Values]
    """Return the values of a record's row by column."""
    details: Mapping[str, Callable[[T], Iterable[Values]]] = {}
    """By table, the rows that also belong to a record."""

    def records(self, database: Database, connection: sqlite3.Connection) -> Records[T]:
        """Return the records, which are read during the iteration."""
        numbers = f"SELECT count(*), {_SELECT_LAST_ID.format(self.name)} FROM {self.name}"
        [(count, last_id)] = database.stream(connection, numbers)
        rows = database.stream(connection, f"SELECT {self.columns} FROM {self.name}")
        return Records(count, last_id, map_rows(self.read, rows))

    def store(self, connection: sqlite3.Connection, records: Records[T]) -> None:
        """Store the records with their ids. Ids that are assigned later are greater."""
        for record in records:
            _insert(connection, self.name, self.values(record))
            for table, rows in self.details.items():
                for row in rows(record):
                    _insert(connection, table, row)
        if records.last_id:
            counter = {"table": self.name, "last_id": records.last_id}
            connection.execute(_SKIP_IDS, counter)
            connection.execute(_SKIP_FIRST_IDS, counter)


def read_snapshot(database: Database, connection: sqlite3.Connection) -> Snapshot:
    """Return the content of the file in the connection's transaction."""
    return Snapshot(
        organizations=_ORGANIZATIONS.records(database, connection),
        integrations=_INTEGRATIONS.records(database, connection),
        api_keys=_API_KEYS.records(database, connection),
        fields=_FIELDS.records(database, connection),
        history=_HISTORY.records(database, connection),
        administrators=_ADMINISTRATORS.records(database, connection),
    )


def write_snapshot(connection: sqlite3.Connection, snapshot: Snapshot) -> None:
    """Store everything in the snapshot, in the connection's transaction.

    Raises: StorageNotEmpty if the file has an organization.
    """
    if connection.execute(_HAS_ORGANIZATIONS).fetchone()[0]:
        raise StorageNotEmpty
    _ORGANIZATIONS.store(connection, snapshot.organizations)
    _INTEGRATIONS.store(connection, snapshot.integrations)
    _API_KEYS.store(connection, snapshot.api_keys)
    _FIELDS.store(connection, snapshot.fields)
    _HISTORY.store(connection, snapshot.history)
    _ADMINISTRATORS.store(connection, snapshot.administrators)


def _insert(connection: sqlite3.Connection, table: str, row: Values) -> None:
    columns, places = ", ".join(row), ", ".join("?" * len(row))
    values = [_column_value(value) for value in row.values()]
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", values)


def _column_value(value: object) -> object:
    return epoch_milliseconds(value) if isinstance(value, datetime) else value


_ORGANIZATIONS = _Table[OrganizationRecord](
    "organizations",
    organizations.organization_record_columns(SQLITE),
    organizations.read_organization_record,
    organization_values,
)
_INTEGRATIONS = _Table[Integration](
    "integrations",
    integrations.integration_columns(SQLITE),
    integrations.read_integration,
    integration_values,
)
_API_KEYS = _Table[ApiKey](
    "api_keys", api_keys.key_columns(SQLITE), api_keys.read_api_key, api_key_values
)
_FIELDS = _Table[RecipientField]("recipient_fields", fields.COLUMNS, read_field, field_values)
_HISTORY = _Table[HistoryRecord](
    "recipient_field_changes", recording.COLUMNS, read_record, record_values
)
_ADMINISTRATORS = _Table[Administrator](
    "administrators",
    administrators.administrator_columns(SQLITE),
    administrators.read_administrator,
    administrator_values,
    {"administrator_memberships": membership_values},
)
