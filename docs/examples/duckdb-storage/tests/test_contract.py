"""The contracts of recipient_fields, kept in DuckDB."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import given, settings
from recipient_fields_duckdb import DuckdbStorage, open_storage

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Storage
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


@contextmanager
def new_storage() -> Iterator[DuckdbStorage]:
    """A storage of a new file."""
    with TemporaryDirectory() as folder, closing(DuckdbStorage(f"{folder}/fields")) as storage:
        yield storage


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file that stays open, so that DuckDB opens it again at once."""
    file = tmp_path_factory.mktemp("duckdb") / "fields"
    with closing(DuckdbStorage(file)):
        yield file


class TestDuckdbStorage(StorageContract):
    """What the ports promise."""

    rounds = 30  # Each is a commit, and DuckDB writes each to the disk.

    @pytest.fixture
    def storage(self, file: Path) -> Iterator[Storage]:
        """The storage that every case judges."""
        with closing(DuckdbStorage(file)) as storage:
            yield storage


TestDuckdbMachine = machine_for(new_storage).TestCase
TestDuckdbMachine.settings = settings(max_examples=6, stateful_step_count=25, deadline=None)


@settings(max_examples=10, deadline=None)
@given(port_calls())
def test_duckdb_agrees_with_memory(calls: list[Call]) -> None:
    """Every answer is that of the storage in memory."""
    with closing(MemoryStorage()) as memory, new_storage() as storage:
        assert_storages_agree(memory, storage, calls)


class TestDuckdbDurability(StorageDurabilityContract):
    """What outlives the storage that stored it."""

    rounds = 20

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Callable[[], AbstractContextManager[Storage]]:
        """The same file each time."""
        return lambda: closing(DuckdbStorage(tmp_path / "fields"))


class TestDuckdbUrls(StorageUrlContract):
    """What is reported for URLs that can't be opened."""

    @pytest.fixture
    def open_storage(self) -> Callable[[str], Storage]:
        """The function that the entry point names."""
        return open_storage

    @pytest.fixture
    def unopenable_urls(self, tmp_path: Path) -> Collection[str]:
        """No path, a missing folder, and a file of another kind."""
        (tmp_path / "text").write_text("This is no database.")
        return ["duckdb:", f"duckdb:{tmp_path}/missing/fields", f"duckdb:{tmp_path}/text"]


class TestDuckdbOutage(StorageOutageContract):
    """What is told when DuckDB fails."""

    @pytest.fixture
    def broken_storage(self, tmp_path: Path) -> Iterator[Storage]:
        """Its tables are gone."""
        file = tmp_path / "fields"
        with closing(DuckdbStorage(file)) as storage:
            with closing(duckdb.connect(str(file))) as connection:
                for table in ("organizations", "recipient_fields", "integrations", "api_keys"):
                    connection.execute(f"DROP TABLE {table}")
            yield storage
