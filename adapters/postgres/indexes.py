"""Indexes that are built before their migration, because building one in it would block writers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any, Self

from attrs import frozen
from psycopg import Connection
from psycopg.sql import SQL, Identifier

_LOCK = int.from_bytes(b"indexes", "big")
"""The id of the advisory lock that a process takes to build. It must be unique per database."""
_POLL_INTERVAL = 0.1  # seconds
_CREATE = re.compile(r"^CREATE( UNIQUE)? INDEX IF NOT EXISTS (?P<name>\w+)", re.MULTILINE)
_BEGIN = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"
# Without parameters, because a portal would keep its snapshot until the next statement.
_ACQUIRE = f"SELECT pg_try_advisory_xact_lock({_LOCK})"
_SELECT_VALIDITY = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


@frozen
class Index:
    """An index that a migration creates IF NOT EXISTS."""

    name: str
    statement: str

    @classmethod
    def created_by(cls, statement: str) -> Self | None:
        """Return the index that the statement creates, or None if it does something else."""
        found = _CREATE.search(statement)
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
