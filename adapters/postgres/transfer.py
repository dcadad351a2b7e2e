"""Copies of everything in a PostgreSQL database.

A copy uses a connection of its own, because it takes longer than the deadlines of other calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

from attrs import evolve, field, frozen
from psycopg import Connection, IsolationLevel, sql
from psycopg.errors import InsufficientPrivilege, LockNotAvailable

from recipient_fields.application import Records, Snapshot
from recipient_fields.domain import (
    ApiKey,
    HistoryRecord,
    RecipientField,
    StorageNotEmpty,
    StorageUnavailable,
)

from ..relational.catalogs import measure_catalogs
from ..relational.database import Row
from ..relational.records import CopiedValues, read_all_rows
from ..relational.rows import field_row
from ..relational.statements import SQL
from ..relational.tables import (
    ADMINISTRATORS,
    FIELDS,
    HISTORY,
    INTEGRATIONS,
    ORGANIZATIONS,
    SHARED_VALUES,
    Table,
)
from ..row_mapping import map_rows
from ..shared_values import shared_record
from .connection import LongRunningConnection, Parameters
from .dialect import PostgresConnection, render
from .errors import every_error_translated, one_line
from .schema import connected

T = TypeVar("T")

_ROWS_PER_FETCH = 1_000
_ROWS_PER_BATCH = 5_000
_RECORDS_PER_BATCH = 500
"""Fewer, because each record can have two fields with large values."""

# These override the settings of the role: the server must not end a long transaction, but must end
# the session of a client that has vanished. `transaction_timeout` exists since PostgreSQL 17.
_SETTINGS = """
    SELECT set_config(name, value, true) FROM (VALUES
        ('statement_timeout', '0'), ('transaction_timeout', '0'), ('lock_timeout', '2s'),
        ('idle_in_transaction_session_timeout', '5min')
    ) AS wanted (name, value) WHERE name IN (SELECT name FROM pg_settings)
"""
# The start of the server and the ids of database and table: the URLs of one database can differ.
_SELECT_IDENTITY = """
    SELECT pg_postmaster_start_time()::text, oid::text, 'organizations'::regclass::oid::text
    FROM pg_database WHERE datname = current_database()
"""
# Blocks other copies and new organizations until the transaction ends, but no readers.
_LOCK = "LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE"
_HAS_ORGANIZATIONS = "SELECT EXISTS (SELECT id FROM organizations)"


@frozen
class Transfer:
    """Copies to and from one database."""

    _parameters: Parameters = field(repr=False)  # They can contain a password.
    _api_keys: Table[ApiKey]

    def identity(self) -> Hashable:
        """Return a value that is equal for two URLs if and only if they lead to the same tables."""
        with self._connected() as connection:
            [identity] = connection.execute(_SELECT_IDENTITY).fetchall()
            return identity

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield the content of the database, as one read-only transaction sees it."""
        with self._connected() as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                connection.execute(_SETTINGS)
                yield Snapshot(
                    organizations=_records(connection, ORGANIZATIONS),
                    integrations=_records(connection, INTEGRATIONS),
                    api_keys=_records(connection, self._api_keys),
                    fields=_records(connection, _FIELDS),
                    history=_history(connection),
                    administrators=_records(connection, ADMINISTRATORS),
                )

    def store(self, snapshot: Snapshot) -> None:
        """Store everything in the snapshot in one transaction.

        Raises: StorageNotEmpty if the database has an organization. StorageUnavailable if another
        transaction is about to store one, or if anything else fails.
        """
        with self._connected() as connection:
            # Overrides the role's setting: the check for emptiness must see what was committed
            # before the transaction got its lock.
            connection.isolation_level = IsolationLevel.READ_COMMITTED
            connection.read_only = False
            with connection.transaction():
                connection.execute(_SETTINGS)
                _require_empty(connection)
                _store(connection, ORGANIZATIONS, snapshot.organizations)
                _store(connection, INTEGRATIONS, snapshot.integrations)
                _store(connection, self._api_keys, snapshot.api_keys)
                _store(connection, _FIELDS, snapshot.fields)
                _store_history(connection, snapshot.history)
                _store(connection, ADMINISTRATORS, snapshot.administrators)
                measure_catalogs(PostgresConnection(connection))

    @contextmanager
    def _connected(self) -> Iterator[LongRunningConnection]:
        with connected(LongRunningConnection, self._parameters) as connection:
            try:
                yield connection
            except InsufficientPrivilege as error:
                raise StorageUnavailable(
                    f"PostgreSQL: {one_line(error)}. Copy as the role that owns the tables."
                ) from error


