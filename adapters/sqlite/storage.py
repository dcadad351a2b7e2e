"""The storage in a SQLite file, and its URL."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import sleep

from recipient_fields.application import HistoryRepository, Snapshot
from recipient_fields.domain import InvalidStorageUrl, StorageNotEmpty, StorageUnavailable

from ..relational.copies import read_snapshot, write_snapshot
from ..relational.history import RelationalHistoryRepository
from ..relational.repositories import RelationalRepositories
from ..relational.statements import SQL
from ..url_options import boolean, take_options
from .database import OLDEST_SQLITE, Database
from .transfer import SqliteCopyConnection

_ROWS_PER_REMOVAL = 10_000
"""Few enough that other writers wait for a transaction for less than their timeout."""
_PAUSE = 0.1
"""Seconds between two deletions. SQLite does not queue writers: they try again after 0.1 s."""


class SqliteStorage(RelationalRepositories):
    """The repositories of one SQLite file, which is created if it does not exist.

    Several processes can use the file at the same time.

    Raises: StorageUnavailable if the file can't be opened or belongs to a newer version of this
    package, or if the SQLite library is older than 3.37; StorageNotFound if the file does not exist
    and `create` is false.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        create: bool = True,
        on_applied: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """Open the file, and apply the migrations that it lacks.

        `on_applied` is called with the name of each migration that this call has committed.
        """
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            oldest = ".".join(map(str, OLDEST_SQLITE))
            message = f"SQLite {sqlite3.sqlite_version} is too old. Use {oldest} or newer."
            raise StorageUnavailable(message)
        self._database = Database(Path(path), create=create)
        try:
            self._database.migrate(on_applied)
        except BaseException:
            self._database.close()
            raise
        super().__init__(self._database)
        self.history: HistoryRepository = RelationalHistoryRepository(
            self._database, rows_per_removal=_ROWS_PER_REMOVAL, pause=partial(sleep, _PAUSE)
        )

    def check(self) -> None:
        """Raise StorageUnavailable unless the file can be read and has the current schema."""
        self._database.check()

    def identity(self) -> Hashable:
        """Return the device and the inode of the file, which all its paths share."""
        return self._database.identity()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield the content of the file in one read transaction."""
        with self._database.reading() as connection:
            yield read_snapshot(SqliteCopyConnection(self._database, connection))

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot in one transaction."""
        with self._database.writing() as connection:
            copied = SqliteCopyConnection(self._database, connection)
            if copied.shared.one(SQL.select_organizations) is not None:
                raise StorageNotEmpty
            write_snapshot(copied, snapshot)

    def close(self) -> None:
        """Close every connection. A second call does nothing."""
        self._database.close()


_SCHEME = "sqlite:"


def open_storage(url: str, on_applied: Callable[[str], None] = lambda _name: None) -> SqliteStorage:
    """Open the storage at `sqlite:PATH`, an absolute path or one relative to the working directory.

    The path is not percent-decoded. Option `create=false`: do not create a missing file. Options
    begin after the last `?`, so a path that contains `?` requires another one at its end.
    `on_applied` is called with the name of each migration that this call has committed.

    Raises: InvalidStorageUrl if the URL is malformed, and the errors of SqliteStorage.
    """
    path, create = parse_url(url)
    return SqliteStorage(path, create=create, on_applied=on_applied)


def parse_url(url: str) -> tuple[Path, bool]:
    """Return the path in a storage URL, and whether a missing file is created.

    Raises: InvalidStorageUrl if the URL is malformed.
    """
    path, query = _split(url)
    if not path or path == ":memory:":
        raise InvalidStorageUrl(
            "Invalid storage URL: use sqlite:PATH, or memory: for a storage without a file."
        )
    if path.startswith("//") and not path.startswith("///"):
        raise InvalidStorageUrl(
            "Invalid storage URL: use sqlite:PATH, or sqlite:///PATH with an absolute path."
        )
    options = take_options(query, ("create",))
    return Path(path), boolean("create", options.get("create", "true"))


def without_creation(url: str) -> str:
    """Return the URL with the option `create=false`, unless it has options already."""
    path, query = _split(url)
    return url if query else f"{_SCHEME}{path}?create=false"


def find_readable_file(url: str) -> Path | None:
    """Return a file of the storage that other users can read, or None if there is none.

    The members of the file's group are not other users: they are a choice of the operator.
    """
    path, _ = parse_url(url)
    path = Path(os.path.realpath(path))
    folders_are_open = all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
    files = (path, path.with_name(f"{path.name}-wal"))
    readable = (each for each in files if each.exists() and each.stat().st_mode & stat.S_IROTH)
    return next(readable, None) if folders_are_open else None


def _split(url: str) -> tuple[str, str]:
    location = url.removeprefix(_SCHEME)
    if "?" not in location:
        return location, ""
    path, _, query = location.rpartition("?")
    return path, query
