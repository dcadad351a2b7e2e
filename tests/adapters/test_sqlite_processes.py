"""What holds when several processes share a SQLite file, or one is killed."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from recipient_fields.adapters.contract.examples import NOW, a_definition
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.domain import OrganizationId

OURS = OrganizationId(1)

OPEN = """
storage = SqliteStorage(sys.argv[1])
storage.check()
storage.close()
"""

COUNT_UP_AND_ADD = """
def count_up(field):
    changes = FieldChanges(name=FieldName(str(int(field.name) + 1)))
    return field.revised(changes, by=API, at=field.updated_at)

storage = SqliteStorage(sys.argv[1])
for number in range(100):
    storage.fields.update(1, FieldKey("counter"), count_up)
    draft = FieldDraft(name="City", key=f"{sys.argv[2]}_{number}", data_type=DataType.TEXT)
    storage.fields.add(1, draft.defined(by=API, at=NOW))
storage.close()
"""

ADD_FOREVER = """
storage = SqliteStorage(sys.argv[1])
for number in count():
    draft = FieldDraft(name="City", key=f"city_{number}", data_type=DataType.TEXT)
    print(storage.fields.add(1, draft.defined(by=API, at=NOW)).key, flush=True)
"""

MIGRATE_AND_BE_KILLED = """
def die_at(number):
    statements = count(1)
    connect = sqlite3.connect

    def trace(_):
        if next(statements) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced_connect(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(trace)
        return connection

    sqlite3.connect = traced_connect

for number in count(1):
    child = os.fork()
    if child == 0:
        die_at(number)
        SqliteStorage(f"{sys.argv[1]}/{number}.db").close()
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended == 0:
        break
    assert ended == -signal.SIGKILL
    print(number)
"""
"""Kills a process at its first statement, the next one at its second, until one comes through."""

PRELUDE = """
import os, signal, sqlite3, sys
from datetime import UTC, datetime
from itertools import count
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.domain import *
NOW = datetime(2026, 11, 20, tzinfo=UTC)
print("ready", flush=True)
sys.stdin.readline()
"""


def started(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that has imported what it needs and waits for a line before it runs the script."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def let_run(*processes: subprocess.Popen[str]) -> list[str]:
    """Lets the processes go at once and waits for them; what each of them printed."""
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
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


def test_processes_that_open_a_new_file_at_once_migrate_it_once(
    database: Path, current_schema: tuple[object, ...]
) -> None:
    """A table that is made twice is an error."""
    let_run(*(started(OPEN, database) for _ in range(8)))
    assert schema(database) == current_schema


def test_processes_that_write_at_once_lose_nothing(database: Path) -> None:
    with closing(SqliteStorage(database)) as storage:
        storage.organizations.add("ACME", NOW)
        counter = storage.fields.add(OURS, a_definition("counter", name="0"))
        let_run(*(started(COUNT_UP_AND_ADD, database, name) for name in ("one", "other")))
        assert storage.fields.get(OURS, counter.id).name == "200"
        assert {field.key for field in storage.fields.all(OURS).fields} == {
            "counter",
            *(f"{name}_{number}" for name in ("one", "other") for number in range(100)),
        }


def test_a_killed_writer_loses_nothing_that_it_was_told_is_stored(database: Path) -> None:
    with closing(SqliteStorage(database)) as storage:
        storage.organizations.add("ACME", NOW)
    writer = started(ADD_FOREVER, database)
    writer.stdin.write("go\n")
    writer.stdin.flush()
    told = [writer.stdout.readline().strip() for _ in range(100)]
    writer.send_signal(signal.SIGKILL)
    told += writer.communicate()[0].split()
    with closing(SqliteStorage(database)) as storage:
        stored = [field.key for field in storage.fields.all(OURS).fields]
        assert stored[: len(told)] == told
        assert len(stored) - len(told) in {0, 1}
        storage.fields.add(OURS, a_definition())


def test_a_migration_killed_at_any_statement_is_completed_by_the_next(
    tmp_path: Path, current_schema: tuple[object, ...]
) -> None:
    (numbers,) = let_run(started(MIGRATE_AND_BE_KILLED, tmp_path))
    begun = [tmp_path / f"{number}.db" for number in numbers.split()]
    assert len(begun) > len(current_schema)
    for database in begun:
        before = schema(database)
        assert before in {((0,),), current_schema}
        with closing(SqliteStorage(database)) as storage:
            storage.check()
            storage.organizations.add("ACME", NOW)
        assert schema(database) == current_schema
