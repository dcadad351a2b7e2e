"""The contract suite for the storage in a SQLite file."""

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time_ns

import pytest
from hypothesis import given, settings

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.sqlite import SqliteStorage, open_storage
from recipient_fields.application import Storage
from recipient_fields.testing import (
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
    StorageUrlContract,
    assert_storages_agree,
    machine_for,
    port_calls,
)
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition
from recipient_fields.testing.field_changes import add_field

from ..support.sqlite import create_file


@contextmanager
def sqlite_storage() -> Iterator[SqliteStorage]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "fields.db"
        create_file(file)
        with closing(SqliteStorage(file)) as storage:
            yield storage


class TestSqliteStorage(StorageContract):
    rounds = settings().max_examples
    """Fewer in `make test` than in `make test-all`."""

    @pytest.fixture(scope="class")
    @classmethod
    def storage(cls) -> Iterator[Storage]:
        with sqlite_storage() as storage:
            yield storage

    @pytest.fixture
    def storage_to_close(self, database: Path) -> Storage:
        return SqliteStorage(database)


class TestSqliteDurability(StorageDurabilityContract):
    @pytest.fixture
    def opened(self, database: Path) -> Callable[[], AbstractContextManager[Storage]]:
        return lambda: closing(SqliteStorage(database))


class TestSqliteUrls(StorageUrlContract):
    @pytest.fixture
    def open_storage(self) -> Callable[[str], Storage]:
        return open_storage

    @pytest.fixture
    def unopenable_urls(self, tmp_path: Path) -> Collection[str]:
        text = tmp_path / "text"
        text.write_text("This is no database.")
        return [
            f"sqlite:{tmp_path}",
            f"sqlite:{tmp_path}/no/such/folder/fields.db",
            f"sqlite:{text}",
            f"sqlite:{text}/fields.db",
        ]


def damage(database: Path) -> None:
    for part in database.parent.iterdir():
        with part.open("r+b") as file:
            file.write(os.urandom(part.stat().st_size))


def drop_the_tables(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (table,) in tables:
            connection.execute(f"DROP TABLE {table}")


class TestSqliteOutage(StorageOutageContract):
    @pytest.fixture(params=[damage, drop_the_tables])
    def broken_storage(self, database: Path, request: pytest.FixtureRequest) -> Iterator[Storage]:
        with closing(SqliteStorage(database)) as storage:
            request.param(database)
            yield storage


TestSqliteMachine = pytest.mark.slow(machine_for(sqlite_storage).TestCase)


@pytest.mark.slow
@given(port_calls())
def test_sqlite_agrees_with_memory(calls):
    with closing(MemoryStorage()) as memory, sqlite_storage() as sqlite:
        assert_storages_agree(memory, sqlite, calls)


def test_a_revision_that_a_restore_has_lost_is_not_reused() -> None:
    """It increases at least to the current time, so that no lost revision is assigned again."""
    with sqlite_storage() as storage:
        ours = storage.organizations.add("ACME", NOW).id
        before = time_ns() // 1_000_000
        add_field(storage.fields, ours, a_definition(), author=AUTHOR)
        assert storage.fields.all(ours).revision >= before
