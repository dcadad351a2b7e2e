"""Copies of everything in a PostgreSQL database.

A copy uses a connection of its own, because it takes longer than the deadlines of other calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from attrs import evolve, field, frozen
from psycopg import Connection, IsolationLevel, sql
from psycopg.errors import InsufficientPrivilege, LockNotAvailable

from recipient_fields.application import Snapshot
from recipient_fields.domain import ApiKey, RecipientField, StorageNotEmpty, StorageUnavailable

from ..relational.changes import field_row
from ..relational.copies import ROWS_PER_BATCH, CopyConnection, read_snapshot, write_snapshot
from ..relational.database import NO_VALUES, Row, Values
from ..relational.repositories import API_KEYS, COPIED, FIELDS, Table
from ..relational.statements import Statement
from .connection import LongRunningConnection, Parameters, connected
from .dialect import PostgresConnection, render
from .errors import every_error_translated, one_line

_ROWS_PER_FETCH = 1_000
_SELECT_SEQUENCE = "SELECT pg_get_serial_sequence(%s, 'id')"
_SKIP_IDS = "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)"

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
    _api_keys: Table[ApiKey] = API_KEYS
    _rows_per_batch: int = field(default=ROWS_PER_BATCH, kw_only=True)
    _connection_type: type[LongRunningConnection] = field(
        default=LongRunningConnection, kw_only=True
    )

    @property
    def _tables(self) -> Mapping[str, Table[Any]]:
        return {**COPIED, "api_keys": self._api_keys, "fields": _FIELDS}

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
                yield read_snapshot(_PostgresCopyConnection(connection), self._tables)

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
                write_snapshot(
                    _PostgresCopyConnection(connection),
                    snapshot,
                    self._tables,
                    rows_per_batch=self._rows_per_batch,
                )

    @contextmanager
    def _connected(self) -> Iterator[LongRunningConnection]:
        with connected(self._connection_type, self._parameters) as connection:
            try:
                yield connection
            except InsufficientPrivilege as error:
                raise StorageUnavailable(
                    f"PostgreSQL: {one_line(error)}. Copy as the role that owns the tables."
                ) from error


@frozen
class _PostgresCopyConnection(CopyConnection):
    """A connection in a transaction of the copy."""

    _connection: Connection[Any]
    _cursors: Iterator[int] = field(factory=count)

    @property
    def shared(self) -> PostgresConnection:
        """What executes statements on this connection."""
        return PostgresConnection(self._connection)

    def stream(self, statement: Statement, values: Values = NO_VALUES) -> Iterator[Row]:
        name = f"copy_{next(self._cursors)}"
        with every_error_translated(), self._connection.cursor(name=name) as cursor:
            cursor.itersize = _ROWS_PER_FETCH
            yield from cursor.execute(render(statement), values)

    def insert(self, table: str, rows: Sequence[Values]) -> None:
        statement = f"COPY {table} ({', '.join(rows[0])}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for values in rows:
                copy.write_row(tuple(values.values()))

    def last_id(self, table: str) -> int:
        [(name,)] = self._connection.execute(_SELECT_SEQUENCE, (table,)).fetchall()
        statement = sql.SQL("SELECT last_value, is_called FROM ") + sql.SQL(name)
        [(last_value, is_called)] = self._connection.execute(statement).fetchall()
        return int(last_value) if is_called else 0

    def skip_ids(self, table: str, last_id: int) -> None:
        if last_id > 0:
            self._connection.execute(_SKIP_IDS, (table, last_id))


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
    return {
        "organization_id": stored.organization_id,
        **field_row(stored),
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }


_FIELDS = evolve(FIELDS, values=_field_values)
