"""A SQLite file that several processes share, and processes that are killed."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from time import sleep

import pytest
from attrs import evolve

from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.domain import (
    MAX_HISTORY_PAGE,
    MILLISECOND,
    BeforeHistory,
    HistoryPage,
    HistoryQuery,
    HistoryRecord,
    IntegrationId,
    OrganizationId,
    sync_channel,
)
from recipient_fields.testing.examples import (
    AUTHOR,
    LATER,
    NOW,
    a_definition,
    an_esp_field,
    an_integration_draft,
    permit,
    records_of,
    renaming,
    reporting,
    restoring,
)
from recipient_fields.testing.field_changes import (
    add_field,
    delete_field,
    restore_field,
    update_field,
)
from recipient_fields.testing.history import replay

pytestmark = pytest.mark.slow

OURS = OrganizationId(1)

OPEN = """
storage = SqliteStorage(sys.argv[1])
storage.check()
storage.close()
"""

COUNT_UP_AND_ADD = """
def count_up(field):
    changes = FieldChanges(name=FieldName(str(int(field.name) + 1)))
    return field.with_changes(changes, by=API, at=field.updated_at)

storage = SqliteStorage(sys.argv[1])
for number in range(100):
    update_field(storage.fields, 1, FieldKey("counter"), count_up, author=AUTHOR)
    draft = FieldDraft(name="City", key=f"{sys.argv[2]}_{number}", data_type=DataType.TEXT)
    add_field(storage.fields, 1, draft.define(by=API, at=NOW), author=AUTHOR)
storage.close()
"""

CHANGE_FIELDS = """
def rename(field):
    return field.with_changes(FieldChanges(name=FieldName("Town")), by=API, at=NOW)

def restore(field):
    return field.restored(by=API, at=NOW)

def while_locked(call, *arguments, **options):
    while True:
        try:
            return call(*arguments, **options)
        except StorageUnavailable as error:
            assert "database is locked" in str(error)  # SQLite does not queue the processes.

def store(change, *arguments, **options):
    return while_locked(change, storage.fields, 1, *arguments, author=author, **options)

def create(numbers):
    drafts = [FieldDraft(name="City", key=f"{name}_{n}", data_type=DataType.TEXT) for n in numbers]
    return CatalogChanges.of(created=tuple(draft.define(by=API, at=NOW) for draft in drafts))

database, name, rounds = sys.argv[1:]
author = Author(API, name=name)
storage = while_locked(SqliteStorage, database)
for number in range(0, 4 * int(rounds), 4):
    changes = create(range(number, number + 3))
    first, *_ = store(type(storage.fields).change, lambda _: changes, at=NOW).created
    (last,) = create([number + 3]).created
    store(add_field, last)
    store(update_field, first.id, rename)
    store(delete_field, first.id, lambda field: None, at=NOW)
    if number % 8:
        store(restore_field, first.id, restore)
    print(last.key, flush=True)
storage.close()
"""

ADD_FOREVER = """
storage = SqliteStorage(sys.argv[1])
for number in count():
    draft = FieldDraft(name="City", key=f"city_{number}", data_type=DataType.TEXT)
    field = add_field(storage.fields, 1, draft.define(by=API, at=NOW), author=AUTHOR)
    print(field.key, flush=True)
"""

RUN_AND_BE_KILLED = """
def die_at(number):
    statements = count(1)

    def trace(_):
        if next(statements) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return trace

def run_until_one_completes(run):
    for number in count(1):
        child = os.fork()
        if child == 0:
            run(number, die_at(number))
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(number)
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
"""
"""Kills a process at its first statement, the next one at its second, until one completes."""

MIGRATE_AND_BE_KILLED = (
    RUN_AND_BE_KILLED
    + """
