"""The schema: which steps lead to it, which of them a database has, and taking the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from time import monotonic
from typing import Any, TypeVar

from attrs import frozen
from psycopg import Connection

from recipient_fields.domain import StorageUnavailable

from .connection import (
    DeadlineConnection,
    LongRunningConnection,
    Parameters,
    parse_url,
    require_compiled_driver,
)
from .errors import every_error_translated

C = TypeVar("C", bound=Connection[Any])

_OLDEST_SERVER = 140000
_START_SECONDS = 5.0
_LOCK = int.from_bytes(b"fields", "big")
_CREATE_LEDGER = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        name text COLLATE "C" CONSTRAINT schema_migrations_pk PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
_LACKS_LEDGER = "SELECT to_regclass('schema_migrations') IS NULL"
_SELECT_APPLIED = "SELECT name FROM schema_migrations ORDER BY name"
_SELECT_MISSING = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL"
_TABLES = ["organizations", "recipient_fields", "api_keys", "integrations"]
_RECORD = "INSERT INTO schema_migrations (name) VALUES (%s)"


@frozen
class Step:
    """One numbered file of SQL statements, applied in one transaction with its own record."""

    name: str
    sql: str


def migrate(url: str) -> int:
    """Bring the database's schema up to date; returns how many steps that took.

    Any number of callers may do so at once, and one that is killed leaves whole steps only.
    StorageUnavailable where the server can't be reached, does not permit it, or has the schema of
    a newer version of this package.
    """
    require_compiled_driver()
    with connected(Connection, parse_url(url)) as connection:
        return take_steps(connection)


def migrate_new(url: str) -> None:
    """Take all steps in one transaction if the database has none of them; otherwise do nothing.

    Raises: StorageUnavailable if the server can't be reached or does not permit it.
    """
    require_compiled_driver()
    with connected(LongRunningConnection, parse_url(url)) as connection, connection.transaction():
        if not _applied(connection):
            take_steps(connection)


def take_steps(connection: Connection[Any]) -> int:
    """Take the steps that the database lacks; returns how many.

    Within the connection's transaction where it is in one. Where none is lacking, it is enough that
    the role may read. StorageUnavailable where the server does not serve, or has the schema of a
    newer version of this package.
    """
    _require_usable(connection)
    taken = 0
    while _pending_steps(connection):
        taken += _take_next(connection)
    return taken


def require_current(parameters: Parameters) -> None:
    """StorageUnavailable unless the database has this version's schema, no less and no more."""
    with connected(DeadlineConnection, parameters) as connection:
        connection.deadline = monotonic() + _START_SECONDS
        _require_usable(connection)
        _refuse_newer(_applied(connection))
        require_sufficient(connection)


def require_sufficient(connection: Connection[Any]) -> None:
    """StorageUnavailable unless the database has what this version needs.

    It may have steps of a newer version, which is what a process sees that is about to be replaced.
    """
    if {step.name for step in _load_steps()} - _applied(connection):
        raise StorageUnavailable(
            "The PostgreSQL schema is behind this version. Run recipient-fields migrate."
        )
    missing = connection.execute(_SELECT_MISSING, (_TABLES,)).fetchall()
    if missing:
        raise StorageUnavailable(f"The PostgreSQL schema lacks the table {missing[0][0]}.")


def _pending_steps(connection: Connection[Any]) -> tuple[Step, ...]:
    """The steps the database lacks, in order."""
    applied = _applied(connection)
    _refuse_newer(applied)
    return tuple(step for step in _load_steps() if step.name not in applied)


def _refuse_newer(applied: set[str]) -> None:
    if not applied <= {step.name for step in _load_steps()}:
        raise StorageUnavailable(
            "The PostgreSQL schema belongs to a newer version of Recipient Fields. Upgrade first."
        )


@contextmanager
def connected(kind: type[C], parameters: Parameters) -> Iterator[C]:
    """A connection of its own for what happens once; whatever fails is one clear line."""
    with (
        every_error_translated(),
        kind.connect(**parameters, autocommit=True, prepare_threshold=None) as connection,
    ):
        yield connection


def _take_next(connection: Connection[Any]) -> int:
    with connection.transaction():
        # The server gives the lock back with the transaction, however that ends.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(_CREATE_LEDGER)
        pending = _pending_steps(connection)
        if not pending:
            return 0
        # Whoever waits for a table's lock makes everyone else wait behind it.
        connection.execute("SET LOCAL lock_timeout = '2s'")
        connection.execute(pending[0].sql.encode())
        connection.execute(_RECORD, (pending[0].name,))
        return 1


def _applied(connection: Connection[Any]) -> set[str]:
    # Asked first, as a statement that fails would end the transaction.
    [(missing,)] = connection.execute(_LACKS_LEDGER).fetchall()
    return set() if missing else {name for (name,) in connection.execute(_SELECT_APPLIED)}


def _require_usable(connection: Connection[Any]) -> None:
    if connection.info.server_version < _OLDEST_SERVER:
        raise StorageUnavailable("This PostgreSQL is too old; version 14 is needed.")
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise StorageUnavailable("The database must be made with the encoding UTF8.")


def _load_steps() -> tuple[Step, ...]:
    folder = files(__package__) / "migrations"
    return tuple(
        Step(file.name.removesuffix(".sql"), file.read_text("utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    )
