"""Connections, transactions, errors and the schema of one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeVar

from recipient_fields.domain import DigestTaken, StorageNotFound, StorageUnavailable

from ..relational.catalogs import complete_catalogs
from ..relational.database import CALL_TIMEOUT, NO_VALUES, RowLock, Values, Work
from ..relational.database import Database as RelationalDatabase
from ..relational.repositories import TABLES
from ..relational.statements import read_scripts
from .dialect import SqliteConnection, provide_functions, stored

T = TypeVar("T")

OLDEST_SQLITE = (3, 37, 0)
"""The first version of SQLite with STRICT tables."""

_BUSY_TIMEOUT_MILLISECONDS = 2_000
_DIGEST_TAKEN = "UNIQUE constraint failed: api_keys.digest"
"""SQLite's message if an API key already has the digest."""


class Database(RelationalDatabase):
    """One SQLite file. Each transaction has a connection, which later transactions reuse.

    This is the only place where errors of the driver become errors of the domain.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._create = create
        self._path = path.absolute()  # The working directory can change.
        self._file: tuple[int, int] | None = None
        self._lock = Lock()
        self._writer = Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._migrations = [*read_scripts(__package__, "migrations").items()]

    def read(
        self,
        work: Work[T],
        /,
        *,
        seconds: float = CALL_TIMEOUT,  # noqa: ARG002 - SQLite has no deadlines
    ) -> T:
        """Return the result of the work, whose statements see one state of the file."""
        with self._transaction("BEGIN") as connection:
            return work(SqliteConnection(connection))

    def write(
        self,
        work: Work[T],
        /,
        *,
        lock: RowLock | None = None,
        pipelined: bool = False,  # noqa: ARG002 - there are no round trips
        seconds: float = CALL_TIMEOUT,  # noqa: ARG002 - SQLite has no deadlines
    ) -> T:
        with self.writing() as connection:
            return work(SqliteConnection(connection, lock))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a read transaction, whose statements see one state of the file."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a write transaction, one at a time. If the block raises, it is rolled back."""
        with self._write_lock(), self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def stream(
        self, connection: sqlite3.Connection, statement: str, values: Values = NO_VALUES
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the statement, which are read during the iteration.

        The driver's errors are translated here, because another storage may iterate over the rows.
        """
        with _translated_errors(self._path):
            for row in connection.execute(statement, stored(values)):  # noqa: UP028 (would close the cursor)
                yield row

    def identity(self) -> Hashable:
        """Return the device and the inode of the file, which all its paths share."""
        with self.reading():
            return self._file

    def migrate(self, on_applied: Callable[[str], None]) -> None:
        """Apply the missing migrations, one transaction each.

        `on_applied` is called with the name of each one that this call has committed.

        Then store the sizes of the catalogs that have none.

        Raises: StorageUnavailable if a newer version of this package has migrated the file.
        """
        while True:
            with self.writing() as connection:
                version = self._version(connection)
                if version == len(self._migrations):
                    break
                name, script = self._migrations[version]
                for statement in _statements(script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            on_applied(name)
        with _translated_errors(self._path), self._connection() as connection:
            complete_catalogs(SqliteConnection(connection))

    def check(self) -> None:
        """Raise StorageUnavailable unless the file can be read and has the current schema."""
        with self.reading() as connection:
            if self._version(connection) != len(self._migrations):
                raise StorageUnavailable("The schema is not current. Open the file again.")
            connection.execute(f"SELECT 1 FROM {', '.join(TABLES)} LIMIT 0")

    def close(self) -> None:
        """Close every connection. One that is in use is closed when its transaction ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _version(self, connection: sqlite3.Connection) -> int:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(self._migrations):
            raise StorageUnavailable(
                "The SQLite file belongs to a newer version of Recipient Fields. Upgrade first."
            )
        return version

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        # SQLite does not queue writers, so some could retry until their timeout. The threads of one
        # process therefore share a lock.
        if not self._writer.acquire(timeout=_BUSY_TIMEOUT_MILLISECONDS / 1_000):
            raise StorageUnavailable("SQLite: other writers did not finish in time")
        try:
            yield
        finally:
            self._writer.release()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with _translated_errors(self._path), self._connection() as connection:
            connection.execute(begin)
            try:
                self._require_own_file()  # BEGIN may have waited for other writers.
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = self._acquire()
        try:
            yield connection
        except sqlite3.Error:
            connection.close()  # It may be broken: the next transaction opens a new one.
            raise
        except BaseException:
            self._release(connection)
            raise
        self._release(connection)

    def _acquire(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StorageUnavailable("The storage is closed.")
            if self._idle:
                return self._idle.pop()
        self._require_own_file()  # Otherwise SQLite would create a new file.
        if self._find_file() is None:
            if not self._create:
                raise StorageNotFound(f"There is no SQLite file {self._path}.")
            _create_private(self._path)
        connection = self._connect()
        if self._file is None:
            self._file = self._find_file()
        return connection

    def _require_own_file(self) -> None:
        """Raise StorageUnavailable if the path is no longer that of the opened file.

        Writes to a file without a path would be lost without an error.
        """
        if self._file is not None and self._find_file() != self._file:
            raise StorageUnavailable(
                "The SQLite file was removed or replaced while it was open. Open it again."
            )

    def _find_file(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageUnavailable(f"SQLite: {error.strerror}: {self._path}") from error
        return found.st_dev, found.st_ino

    def _release(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path if self._create else f"{self._path.as_uri()}?mode=rw",
            uri=not self._create,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MILLISECONDS}")
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            provide_functions(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _create_private(path: Path) -> None:
    """Create an empty file that only its owner can read. SQLite's other files get its permissions.

    SQLite itself would create a file that all users can read.
    """
    target = Path(os.path.realpath(path))  # A new file never replaces a symbolic link.
    with suppress(OSError):  # Another process has created it, or SQLite reports the same error.
        target.touch(mode=stat.S_IRUSR | stat.S_IWUSR, exist_ok=False)


def _use_wal(connection: sqlite3.Connection) -> None:
    # Only a new file needs this. If several processes do it at once, SQLite reports to all but one
    # that the file is busy, without regard to busy_timeout.
    deadline = monotonic() + _BUSY_TIMEOUT_MILLISECONDS / 1_000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                raise
            sleep(0.01)
        else:
            return


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StorageUnavailable(f"SQLite: {error}: {path}") from error
    except sqlite3.IntegrityError as error:
        if str(error) != _DIGEST_TAKEN:
            raise
        raise DigestTaken from error
    except sqlite3.DatabaseError as error:
        # DatabaseError itself means a damaged file. Its other subclasses are defects of this code.
        if type(error) is not sqlite3.DatabaseError:
            raise
        raise StorageUnavailable(f"SQLite: {error}: {path}") from error


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
