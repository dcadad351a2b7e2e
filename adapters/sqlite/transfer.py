"""Copies of the whole content of a SQLite file, from and to other storages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from recipient_fields.application import Records, Snapshot
from recipient_fields.domain import HistoryRecord, StorageNotEmpty, epoch_milliseconds

from ..relational.catalogs import measure_catalogs
from ..relational.database import Row, Values
from ..relational.records import CopiedValues, read_all_rows
from ..relational.statements import SQL, render
from ..relational.tables import (
    ADMINISTRATORS,
    API_KEYS,
    FIELDS,
    HISTORY,
    INTEGRATIONS,
    ORGANIZATIONS,
    SHARED_VALUES,
    Table,
)
from ..row_mapping import map_rows
from ..shared_values import shared_record
from .database import Database
from .dialect import SQLITE, SqliteConnection

T = TypeVar("T")

_HAS_ORGANIZATIONS = "SELECT EXISTS (SELECT 1 FROM organizations)"
_SELECT_LAST_ID = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{}'), 0)"
_SKIP_IDS = "UPDATE sqlite_sequence SET seq = max(seq, :last_id) WHERE name = :table"
# SQLite adds the row of a table when it assigns the first id.
_SKIP_FIRST_IDS = """
    INSERT INTO sqlite_sequence (name, seq) SELECT :table, :last_id
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = :table)
"""


def read_snapshot(database: Database, connection: sqlite3.Connection) -> Snapshot:
    """Return the content of the file in the connection's transaction."""

    def records(table: Table[T]) -> Records[T]:
        """Return the records, which are read during the iteration."""
        numbers = f"SELECT count(*), {_SELECT_LAST_ID.format(table.name)} FROM {table.name}"
        [(count, last_id)] = database.stream(connection, numbers)
        statement = render(table, SQLITE)
        return Records(count, last_id, map_rows(table.read, database.stream(connection, statement)))

    return Snapshot(
        organizations=records(ORGANIZATIONS),
        integrations=records(INTEGRATIONS),
        api_keys=records(API_KEYS),
        fields=records(FIELDS),
        history=_history(database, connection),
        administrators=records(ADMINISTRATORS),
    )


def _history(database: Database, connection: sqlite3.Connection) -> Records[HistoryRecord]:
    """Return the records of all histories, which are read during the iteration."""

    def find(organization_ids: Sequence[int], digests: Sequence[str]) -> Iterable[Row]:
        values = {"organization_ids": organization_ids, "digests": digests}
        return database.stream(connection, render(SQL.select_values_of_several, SQLITE), values)

    [(count,)] = database.stream(connection, f"SELECT count(*) FROM {HISTORY.name}")
    rows = read_all_rows(database.stream(connection, render(HISTORY, SQLITE)), find)
    return Records(count, 0, map_rows(HISTORY.read, rows))


def write_snapshot(connection: sqlite3.Connection, snapshot: Snapshot) -> None:
    """Store everything in the snapshot, in the connection's transaction.

    Raises: StorageNotEmpty if the file has an organization.
    """
    if connection.execute(_HAS_ORGANIZATIONS).fetchone()[0]:
        raise StorageNotEmpty
    _store(connection, ORGANIZATIONS, snapshot.organizations)
    _store(connection, INTEGRATIONS, snapshot.integrations)
    _store(connection, API_KEYS, snapshot.api_keys)
    _store(connection, FIELDS, snapshot.fields)
    _store_history(connection, snapshot.history)
    _store(connection, ADMINISTRATORS, snapshot.administrators)
    measure_catalogs(SqliteConnection(connection))


def _store(connection: sqlite3.Connection, table: Table[T], records: Records[T]) -> None:
    """Store the records with their ids. Ids that are assigned later are greater."""
    for record in records:
        _insert(connection, table.name, table.values(record))
        for name, rows in table.details:
            for row in rows(record):
                _insert(connection, name, row)
    if records.last_id:
        counter = {"table": table.name, "last_id": records.last_id}
        connection.execute(_SKIP_IDS, counter)
        connection.execute(_SKIP_FIRST_IDS, counter)


def _store_history(connection: sqlite3.Connection, records: Iterable[HistoryRecord]) -> None:
    copied = CopiedValues()
    for record in records:
        shared = shared_record(record)
        for value in copied.add(shared):
            _insert(connection, SHARED_VALUES, value)
        _insert(connection, HISTORY.name, shared.row)
    connection.executemany(render(SQL.keep_value, SQLITE), copied.last_uses())
    connection.executemany(render(SQL.add_value_bytes, SQLITE), copied.sizes())


def _insert(connection: sqlite3.Connection, table: str, row: Values) -> None:
    columns, places = ", ".join(row), ", ".join("?" * len(row))
    values = [_column_value(value) for value in row.values()]
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", values)


def _column_value(value: object) -> object:
    return epoch_milliseconds(value) if isinstance(value, datetime) else value
