"""Copies from and to SQLite files that are damaged or in use."""

from __future__ import annotations

import sqlite3
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


def test_a_damaged_row_ends_a_copy_and_is_reported(source, tmp_path):
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("UPDATE recipient_fields SET key = 'Not a key' WHERE id = 2000")
        connection.commit()
    with (
        closing(SqliteStorage(source)) as storage,
        closing(SqliteStorage(tmp_path / "target.db")) as target,
    ):
        with pytest.raises(CopyFailed, match="Source storage: The row recipient_fields 2000 "):
            copy_storage(storage, target)
        assert target.organizations.all() == ()


def test_a_damaged_source_is_reported_even_if_the_target_is_also_a_sqlite_file(source, tmp_path):
    def damage(kind: str, number: int, _count: int) -> None:
        if (kind, number) == ("fields", 10):
            size = source.stat().st_size
            with source.open("r+b") as file:
                file.seek(size // 4)
                file.write(bytes(size - size // 4))

    with (
        closing(SqliteStorage(source)) as storage,
        closing(SqliteStorage(tmp_path / "target.db")) as target,
    ):
        with pytest.raises(CopyFailed, match=f"Source storage: SQLite: .*: {source}"):
            copy_storage(storage, target, on_progress=damage)
        assert target.organizations.all() == ()


def test_a_target_that_another_process_writes_to_is_an_error(source, tmp_path):
    path = tmp_path / "target.db"
    with (
        closing(SqliteStorage(path)) as target,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailable, match="database is locked"):
            target.store_snapshot(snapshot_of(1))


def test_readers_of_the_target_are_not_blocked_by_a_copy(tmp_path):
    with closing(SqliteStorage(tmp_path / "target.db")) as target:
        seen: list[object] = []
        target.store_snapshot(snapshot_of(2, lambda _: seen.append(target.organizations.all())))
        assert seen == [(), ()]
