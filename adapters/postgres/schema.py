"""The migrations of the database schema.

An index is built before its migration, because building one in it would block writers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, Self

from attrs import frozen
from psycopg import Connection
from psycopg.errors import LockNotAvailable
from psycopg.sql import SQL, Identifier

from recipient_fields.domain import StorageUnavailable

from ..relational.catalogs import complete_catalogs
from ..relational.repositories import TABLES
from ..relational.statements import read_scripts
from .citus.schema import distribute, distribute_new_tables, is_distributed, require_citus
from .connection import (
    LOCK_TIMEOUT,
    DeadlineConnection,
    LongRunningConnection,
    Parameters,
    connected,
    parse_url,
    require_compiled_driver,
)
from .dialect import PostgresConnection

_OLDEST_SERVER = 140000
_START_TIMEOUT = 5.0  # seconds
_LOCK_TIMEOUT = "500ms"
"""How long a migration waits for the lock of a table, which blocks all later statements on it."""
_LOCK_PATIENCE = 20.0
"""Seconds after which a migration that waited too long for a lock is not tried again."""
_LOCK_PAUSE = 0.5
"""Seconds before it is tried again, in which the statements that it blocked can run."""
_LOCK = int.from_bytes(b"fields", "big")
"""The id of the advisory lock that processes take to migrate. It must be unique per database."""
_CREATE_TABLE = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        name text COLLATE "C" CONSTRAINT schema_migrations_pk PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
_LACKS_TABLE = "SELECT to_regclass('schema_migrations') IS NULL"
_SELECT_APPLIED = "SELECT name FROM schema_migrations ORDER BY name"
_SELECT_MISSING = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL"
_END_OF_STATEMENT = re.compile(r"(?<=;)\n+")
_INDEX_LOCK = int.from_bytes(b"indexes", "big")
"""The id of the advisory lock that a process takes to build. It must be unique per database."""
_POLL_INTERVAL = 0.1  # seconds
_CREATE_INDEX = re.compile(r"^CREATE( UNIQUE)? INDEX IF NOT EXISTS (?P<name>\w+)", re.MULTILINE)
_BEGIN = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"
# Without parameters, because a portal would keep its snapshot until the next statement.
_ACQUIRE = f"SELECT pg_try_advisory_xact_lock({_INDEX_LOCK})"
_SELECT_VALIDITY = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_RECORD = "INSERT INTO schema_migrations (name) VALUES (%s)"


@frozen
class Migration:
    """A numbered file of SQL statements, which are applied in one transaction."""

    name: str
    statements: tuple[str, ...]
    """In order. Citus rejects several at once if one creates an index."""


def migrate(
    url: str,
    *,
    distributed: bool = False,
    on_applied: Callable[[str], None] = lambda _name: None,
) -> int:
    """Apply the missing migrations to the database, and return their number.

    `on_applied` is called with the name of each one that this call has committed.

    `distributed`: also distribute the tables over the workers of Citus, if they are not yet, and
    configure new workers. No other process may use the database while the tables are distributed.

    Each migration is one transaction, but an index is built before it, without blocking writers.
    Several processes can migrate one database at the same time.

    Raises: StorageUnavailable if the server can't be reached, denies permission or lacks Citus, or
    if the schema is of a newer version of this package.
    """
    require_compiled_driver()
    parameters = parse_url(url)

    def build_indexes(migration: Migration) -> None:
        def is_needed() -> bool:
            return migration.name not in _applied(connection)

        for index in filter(None, map(Index.created_by, migration.statements)):
            with connected(Connection, parameters) as second:
                index.build(connection, second, is_needed)

    with connected(Connection, parameters) as connection:
        if distributed:
            require_citus(connection)
        applied = apply_migrations(connection, build_indexes, on_applied)
        if distributed or is_distributed(connection):
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                if distributed:
                    distribute(connection, LOCK_TIMEOUT)
                else:
                    distribute_new_tables(connection)
        return applied


def migrate_new(url: str) -> None:
    """Apply all migrations in one transaction if the database has none; otherwise do nothing.

    Raises: StorageUnavailable if the server can't be reached or denies permission.
    """
    require_compiled_driver()
    with connected(LongRunningConnection, parse_url(url)) as connection, connection.transaction():
        if not _applied(connection):
            apply_migrations(connection)


def apply_migrations(
    connection: Connection[Any],
    prepare: Callable[[Migration], None] | None = None,
    on_applied: Callable[[str], None] = lambda _name: None,
) -> int:
    """Apply the missing migrations to the database, and return their number.

    `prepare` is called before each one, and `on_applied` with its name afterwards. Then store the
    sizes of the catalogs that have none.

    They are part of the connection's transaction if it is in one. If no migration is missing, the
    role needs only read access.

    Raises: StorageUnavailable if the server is too old, if the encoding of the database is not
    UTF8, or if its schema is of a newer version of this package.
    """
    _require_usable(connection)
    applied = 0
    while pending := _pending_migrations(connection):
        if prepare is not None:
            prepare(pending[0])
        if _apply(connection, pending[0]):
            applied += 1
            on_applied(pending[0].name)
    complete_catalogs(PostgresConnection(connection))
    return applied


def require_current(parameters: Parameters) -> bool:
    """Return whether Citus distributes the tables of the database.

    Raises: StorageUnavailable unless the database has exactly the schema of this version.
    """
    with connected(DeadlineConnection, parameters) as connection:
        connection.deadline = monotonic() + _START_TIMEOUT
        _require_usable(connection)
        _refuse_newer(_applied(connection))
        require_sufficient(connection)
        return is_distributed(connection)


def require_sufficient(connection: Connection[Any]) -> None:
    """Raise StorageUnavailable unless the database has all migrations and tables of this version.

    It may also have migrations of a newer version, because old processes run during an upgrade.
    """
    if {migration.name for migration in _load_migrations()} - _applied(connection):
        raise StorageUnavailable(
            "The PostgreSQL schema is behind this version. Run recipient-fields migrate."
        )
    missing = connection.execute(_SELECT_MISSING, ([*TABLES],)).fetchall()
    if missing:
        raise StorageUnavailable(f"The PostgreSQL schema lacks the table {missing[0][0]}.")


def _pending_migrations(connection: Connection[Any]) -> tuple[Migration, ...]:
    """Return the missing migrations, in order."""
    applied = _applied(connection)
    _refuse_newer(applied)
    return tuple(each for each in _load_migrations() if each.name not in applied)


def _refuse_newer(applied: set[str]) -> None:
    if not applied <= {migration.name for migration in _load_migrations()}:
        raise StorageUnavailable(
            "The PostgreSQL schema belongs to a newer version of Recipient Fields. Upgrade first."
        )


def _apply(connection: Connection[Any], migration: Migration) -> bool:
    """Apply the migration unless another process has applied it. Return whether this one did."""
    patience_ends = monotonic() + _LOCK_PATIENCE
    while True:
        try:
            return _try_to_apply(connection, migration)
        except LockNotAvailable:
            if monotonic() > patience_ends:
                raise
            sleep(_LOCK_PAUSE)


def _try_to_apply(connection: Connection[Any], migration: Migration) -> bool:
    with connection.transaction():
        # The server releases the lock when the transaction ends, even if this process is killed.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(_CREATE_TABLE)
        # Only this migration: the next one may need an index that nobody has built yet.
        if migration.name in _applied(connection):
            return False
        connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        for statement in migration.statements:
            connection.execute(statement.encode())
        connection.execute(_RECORD, (migration.name,))
        return True


def _applied(connection: Connection[Any]) -> set[str]:
    # A SELECT from a missing table would fail, which ends the transaction.
    [(missing,)] = connection.execute(_LACKS_TABLE).fetchall()
    return set() if missing else {name for (name,) in connection.execute(_SELECT_APPLIED)}


def _require_usable(connection: Connection[Any]) -> None:
    if connection.info.server_version < _OLDEST_SERVER:
        raise StorageUnavailable("This PostgreSQL is too old. Use version 14 or newer.")
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise StorageUnavailable(
            "The encoding of the database is not UTF8. Create the database with ENCODING 'UTF8'."
        )


def _load_migrations() -> tuple[Migration, ...]:
    scripts = read_scripts(__package__, "migrations")
    return tuple(Migration(name, _split(script)) for name, script in scripts.items())


def _split(sql: str) -> tuple[str, ...]:
    """Return the statements of a file. Each ends with a semicolon at the end of a line."""
    return tuple(_END_OF_STATEMENT.split(sql.strip()))


@frozen
class Index:
    """An index that a migration creates IF NOT EXISTS."""

    name: str
    statement: str

    @classmethod
    def created_by(cls, statement: str) -> Self | None:
        """Return the index that the statement creates, or None if it does something else."""
        found = _CREATE_INDEX.search(statement)
        return None if found is None else cls(found["name"], statement)

    def build(
        self, connection: Connection[Any], second: Connection[Any], is_needed: Callable[[], bool]
    ) -> None:
        """Build the index without blocking writers, unless it exists or is no longer needed.

        Neither connection may be in a transaction. `second` holds a lock during the work.
        """
        with _exclusively(second):
            validity = connection.execute(_SELECT_VALIDITY, (self.name,)).fetchall()
            if validity == [(True,)] or not is_needed():
                return
            if validity:  # A process was killed while it built the index.
                drop = SQL("DROP INDEX CONCURRENTLY {}").format(Identifier(self.name))
                connection.execute(drop)
            concurrently = self.statement.replace("INDEX", "INDEX CONCURRENTLY", 1)
            connection.execute(concurrently.encode())


@contextmanager
def _exclusively(connection: Connection[Any]) -> Iterator[None]:
    """Run the block while no other process runs it.

    The build waits until each older snapshot has ended. So no process may wait for the lock in a
    statement, and the transaction of the lock is on its own connection, without a snapshot.
    """
    try:
        while not _acquire(connection):
            sleep(_POLL_INTERVAL)
        yield
    finally:
        connection.rollback()


def _acquire(connection: Connection[Any]) -> bool:
    connection.execute(_BEGIN)
    [(acquired,)] = connection.execute(_ACQUIRE).fetchall()
    if not acquired:
        connection.rollback()
    return bool(acquired)