def _records(connection: Connection[Any], table: Table[T]) -> Records[T]:
    """Return the records, which are read while they are iterated over."""
    [(count,)] = connection.execute(f"SELECT count(*) FROM {table.name}").fetchall()
    return Records(
        count, _last_id(connection, table), map_rows(table.read, _rows(connection, table))
    )


def _history(connection: Connection[Any]) -> Records[HistoryRecord]:
    """Return the records of all histories, which are read while they are iterated over."""
    shared = PostgresConnection(connection)

    def find(organization_ids: Sequence[int], digests: Sequence[str]) -> Iterable[Row]:
        values = {"organization_ids": organization_ids, "digests": digests}
        with every_error_translated():
            return shared.all(SQL.select_values_of_several, values)

    [(count,)] = connection.execute(f"SELECT count(*) FROM {HISTORY.name}").fetchall()
    rows = read_all_rows(_rows(connection, HISTORY), find)
    return Records(count, 0, map_rows(HISTORY.read, rows))


def _store_history(connection: Connection[Any], records: Iterable[HistoryRecord]) -> None:
    copied, remaining = CopiedValues(), iter(records)
    while batch := list(islice(remaining, _RECORDS_PER_BATCH)):
        shared = [(shared_record(each), each.occurred_at) for each in batch]
        values = [row for each, _ in shared for row in copied.add(each)]
        if values:
            _copy(connection, SHARED_VALUES, values)
        rows = ({**each.row, "occurred_at": occurred_at} for each, occurred_at in shared)
        _copy(connection, HISTORY.name, rows)
    with connection.cursor() as cursor:
        cursor.executemany(render(SQL.keep_value), list(copied.last_uses()))
        cursor.executemany(render(SQL.add_value_bytes), list(copied.sizes()))


def _rows(connection: Connection[Any], table: Table[Any]) -> Iterator[Row]:
    # Errors are translated here, because another storage may iterate over the rows.
    with every_error_translated(), connection.cursor(name=table.name) as cursor:
        cursor.itersize = _ROWS_PER_FETCH
        yield from cursor.execute(render(table))


def _store(connection: Connection[Any], table: Table[T], records: Records[T]) -> None:
    """Store the records with their ids. Ids that are assigned later are greater."""
    remaining = iter(records)
    # In batches, because the server checks the foreign keys at the end of each.
    while batch := list(islice(remaining, _ROWS_PER_BATCH)):
        _copy(connection, table.name, map(table.values, batch))
        for name, rows in table.details:
            _copy(connection, name, chain.from_iterable(map(rows, batch)))
    last_id = max(records.last_id, _last_id(connection, table))
    if last_id > 0:
        connection.execute(
            "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", (table.name, last_id)
        )


def _last_id(connection: Connection[Any], table: Table[Any]) -> int:
    """Return the last assigned id, or 0. It can be newer than the snapshot, but never older."""
    [(name,)] = connection.execute(
        "SELECT pg_get_serial_sequence(%s, 'id')", (table.name,)
    ).fetchall()
    statement = sql.SQL("SELECT last_value, is_called FROM ") + sql.SQL(name)
    [(last_value, is_called)] = connection.execute(statement).fetchall()
    return int(last_value) if is_called else 0


def _copy(connection: Connection[Any], table: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Store the rows. There must be at least one."""
    held = list(rows)
    statement = f"COPY {table} ({', '.join(held[0])}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for values in held:
            copy.write_row(tuple(values.values()))


def _require_empty(connection: Connection[Any]) -> None:
    try:
        connection.execute(_LOCK)
    except LockNotAvailable as error:
        raise StorageUnavailable(
            "Another process is storing organizations in it. Try again when that process has ended."
        ) from error
    [(has_organizations,)] = connection.execute(_HAS_ORGANIZATIONS).fetchall()
    if has_organizations:
        raise StorageNotEmpty


def _field_values(stored: RecipientField) -> Mapping[str, object]:
    return {"organization_id": stored.organization_id, **field_row(stored)}


_FIELDS = evolve(FIELDS, values=_field_values)
