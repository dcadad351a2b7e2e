"""Copies between all storages that are Transferable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path

import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import Storage
from recipient_fields.testing import StorageTransferContract

from ..support.postgres import EMPTY, execute, new_database


@pytest.fixture(scope="module")
def databases(server_url: str) -> Iterator[dict[str, str]]:
    """Create a migrated database for each role."""
    with ExitStack() as stack:
        urls = {}
        for role in ("source", "target"):
            urls[role] = stack.enter_context(new_database(server_url))
            migrate(urls[role])
        yield urls


def empty_storage(
    technology: str, role: str, folder: Path, request: pytest.FixtureRequest
) -> AbstractContextManager[Storage]:
    if technology == "memory":
        return closing(MemoryStorage())
    if technology == "sqlite":
        return closing(SqliteStorage(folder / f"{role}.db"))
    url = request.getfixturevalue("databases")[role]
    execute(url, EMPTY)
    return closing(PostgresStorage(url))


class TestTransfer(StorageTransferContract):
    @pytest.fixture(
        params=["memory sqlite", "sqlite postgres", "postgres postgres", "postgres memory"]
    )
    def technologies(self, request: pytest.FixtureRequest) -> list[str]:
        """Return those of the source and the target. What is copied is the same for all pairs."""
        return request.param.split()

    @pytest.fixture
    def source(
        self, technologies: list[str], request: pytest.FixtureRequest, tmp_path: Path
    ) -> Iterator[Storage]:
        with empty_storage(technologies[0], "source", tmp_path, request) as storage:
            yield storage

    @pytest.fixture
    def target(
        self, technologies: list[str], request: pytest.FixtureRequest, tmp_path: Path
    ) -> Iterator[Storage]:
        with empty_storage(technologies[1], "target", tmp_path, request) as storage:
            yield storage
