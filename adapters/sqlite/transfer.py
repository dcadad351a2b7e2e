"""Copies of a SQLite file: as a backup, and from and to other storages."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkstemp

from attrs import frozen

from recipient_fields.domain import RecipientFieldsError

from ..relational.copies import CopyConnection
from ..relational.database import NO_VALUES, Row, Values
from ..relational.statements import Statement, render
from .database import Database
from .dialect import SQLITE, SqliteConnection, stored

_SELECT_LAST_ID = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
_SKIP_IDS = "UPDATE sqlite_sequence SET seq = :last_id WHERE name = :table"
# SQLite adds the row of a table when it assigns the first id.
_SKIP_FIRST_IDS = """
    INSERT INTO sqlite_sequence (name, seq) SELECT :table, :last_id
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = :table)
"""


@frozen
class SqliteCopyConnection(CopyConnection):
    """A connection in a transaction of the file."""

    _database: Database
    _connection: sqlite3.Connection

    @property
    def shared(self) -> SqliteConnection:
        """What executes statements on this connection."""
        return SqliteConnection(self._connection)

    def stream(self, statement: Statement, values: Values = NO_VALUES) -> Iterator[Row]:
        return self._database.stream(self._connection, render(statement, SQLITE), values)

    def insert(self, table: str, rows: Sequence[Values]) -> None:
        columns, places = ", ".join(rows[0]), ", ".join(f":{column}" for column in rows[0])
        statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"
        self._connection.executemany(statement, map(stored, rows))

    def last_id(self, table: str) -> int:
        [last_id] = self._connection.execute(_SELECT_LAST_ID, (table,)).fetchone()
        return int(last_id)

    def skip_ids(self, table: str, last_id: int) -> None:
        if last_id > 0:
            counter = {"table": table, "last_id": last_id}
            self._connection.execute(_SKIP_IDS, counter)
            self._connection.execute(_SKIP_FIRST_IDS, counter)


_PAGES_PER_STEP = 1_000
"""4 MB. An interrupt takes effect between two steps."""


class BackupFailed(RecipientFieldsError):
    """The backup can't be written. No file was created or changed."""


def back_up(
    source: Path,
    backup: Path,
    *,
    pages_per_step: int = _PAGES_PER_STEP,
    on_step: Callable[[], object] = lambda: None,
) -> None:
    """Write a copy of a SQLite file to a new file, which can be opened as a storage.

    The copy is the content of one moment. Other processes can read and write the source during the
    backup. The new file gets its name when it is complete and on the disk. Only its owner can read
    it. After each step, `on_step` is called, and Python handles signals, such as Ctrl-C.

    Raises: BackupFailed if the new file exists already or can't be written, StorageNotFound if the
    source does not exist, StorageUnavailable if the source can't be opened.
    """
    if os.path.lexists(backup):
        raise BackupFailed(f"The file {backup} already exists. Choose another name.")
    with closing(Database(source, create=False)) as database, database.reading() as connection:
        # SQLite restarts a backup after each write of another process, unless the backup is in a
        # read transaction. That transaction begins with the first read.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        try:
            _write(connection, backup, pages_per_step, on_step)
        except FileExistsError:
            raise BackupFailed(f"The file {backup} already exists. Choose another name.") from None
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise BackupFailed(f"Can't back up {source} to {backup}: {reason}.") from error


def _write(
    source: sqlite3.Connection,
    backup: Path,
    pages_per_step: int,
    on_step: Callable[[], object],
) -> None:
    with _partial_file(backup) as (partial, descriptor):
        with closing(sqlite3.connect(partial)) as destination:
            # An incomplete file is deleted, so it needs no journal.
            destination.execute("PRAGMA journal_mode = OFF")
            destination.execute("PRAGMA synchronous = OFF")
            source.backup(destination, pages=pages_per_step, progress=lambda *_: on_step())
        os.fsync(descriptor)
        os.link(partial, backup)  # Unlike a rename, this never replaces a file.
    _sync_folder(backup.parent)


@contextmanager
def _partial_file(backup: Path) -> Iterator[tuple[str, int]]:
    """Create a file next to the backup that only its owner can read. Delete it at the end."""
    descriptor, name = mkstemp(".partial", f"{backup.name}.", backup.parent)
    try:
        yield name, descriptor
    finally:
        os.close(descriptor)
        Path(name).unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
