"""Copies from and to SQLite files that are damaged or in use."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import CopyFailed, copy_storage
from recipient_fields.domain import StorageUnavailable

from .snapshots import snapshot_of


@pytest.fixture
def source(database: Path) -> Path:
    """Create a closed file with 3,000 fields."""
    with closing(SqliteStorage(database)) as storage:
        storage.store_snapshot(snapshot_of(3_000))
    return database


@pytest.fixture
def target(tmp_path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage(tmp_path / "target.db")) as storage:
        yield storage


def test_a_damaged_row_ends_a_copy_and_is_reported(source, target):
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("UPDATE recipient_fields SET key = 'Not a key' WHERE id = 2000")
        connection.commit()
    with (
        closing(SqliteStorage(source)) as storage,
        pytest.raises(CopyFailed, match="Source storage: The row recipient_fields 2000 "),
    ):
        copy_storage(storage, target)
    assert target.organizations.all() == ()


def test_a_damaged_source_is_reported_even_if_the_target_is_also_a_sqlite_file(source, target):
    def damage(kind: str, number: int, _count: int) -> None:
        if (kind, number) == ("fields", 10):
            size = source.stat().st_size
            with source.open("r+b") as file:
                file.seek(size // 4)
                file.write(bytes(size - size // 4))

    with (
        closing(SqliteStorage(source)) as storage,
        pytest.raises(CopyFailed, match=f"Source storage: SQLite: .*: {source}"),
    ):
        copy_storage(storage, target, on_progress=damage)
    assert target.organizations.all() == ()


def test_a_target_that_another_process_writes_to_is_an_error(target, tmp_path):
    with closing(sqlite3.connect(tmp_path / "target.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="database is locked"):
            target.store_snapshot(snapshot_of(1))


def test_readers_of_the_target_are_not_blocked_by_a_copy(target):
    seen: list[object] = []
    target.store_snapshot(snapshot_of(2, lambda _: seen.append(target.organizations.all())))
    assert seen == [(), ()]
