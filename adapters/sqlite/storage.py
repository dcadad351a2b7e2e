"""The storage in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRepository,
    SessionRepository,
    Snapshot,
)
from recipient_fields.domain import StorageUnavailable

from ..relational.administrators import RelationalAdministratorRepository
from ..relational.api_keys import RelationalApiKeyRepository
from ..relational.organizations import RelationalOrganizationRepository, insert_organization
from ..relational.sessions import RelationalSessionRepository
from .database import OLDEST_SQLITE, Database
from .fields import SqliteFieldRepository
from .history import SqliteHistoryRepository
from .integrations import SqliteIntegrationRepository
from .organizations import advance_revision
from .transfer import read_snapshot, write_snapshot


class SqliteStorage:
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
        database = self._database
        self.organizations: OrganizationRepository = RelationalOrganizationRepository(
            database, insert_organization
        )
        self.fields: FieldRepository = SqliteFieldRepository(database)
        self.history: HistoryRepository = SqliteHistoryRepository(database)
        self.integrations: IntegrationRepository = SqliteIntegrationRepository(
            database=database, advance=advance_revision
        )
        self.api_keys: ApiKeyRepository = RelationalApiKeyRepository(database)
        self.administrators: AdministratorRepository = RelationalAdministratorRepository(database)
        self.sessions: SessionRepository = RelationalSessionRepository(database)

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
            yield read_snapshot(self._database, connection)

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot in one transaction."""
        with self._database.writing() as connection:
            write_snapshot(connection, snapshot)

    def close(self) -> None:
        """Close every connection. A second call does nothing."""
        self._database.close()
