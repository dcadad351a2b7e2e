"""Backups of a SQLite file that is in use."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

import pytest

from recipient_fields.adapters.sqlite import BackupFailed, SqliteStorage, back_up
from recipient_fields.domain import RecipientField, StorageNotFound, StorageUnavailable
from recipient_fields.testing.examples import AUTHOR, a_definition
from recipient_fields.testing.field_changes import add_field

from .snapshots import OURS, snapshot_of

WRITE_UNTIL_KILLED = """
import sys
from itertools import count
from recipient_fields.testing.examples import AUTHOR, a_definition
from recipient_fields.testing.field_changes import add_field
from recipient_fields.adapters.sqlite import SqliteStorage
storage = SqliteStorage(sys.argv[1])
for number in count():
    print(add_field(storage.fields, 1, a_definition(f"new_{number}"), author=AUTHOR).id, flush=True)
"""
BACK_UP_AND_BE_KILLED = """
import os, signal, sys
from pathlib import Path
from recipient_fields.adapters.sqlite import back_up
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
back_up(*map(Path, sys.argv[1:]), pages_per_step=1, on_step=kill)
"""


@pytest.fixture
def storage(database: Path) -> Iterator[SqliteStorage]:
    """Open a storage with 100 fields."""
    with closing(SqliteStorage(database)) as storage:
        storage.store_snapshot(snapshot_of(100))
        yield storage


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return the path of the backup in an empty folder."""
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder / "fields.backup"


back_up_in_steps = partial(back_up, pages_per_step=1)


def test_a_backup_opens_as_a_storage_with_everything(storage, database, copy):
    back_up(database, copy)
    assert list(copy.parent.iterdir()) == [copy]
    with closing(SqliteStorage(copy)) as restored:
        restored.check()
        assert restored.fields.all(OURS) == storage.fields.all(OURS)
        assert add_field(restored.fields, OURS, a_definition(), author=AUTHOR).id == 101


def test_a_backup_is_one_valid_file_that_only_its_owner_can_read(storage, database, copy):
    back_up(database, copy)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_backup_ends_even_if_the_file_changes_after_each_step(
    storage, database, copy, monkeypatch
):
    before = storage.fields.all(OURS)
    added: list[RecipientField] = []

    def write() -> None:
        definition = a_definition(f"new_{len(added)}")
        added.append(add_field(storage.fields, OURS, definition, author=AUTHOR))

    back_up_in_steps(database, copy, on_step=write)
    assert len(added) > 10
    assert len(storage.fields.all(OURS).fields) == 100 + len(added)
    with closing(SqliteStorage(copy)) as restored:
        assert restored.fields.all(OURS) == before


def test_a_backup_during_writes_of_another_process_has_all_acknowledged_records(
    storage, database, copy
):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, str(database)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    with writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(20)]
        back_up(database, copy)
        acknowledged_since = int(writer.stdout.readline())
        writer.kill()
    with closing(SqliteStorage(copy)) as restored:
        ids = [field.id for field in restored.fields.all(OURS).fields]
    assert ids == [*range(1, len(ids) + 1)]
    assert ids[-1] >= acknowledged[-1]
    assert acknowledged_since > acknowledged[-1]


@pytest.mark.parametrize(
    "taken",
    [lambda path: path.write_text("precious"), Path.mkdir, lambda path: path.symlink_to("nowhere")],
    ids=["file", "folder", "dangling link"],
)
def test_an_existing_file_is_not_changed(storage, database, copy, taken):
    taken(copy)
    before = os.lstat(copy)
    with pytest.raises(BackupFailed, match="already exists"):
        back_up(database, copy)
    assert os.lstat(copy) == before
    assert list(copy.parent.iterdir()) == [copy]


def test_a_file_that_is_created_during_the_backup_is_not_changed(storage, database, copy):
    with pytest.raises(BackupFailed, match="already exists"):
        back_up_in_steps(database, copy, on_step=lambda: copy.write_text("precious"))
    assert copy.read_text() == "precious"
    assert list(copy.parent.iterdir()) == [copy]


def test_an_interrupted_backup_leaves_no_file(storage, database, copy):
    interrupt = partial(signal.raise_signal, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        back_up_in_steps(database, copy, on_step=interrupt)
    assert list(copy.parent.iterdir()) == []
    add_field(storage.fields, OURS, a_definition(), author=AUTHOR)


def test_a_killed_backup_leaves_no_file_of_that_name_and_can_be_repeated(storage, database, copy):
    killed = subprocess.run(
        [sys.executable, "-c", BACK_UP_AND_BE_KILLED, str(database), str(copy)], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert not copy.exists()
    assert all(left.name.endswith(".partial") for left in copy.parent.iterdir())
    back_up(database, copy)
    with closing(SqliteStorage(copy)) as restored:
        assert restored.fields.all(OURS) == storage.fields.all(OURS)


def test_a_full_disk_is_an_error_and_leaves_no_file(storage, database, copy):
    limits = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (8_192, limits[1]))
    try:
        with pytest.raises(BackupFailed, match=f"Can't back up {database} to {copy}: "):
            back_up(database, copy)
    finally:
        setrlimit(RLIMIT_FSIZE, limits)
    assert list(copy.parent.iterdir()) == []


def test_a_missing_folder_is_an_error(storage, database, copy):
    with pytest.raises(BackupFailed, match="No such file or directory"):
        back_up(database, copy.parent / "missing" / "fields.backup")


def test_a_missing_source_is_an_error_and_creates_no_file(database, copy):
    with pytest.raises(StorageNotFound, match="There is no SQLite file"):
        back_up(database, copy)
    assert not database.exists()
    assert not copy.exists()


def test_a_source_that_is_not_a_database_is_an_error(database, copy):
    database.write_text("no database" * 1_000)
    with pytest.raises(StorageUnavailable, match="file is not a database"):
        back_up(database, copy)
    assert list(copy.parent.iterdir()) == []
