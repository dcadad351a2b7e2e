"""Run the contract suite of recipient_fields on DuckDB."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from recipient_fields_duckdb import DuckdbStorage, open_storage
from recipient_fields_duckdb.database import TABLES

from recipient_fields import MemoryStorage
from recipient_fields.application import Storage
from recipient_fields.domain import InvalidStorageUrl
from recipient_fields.testing import (
    Call,
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
    StorageUrlContract,
    assert_storages_agree,
    machine_for,
    port_calls,
)

# Slow machines must not fail tests.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@contextmanager
def new_storage() -> Iterator[DuckdbStorage]:
    """Yield a storage with a new file."""
    with TemporaryDirectory() as folder, closing(DuckdbStorage(f"{folder}/fields")) as storage:
        yield storage


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a file that stays open, so that DuckDB can open it again quickly."""
    file = tmp_path_factory.mktemp("duckdb") / "fields"
    with closing(DuckdbStorage(file)):
        yield file


class TestDuckdbStorage(StorageContract):
    """Test the specification of the ports."""

    rounds = 30  # Each round is a commit, which DuckDB flushes to disk.

    @pytest.fixture
    def storage(self, file: Path) -> Iterator[Storage]:
        """Yield the storage to test."""
        with closing(DuckdbStorage(file)) as storage:
            yield storage


TestDuckdbMachine = machine_for(new_storage).TestCase
TestDuckdbMachine.settings = settings(max_examples=6, stateful_step_count=25)


@settings(max_examples=10)
@given(port_calls())
def test_duckdb_agrees_with_memory(calls: list[Call]) -> None:
    """Every call returns the same as the memory storage."""
    with closing(MemoryStorage()) as memory, new_storage() as storage:
        assert_storages_agree(memory, storage, calls)


class TestDuckdbDurability(StorageDurabilityContract):
    """Test that data survives closing the storage."""

    rounds = 20

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Callable[[], AbstractContextManager[Storage]]:
        """Return a function that opens the same file."""
        return lambda: closing(DuckdbStorage(tmp_path / "fields"))


class TestDuckdbUrls(StorageUrlContract):
    """Test the errors for URLs that can't be opened."""

    @pytest.fixture
    def open_storage(self) -> Callable[[str], Storage]:
        """Return the function of the entry point."""
        return open_storage

    @pytest.fixture
    def unopenable_urls(self, tmp_path: Path) -> Collection[str]:
        """Return URLs with a missing folder, and with a file of another format."""
        (tmp_path / "text").write_text("This is not a database.")
        return [f"duckdb:{tmp_path}/missing/fields", f"duckdb:{tmp_path}/text"]


def test_a_url_without_a_path_is_malformed() -> None:
    """A malformed URL raises InvalidStorageUrl, not StorageUnavailable."""
    for url in ("duckdb:", "duckdb::memory:"):
        with pytest.raises(InvalidStorageUrl):
            open_storage(url)


class TestDuckdbOutage(StorageOutageContract):
    """Test the errors if DuckDB fails."""

    @pytest.fixture
    def broken_storage(self, tmp_path: Path) -> Iterator[Storage]:
        """Yield a storage whose tables are dropped."""
        file = tmp_path / "fields"
        with closing(DuckdbStorage(file)) as storage:
            with closing(duckdb.connect(str(file))) as connection:
                for table in TABLES:
                    connection.execute(f"DROP TABLE {table}")
            yield storage