def migrate(number, trace):
    connect = sqlite3.connect

    def traced_connect(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(trace)
        return connection

    sqlite3.connect = traced_connect
    SqliteStorage(f"{sys.argv[1]}/{number}.db").close()

run_until_one_completes(migrate)
"""
)

SYNC = """
def report(label, first, last):
    for number in range(int(first), int(last)):
        yield EspField(name=f"FIELD_{number}", label=label, data_type=DataType.TEXT)

def sync(storage, *arguments):
    service = IntegrationService(
        integrations=storage.integrations,
        fields=storage.fields,
        history=storage.history,
        clock=lambda: NOW,
    )
    service.sync_fields(1, 1, report(*arguments))
"""

SYNC_AND_BE_KILLED = (
    RUN_AND_BE_KILLED
    + SYNC
    + """
folder, *arguments = sys.argv[1:]

def sync_copy(number, trace):
    path = f"{folder}/{number}.db"
    shutil.copy(f"{folder}/old.db", path)
    storage = SqliteStorage(path)
    storage.check()
    with storage.fields._database.reading() as connection:
        connection.set_trace_callback(trace)
    sync(storage, *arguments)
    storage.close()

run_until_one_completes(sync_copy)
"""
)

SYNC_ONCE = (
    SYNC
    + """
storage = SqliteStorage(sys.argv[1])
storage.check()
print("syncing", flush=True)
sync(storage, *sys.argv[2:])
storage.close()
"""
)

PRELUDE = """
import os, shutil, signal, sqlite3, sys
from datetime import UTC, datetime
from itertools import count
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import IntegrationService
from recipient_fields.domain import *
from recipient_fields.domain.integrations import EspField
from recipient_fields.testing.field_changes import *
NOW = datetime(2026, 11, 20, tzinfo=UTC)
AUTHOR = Author(API)
print("ready", flush=True)
sys.stdin.readline()
"""


def started(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process that imports its modules and waits for a line before it runs the script."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert read_line(process) == "ready\n", process.stderr.read()
    return process


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def release(process: subprocess.Popen[str]) -> None:
    """Let the process run its script."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def let_run(*processes: subprocess.Popen[str]) -> list[str]:
    """Release the processes at the same time, wait for them, and return their output."""
    for process in processes:
        release(process)
    printed = [process.communicate() for process in processes]
    assert [errors for _, errors in printed] == [""] * len(processes)
    return [output for output, _ in printed]


def schema(database: Path) -> tuple[object, ...]:
    with closing(sqlite3.connect(database)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()
        return version, *connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 2")


@pytest.fixture
def current_schema(tmp_path: Path) -> tuple[object, ...]:
    database = tmp_path / "new.db"
    SqliteStorage(database).close()
    return schema(database)


def databases_of_every_version(folder: Path) -> list[Path]:
    """Return a file of each schema version, starting with an empty one."""
    steps = files("recipient_fields.adapters.sqlite") / "migrations"
    scripts = [step.read_text() for step in sorted(steps.iterdir(), key=lambda step: step.name)]
    databases = [folder / f"version_{version}.db" for version in range(len(scripts) + 1)]
    for version, path in enumerate(databases):
        with closing(sqlite3.connect(path)) as connection:
            for script in scripts[:version]:
                connection.executescript(script)
            connection.execute(f"PRAGMA user_version = {version}")
    return databases


def test_processes_that_open_a_new_file_at_the_same_time_migrate_it_once(database, current_schema):
    """Creating a table twice would be an error."""
    let_run(*(started(OPEN, database) for _ in range(8)))
    assert schema(database) == current_schema


def test_processes_that_write_at_the_same_time_lose_nothing(database):
    with closing(SqliteStorage(database)) as storage:
        storage.organizations.add("ACME", NOW)
        counter = add_field(storage.fields, OURS, a_definition("counter", name="0"), author=AUTHOR)
        let_run(*(started(COUNT_UP_AND_ADD, database, name) for name in ("one", "other")))
        assert storage.fields.get(OURS, counter.id).name == "200"
        assert {field.key for field in storage.fields.all(OURS).fields} == {
            "counter",
            *(f"{name}_{number}" for name in ("one", "other") for number in range(100)),
        }


def test_a_killed_writer_loses_no_acknowledged_write(database):
    with closing(SqliteStorage(database)) as storage:
        storage.organizations.add("ACME", NOW)
    writer = started(ADD_FOREVER, database)
    with writer:
        release(writer)
        acknowledged = [read_line(writer).strip() for _ in range(100)]
        writer.send_signal(signal.SIGKILL)
        # `communicate` would lose the lines that `readline` has read ahead.
        while line := read_line(writer):
            acknowledged.append(line.strip())
    with closing(SqliteStorage(database)) as storage:
        stored = [field.key for field in storage.fields.all(OURS).fields]
        assert stored[: len(acknowledged)] == acknowledged
        assert len(stored) - len(acknowledged) in {0, 1}
        add_field(storage.fields, OURS, a_definition(), author=AUTHOR)


def follow(
    storage: SqliteStorage, writers: Collection[subprocess.Popen[str]]
) -> Iterator[HistoryRecord]:
    """Yield the records that are read while the writers run, until all of them have ended.

    A page has seven records. A transaction can therefore be on two pages.
    """
    after, have_ended = 0, False
    while not have_ended:
        have_ended = all(writer.poll() is not None for writer in writers)
        page = None
        while page is None or page.records:
            page = storage.history.select(OURS, HistoryQuery(after=after, limit=7))
            yield from page.records
            after = page.records[-1].sequence if page.records else after


def test_a_reader_of_the_history_misses_no_record_and_reads_none_twice(database):
    """Eight processes write at the same time, and one of them is killed."""
    with closing(SqliteStorage(database)) as storage:
        storage.organizations.add("ACME", NOW)
        killed = started(CHANGE_FIELDS, database, "killed", 10_000)
        others = [started(CHANGE_FIELDS, database, f"w{number}", 20) for number in range(7)]
        for writer in (killed, *others):
            release(writer)
        records: list[HistoryRecord] = []
        for record in follow(storage, (killed, *others)):
            records.append(record)
            if record.key == "killed_40":
                killed.kill()
        acknowledged = killed.communicate()[0].split()
        for writer in others:
            output, errors = writer.communicate()
            assert errors == ""
            acknowledged += output.split()
        assert [record.sequence for record in records] == list(range(1, len(records) + 1))
        assert len(records) > 7 * 20 * 6
        assert len({record.author.name for record in records}) == 8
        recorded = {record.key for record in records}
        assert [key for key in acknowledged if key not in recorded] == []
        assert replay(records) == storage.fields.all(OURS).fields
        times = [record.occurred_at for record in records]
        assert times == sorted(times)
        catalog = storage.history.catalog_at(OURS, times[500])
        assert catalog.fields == replay(each for each in records if each.occurred_at <= times[500])


def test_a_migration_killed_at_any_statement_is_completed_by_the_next(tmp_path, current_schema):
    whole_steps = {schema(path) for path in databases_of_every_version(tmp_path)}
    assert current_schema in whole_steps
    (numbers,) = let_run(started(MIGRATE_AND_BE_KILLED, tmp_path))
    *begun, _ = [tmp_path / f"{number}.db" for number in numbers.split()]
    assert len(begun) > len(current_schema)
    for database in begun:
        assert schema(database) in whole_steps
        with closing(SqliteStorage(database)) as storage:
            storage.check()
            storage.organizations.add("ACME", NOW)
        assert schema(database) == current_schema


def synced(database: Path, label: str, first: int, last: int) -> None:
    """Create a file with a field of the API and an integration with fields from first to last."""
    names = [f"FIELD_{number}" for number in range(first, last)]
    report = reporting(
        *(an_esp_field(name, label=label) for name in names), at=NOW - timedelta(days=1)
    )
    with closing(SqliteStorage(database)) as storage:
        ours = storage.organizations.add("ACME", NOW).id
        add_field(storage.fields, ours, a_definition(), author=AUTHOR)
        integration = storage.integrations.add(ours, an_integration_draft())
        storage.integrations.sync(ours, integration.id, report, author=AUTHOR, at=LATER)


def content(database: Path) -> tuple[object, ...]:
    """Return the content except the revision, which depends on the time of the change."""
    with closing(SqliteStorage(database)) as storage:
        newest = HistoryQuery(descending=True, limit=MAX_HISTORY_PAGE)
        return (
            storage.fields.all(OURS).fields,
            storage.integrations.all(OURS),
            storage.history.select(OURS, newest),
        )


def test_a_run_killed_at_any_statement_changes_nothing_and_is_completed_by_the_next(tmp_path):
    old = tmp_path / "old.db"
    synced(old, "Old", 0, 6)
    before = content(old)
    (numbers,) = let_run(started(SYNC_AND_BE_KILLED, tmp_path, "New", 2, 8))
    *killed, whole = [tmp_path / f"{number}.db" for number in numbers.split()]
    after = content(whole)
    assert after != before
    assert len(killed) > 10
    for database in killed:
        assert content(database) == before
        let_run(started(SYNC_ONCE, database, "New", 2, 8))
        assert content(database) == after


def test_a_run_killed_at_any_moment_leaves_all_or_nothing(tmp_path):
    old, whole = tmp_path / "old.db", tmp_path / "whole.db"
    synced(old, "Old", 0, 2_000)
    shutil.copy(old, whole)
    let_run(started(SYNC_ONCE, whole, "New", 1_000, 3_000))
    before, after = content(old), content(whole)
    left = []
    for milliseconds in (0, 20, 50, 80, 120, 160, 200, 300):
        database = tmp_path / f"{milliseconds}.db"
        shutil.copy(old, database)
        process = started(SYNC_ONCE, database, "New", 1_000, 3_000)
        release(process)
        assert read_line(process) == "syncing\n"
        sleep(milliseconds / 1_000)
        process.kill()
        process.communicate()
        left.append(content(database))
    assert before in left
    assert all(each in (before, after) for each in left)


def copy_to_older_version(current: Path, old: Path) -> None:
    """Copy the organizations and fields of a file, without the columns that the older one lacks."""
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("ATTACH ? AS current", (str(current),))
        for table in ("organizations", "recipient_fields"):
            rows = connection.execute(f"PRAGMA main.table_info({table})")
            columns = ", ".join(name for _, name, *_ in rows)
            connection.execute(
                f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM current.{table}"
            )
        connection.commit()


def test_ids_of_integrations_in_fields_older_than_the_table_are_not_reused(tmp_path):
    _, old, *_, current = databases_of_every_version(tmp_path)
    with closing(SqliteStorage(current)) as storage:
        storage.organizations.add("ACME", NOW)
        for key, integration_id in (("city", 41), ("age", 7)):
            channel = sync_channel(IntegrationId(integration_id))
            add_field(storage.fields, OURS, a_definition(key, by=channel), author=AUTHOR)
        fields = storage.fields.all(OURS)
    copy_to_older_version(current, old)
    with closing(SqliteStorage(old)) as storage:
        assert storage.fields.all(OURS) == fields
        integration = storage.integrations.add(OURS, an_integration_draft())
        assert integration.id == 42
        storage.integrations.sync(OURS, integration.id, reporting(), author=AUTHOR, at=LATER)
        assert storage.fields.all(OURS).fields == fields.fields


def test_fields_that_are_older_than_the_history_can_be_changed_deleted_and_restored(tmp_path):
    *_, current = versions = databases_of_every_version(tmp_path)
    old = versions[3]  # The fourth migration adds the history.
    with closing(SqliteStorage(current)) as storage:
        storage.organizations.add("ACME", NOW)
        city, town, age = (
            add_field(storage.fields, OURS, a_definition(key), author=AUTHOR)
            for key in ("city", "town", "age")
        )
        fields = storage.fields.all(OURS)
    copy_to_older_version(current, old)
    with closing(SqliteStorage(old)) as storage:
        assert storage.fields.all(OURS) == fields
        assert storage.history.select(OURS, HistoryQuery()) == HistoryPage((), None)
        with pytest.raises(BeforeHistory):
            storage.history.catalog_at(OURS, LATER)
        changed = update_field(storage.fields, OURS, age.id, renaming("Size"), author=AUTHOR)
        delete_field(storage.fields, OURS, city.id, permit, author=AUTHOR, at=LATER)
        restored = restore_field(storage.fields, OURS, city.id, restoring(), author=AUTHOR)
        update, deletion, restoration = records_of(storage.history, OURS)
        assert (update.sequence, update.before, update.after) == (1, age, changed)
        assert (deletion.sequence, deletion.before) == (2, city)
        assert (restoration.sequence, restoration.after) == (3, restored)
        assert restored == evolve(city, version=2, updated_at=restored.updated_at)
        with pytest.raises(BeforeHistory):
            storage.history.catalog_at(OURS, update.occurred_at - MILLISECOND)
        for record, expected in (
            (update, (city, town, changed)),
            (deletion, (town, changed)),
            (restoration, (restored, town, changed)),
        ):
            assert storage.history.catalog_at(OURS, record.occurred_at).fields == expected
