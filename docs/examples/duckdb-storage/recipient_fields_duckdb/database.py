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

from recipient_fields.adapters.driver_errors import unavailable_on
from recipient_fields.domain import StorageUnavailable, epoch_milliseconds, from_epoch_milliseconds

Connection: TypeAlias = duckdb.DuckDBPyConnection

_WRITERS: defaultdict[Path, Lock] = defaultdict(Lock)
"""Who may write each file. DuckDB gives a file to one process, so a lock of this process will do;
without it, of two transactions that change one row, DuckDB would refuse the later."""

_PATIENCE_SECONDS = 30.0


class Database:
    """One DuckDB file, which is made where there is none.

    What the driver raises becomes StorageUnavailable here, and nowhere else.
    """

    def __init__(self, path: Path) -> None:
        path = path.resolve()  # Also keeps DuckDB from taking `md:` or `s3:` for more than names.
        self._writers = _WRITERS[path]
        with _translated_errors():
            self._root = duckdb.connect(str(path))
        try:
            self._root.execute("SET threads = 1")  # So small a statement is not worth sharing.
            with self.writing() as connection:
                connection.execute((files(__package__) / "schema.sql").read_text("utf-8"))
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection whose statements see one state of the file."""
        # A DuckDB connection serves one thread at a time, and a cursor is a connection of its own.
        # One that is closed before it commits rolls back, whatever was raised.
        with _translated_errors(), closing(self._root.cursor()) as connection:
            connection.begin()
            yield connection
            connection.commit()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection that alone may write; what it wrote is undone where the block raises."""
        if not self._writers.acquire(timeout=_PATIENCE_SECONDS):
            raise StorageUnavailable("DuckDB: other writers did not finish in time.")
        try:
            with self.reading() as connection:
                yield connection
        finally:
            self._writers.release()

    def check(self) -> None:
        """StorageUnavailable unless the file can be read and has every table."""
        with self.reading() as connection:
            for table in ("organizations", "recipient_fields", "integrations", "api_keys"):
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
    """An id greater than any that the sequence has given before."""
    (new_id,) = connection.execute("SELECT nextval(?)", [sequence]).fetchone() or ()
    return int(new_id)


def insert(connection: Connection, table: str, row: Mapping[str, object]) -> None:
    """Store a row, given by its columns."""
    columns, values = ", ".join(row), ", ".join(f"${column}" for column in row)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({values})", dict(row))


def update(connection: Connection, table: str, row_id: int, changes: Mapping[str, object]) -> None:
    """Change those columns of the row with that id."""
    assignments = ", ".join(f"{column} = ${column}" for column in changes)
    connection.execute(
        f"UPDATE {table} SET {assignments} WHERE id = $id", {**changes, "id": row_id}
    )


def milliseconds(at: datetime | None) -> int | None:
    """How a column holds an instant."""
    return None if at is None else epoch_milliseconds(at)


def instant(column: int | None) -> Any:
    """The instant that a column holds, None where it holds none."""
    return None if column is None else from_epoch_milliseconds(column)
