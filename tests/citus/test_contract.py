"""The contract suite on Citus, also over the connections of an application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing

import pytest

from recipient_fields.adapters.postgres import PostgresConnectionStorage, PostgresStorage
from recipient_fields.testing import StorageContract, StorageDurabilityContract

from ..adapters.postgres.field_counts import require_exact_counters
from ..adapters.postgres.test_connection_storage import opened_storage


class TestCitusStorage(StorageContract):
    @pytest.fixture
    def storage(self, emptied_database: str) -> Iterator[PostgresStorage]:
        with closing(PostgresStorage(emptied_database)) as storage:
            yield storage
        require_exact_counters(emptied_database)


class TestCitusDurability(StorageDurabilityContract):
    @pytest.fixture
    def opened(
        self, emptied_database: str
    ) -> Callable[[], AbstractContextManager[PostgresStorage]]:
        return lambda: closing(PostgresStorage(emptied_database))


class TestCitusConnectionStorage(StorageContract):
    @pytest.fixture
    def storage(self, shared_database: str) -> Iterator[PostgresConnectionStorage]:
        with opened_storage(shared_database) as storage:
            yield storage
        require_exact_counters(shared_database)
