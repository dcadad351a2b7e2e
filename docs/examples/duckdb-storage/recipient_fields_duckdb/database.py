"""Transactions, errors and the schema of one DuckDB file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import duckdb

from recipient_fields.adapters.storage_errors import unavailable_on
from recipient_fields.domain import StorageUnavailable, epoch_milliseconds, from_epoch_milliseconds

Connection: TypeAlias = duckdb.DuckDBPyConnection

TABLES = (
    "organizations",
    "recipient_fields",
    "recipient_field_changes",
    "integrations",
    "esp_connections",
    "api_keys",
    "administrators",
    "administrator_memberships",
    "administrator_invitations",
    "administrator_links",
    "administrator_sessions",
    "administrator_forms",
    "sign_in_attempts",
)

_WRITERS: defaultdict[Path, Lock] = defaultdict(Lock)
"""The write lock of each file. A lock of the process is enough, because only one process can open a
DuckDB file. Without it, DuckDB would reject the later of two transactions that change one row."""

_LOCK_TIMEOUT = 30.0
"""Seconds."""


class Database:
    """One DuckDB file, which is created if it does not exist.

    All errors of the driver are translated to StorageUnavailable in this class.
    """

    def __init__(self, path: Path) -> None:
        path = path.resolve()  # Otherwise, DuckDB would treat `md:` and `s3:` as URLs.
        self._writers = _WRITERS[path]
        with _translated_errors():
            self._root = duckdb.connect(str(path))
        try:
            self._root.execute("SET threads = 1")  # The statements are small.
            with self.writing() as connection:
                connection.execute((files(__package__) / "schema.sql").read_text("utf-8"))
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection with a transaction on one snapshot. `writing` adds the lock."""
        # A DuckDB connection is not thread-safe, and a cursor is a separate connection.
        # Closing it without a commit rolls back.
        with _translated_errors(), closing(self._root.cursor()) as connection:
            connection.begin()
            yield connection
            connection.commit()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection with the only write transaction, and roll back if the block raises."""
        if not self._writers.acquire(timeout=_LOCK_TIMEOUT):
            raise StorageUnavailable("DuckDB: other writers did not finish in time.")
        try:
            with self.reading() as connection:
                yield connection
        finally:
            self._writers.release()

    def check(self) -> None:
        """Raise StorageUnavailable unless the file is readable and has all tables."""
        with self.reading() as connection:
            for table in TABLES:
                connection.execute(f"SELECT 1 FROM {table} LIMIT 0")

    def close(self) -> None:
        """Close the file."""
        self._root.close()


def _translated_errors() -> AbstractContextManager[None]:
    return unavailable_on(
        duckdb.OperationalError,  # the file, the disk, the memory, a lock, a conflict
        duckdb.CatalogException,  # a table is missing
        duckdb.FatalException,  # the database was invalidated by an earlier failure
        duckdb.InternalError,
        technology="DuckDB",
    )


def next_id(connection: Connection, sequence: str) -> int:
    """Return an id that is greater than all earlier ids of the sequence."""
    (new_id,) = connection.execute("SELECT nextval(?)", [sequence]).fetchone() or ()
    return int(new_id)


def last_id(connection: Connection, sequence: str) -> int:
    """Return the last id of the sequence, or 0 if it has assigned none."""
    (assigned,) = connection.execute(
        "SELECT last_value FROM duckdb_sequences() WHERE sequence_name = ?", [sequence]
    ).fetchone() or (None,)
    return assigned or 0


def insert(connection: Connection, table: str, row: Mapping[str, object]) -> None:
    """Insert a row."""
    columns, values = ", ".join(row), ", ".join(f"${column}" for column in row)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({values})", dict(row))


def update(connection: Connection, table: str, row_id: int, changes: Mapping[str, object]) -> None:
    """Update columns of the row with this id."""
    assignments = ", ".join(f"{column} = ${column}" for column in changes)
    connection.execute(
        f"UPDATE {table} SET {assignments} WHERE id = $id", {**changes, "id": row_id}
    )


def milliseconds(at: datetime | None) -> int | None:
    """Return the representation of a time in a column."""
    return None if at is None else epoch_milliseconds(at)


def instant(column: int | None) -> Any:
    """Return the instant in a column, or None if the column is null."""
    return None if column is None else from_epoch_milliseconds(column)
