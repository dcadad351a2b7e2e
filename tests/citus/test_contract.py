"""The contract suite on Citus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing

import pytest

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.testing import StorageContract, StorageDurabilityContract

from ..adapters.postgres.field_counts import require_exact_counters


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
