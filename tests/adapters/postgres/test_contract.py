"""The contract suite on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import run_state_machine_as_test

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.application import Storage
from recipient_fields.entrypoints.service.selection import open_storage
from recipient_fields.testing import (
    FieldRepositoryContract,
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
    StorageUrlContract,
    assert_storages_agree,
    machine_for,
    port_calls,
)
from recipient_fields.testing.field_limits import (
    FieldLimitCases,
    RestoredFieldLimitCases,
    SyncedFieldLimitCases,
)

from ...support.network import free_port
from ...support.postgres import EMPTY, execute, new_database
from .field_counts import require_exact_counters


class TestPostgresStorage(StorageContract):
    rounds = settings().max_examples
    """Fewer in `make test` than in `make test-all`."""

    @pytest.fixture(scope="class")
    @classmethod
    def storage(cls, shared_database: str) -> Iterator[PostgresStorage]:
        with closing(PostgresStorage(shared_database)) as storage:
            yield storage
        require_exact_counters(shared_database)

    @pytest.fixture
    def storage_to_close(self, shared_database: str) -> PostgresStorage:
        return PostgresStorage(shared_database)


@pytest.mark.slow
class TestPostgresPlans(
    FieldRepositoryContract, FieldLimitCases, RestoredFieldLimitCases, SyncedFieldLimitCases
):
    """Changes and creations without the fast ways, which other cases use as the service does."""

    @pytest.fixture(scope="class")
    @classmethod
    def storage(cls, shared_database: str) -> Iterator[PostgresStorage]:
        with closing(PostgresStorage(shared_database, prepare=False)) as storage:
            yield storage
        require_exact_counters(shared_database)


class TestPostgresDurability(StorageDurabilityContract):
    @pytest.fixture
    def opened(self, database: str) -> Callable[[], AbstractContextManager[PostgresStorage]]:
        return lambda: closing(PostgresStorage(database))


class TestPostgresUrls(StorageUrlContract):
    @pytest.fixture
    def open_storage(self) -> Callable[[str], Storage]:
        return open_storage

    @pytest.fixture
    def unopenable_urls(self, empty_database: str) -> Collection[str]:
        user = f"postgresql://alice:{self.password}@"
        port = free_port()
        return [
            f"{user}127.0.0.1:{port}/fields",
            f"{user}127.0.0.1:{port},127.0.0.1:{port}/fields",
            f"{user}127.0.0.1:port/fields",
            f"{user}127.0.0.1/fields?no_such_option=1",
            f"{user}127.0.0.1:{port}/fields?sslmode=require",
            f"{user}/fields?host=/no/such/folder",
            f"{user}[::1/fields",
            f"postgresql://127.0.0.1:{port}/fields?user=alice&password={self.password}",
            f"postgresql://alice:{self.password}%ZZ@127.0.0.1:{port}/fields",
            empty_database,
        ]


class TestServerThatRejectsConnections(StorageOutageContract):
    @pytest.fixture(scope="class")
    @classmethod
    def broken_storage(cls, server_url: str) -> Iterator[PostgresStorage]:
        with opened_storage(server_url) as (url, storage):
            close_to_everyone(server_url, url.rpartition("/")[2])
            yield storage


class TestMissingTables(StorageOutageContract):
    @pytest.fixture(scope="class")
    @classmethod
    def broken_storage(cls, server_url: str) -> Iterator[PostgresStorage]:
        with opened_storage(server_url) as (url, storage):
            execute(url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            yield storage


@contextmanager
def opened_storage(server_url: str) -> Iterator[tuple[str, PostgresStorage]]:
    """Open a storage on a new database for the block. The tests of a class share it."""
    with new_database(server_url) as url:
        migrate(url)
        with closing(PostgresStorage(url)) as storage:
            yield url, storage


def close_to_everyone(server_url: str, name: str) -> None:
    execute(server_url, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    execute(
        server_url,
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'",
    )


# Hypothesis takes it for the strategies' doing when the pool's threads draw a random number.
the_pool_may_be_random = pytest.mark.filterwarnings(
    "ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning"
)


@the_pool_may_be_random
@pytest.mark.slow
def test_any_sequence_of_calls_returns_what_the_model_returns(shared_database):
    machine = machine_for(lambda: closing(PostgresStorage(shared_database)))
    run_state_machine_as_test(machine, settings=settings(max_examples=30))
    require_exact_counters(shared_database)


@the_pool_may_be_random
@settings(
    suppress_health_check=[
        *settings().suppress_health_check,
        HealthCheck.function_scoped_fixture,
    ]
)
@given(calls=port_calls())
@pytest.mark.slow
def test_postgresql_and_memory_return_the_same(storage, shared_database, calls):
    execute(shared_database, EMPTY)
    assert_storages_agree(storage, MemoryStorage(), calls)
    require_exact_counters(shared_database)
