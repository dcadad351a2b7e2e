"""The storage of recipient fields in one DuckDB file, which one process at a time may open."""

from __future__ import annotations

from pathlib import Path

from recipient_fields.domain import StorageUnavailable

from .api_keys import DuckdbApiKeyRepository
from .database import Database
from .fields import DuckdbFieldRepository
from .integrations import DuckdbIntegrationRepository
from .organizations import DuckdbOrganizationRepository

__all__ = ["DuckdbStorage", "open_storage"]


class DuckdbStorage:
    """The repositories of one DuckDB file, which is made where there is none.

    StorageUnavailable where it can't be opened, as where another process has it open.
    """

    def __init__(self, path: Path | str) -> None:
        self._database = Database(Path(path))
        self.organizations = DuckdbOrganizationRepository(self._database)
        self.fields = DuckdbFieldRepository(self._database)
        self.integrations = DuckdbIntegrationRepository(self._database)
        self.api_keys = DuckdbApiKeyRepository(self._database)

    def check(self) -> None:
        self._database.check()

    def close(self) -> None:
        self._database.close()


def open_storage(url: str) -> DuckdbStorage:
    """The storage of a URL `duckdb:PATH`, as the entry point `recipient_fields.storage` asks."""
    path = url.removeprefix("duckdb:")
    if not path or path.startswith(":"):
        raise StorageUnavailable("Write duckdb:PATH; for a storage without a file, memory:.")
    return DuckdbStorage(path)
