"""A storage in a DuckDB file. Only one process at a time can open the file."""

from __future__ import annotations

from pathlib import Path

from recipient_fields.domain import InvalidStorageUrl

from .administrators import DuckdbAdministratorRepository
from .api_keys import DuckdbApiKeyRepository
from .database import Database
from .fields import DuckdbFieldRepository
from .history import DuckdbHistoryRepository
from .integrations import DuckdbEspConnectionRepository, DuckdbIntegrationRepository
from .organizations import DuckdbOrganizationRepository
from .sessions import DuckdbSessionRepository

__all__ = ["DuckdbStorage", "open_storage"]


class DuckdbStorage:
    """A storage in one DuckDB file, which is created if it does not exist.

    Raises: StorageUnavailable if the file can't be opened, for example because another process
    has opened it.
    """

    def __init__(self, path: Path | str) -> None:
        self._database = Database(Path(path))
        self.organizations = DuckdbOrganizationRepository(self._database)
        self.fields = DuckdbFieldRepository(self._database)
        self.history = DuckdbHistoryRepository(self._database)
        self.integrations = DuckdbIntegrationRepository(self._database)
        self.esp_connections = DuckdbEspConnectionRepository(self._database)
        self.api_keys = DuckdbApiKeyRepository(self._database)
        self.administrators = DuckdbAdministratorRepository(self._database)
        self.sessions = DuckdbSessionRepository(self._database)

    def check(self) -> None:
        self._database.check()

    def close(self) -> None:
        self._database.close()


def open_storage(url: str) -> DuckdbStorage:
    """Open the storage of a URL `duckdb:PATH`. The entry point refers to this function.

    Raises: InvalidStorageUrl if the URL has no path, and the errors of DuckdbStorage.
    """
    path = url.removeprefix("duckdb:")
    if not path or path.startswith(":"):
        raise InvalidStorageUrl("Write duckdb:PATH; for a storage without a file, memory:.")
    return DuckdbStorage(path)
