"""What these tests do to a database without a storage, and what they see there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

from recipient_fields.adapters.postgres.dialect import PostgresConnection

from ...support.postgres import execute

CITY = {
    "organization_id": "1",
    "name": "'City'",
    "folded_name": "'city'",
    "key": "'city'",
    "data_type": "'text'",
    "insertable": "true",
    "source": "'api'",
    "created_at": "'2026-11-20T09:15:00.123Z'",
    "updated_at": "'2026-11-20T09:15:00.123Z'",
    "version": "1",
}


def inserting(**members: str) -> str:
    """Return a statement that adds a field, unlike a storage without locking its organization."""
    row = {**CITY, **members}
    return f"INSERT INTO recipient_fields ({', '.join(row)}) VALUES ({', '.join(row.values())})"


def rows(statement: LiteralString) -> Callable[[PostgresConnection], list[tuple[Any, ...]]]:
    """Return a call for `PostgresDatabase.read` or `write` that returns the statement's rows."""
    return lambda connection: connection.driver.execute(statement).fetchall()


@contextmanager
def database_set(database: str, setting: str) -> Iterator[None]:
    """Let the sessions that are opened in the block have this setting."""
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET {setting}")
    try:
        yield
    finally:
        execute(database, f"ALTER DATABASE {name} RESET ALL")


def waiting(database: str) -> list[tuple[object, ...]]:
    """Return the sessions of storages that wait for a lock or a standby."""
    return execute(
        database,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'recipient-fields' AND wait_event_type IN ('Lock', 'IPC')",
    )
