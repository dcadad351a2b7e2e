"""A copy whose process is killed before the commit stores nothing and can be repeated."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

import pytest

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import Storage

pytestmark = pytest.mark.slow

FIELDS = 3

COPY_AND_BE_KILLED = """
import os, signal, sqlite3, sys
from itertools import count
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition
from recipient_fields.testing.field_changes import add_field
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.adapters.postgres.connection import LongRunningConnection
from recipient_fields.adapters.sqlite import SqliteStorage

def die_at(number):
    steps = count(1)

    def step(*_):
        if next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return step

def copy_to_sqlite(place, step):
    storage = SqliteStorage(place)
    storage.check()
    with storage.fields._database.reading() as connection:
        connection.set_trace_callback(step)
    storage.store_snapshot(snapshot)

def copy_to_postgres(place, step):
    wait = LongRunningConnection.wait

    def stepped(connection, *arguments):
        step()
        return wait(connection, *arguments)

    LongRunningConnection.wait = stepped
    PostgresStorage(place).store_snapshot(snapshot)

copy = {"sqlite": copy_to_sqlite, "postgres": copy_to_postgres}[sys.argv[1]]
source = MemoryStorage()
ours = source.organizations.add("ACME", NOW).id
for number in range(int(sys.argv[3])):
    add_field(source.fields, ours, a_definition(f"field_{number}"), author=AUTHOR)
with source.snapshot() as snapshot:
    for number in count(1):
        child = os.fork()
        if child == 0:
            copy(sys.argv[2], die_at(number))
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print("killed" if ended else "ended", flush=True)
        if ended == 0 or sys.stdin.readline() == "":
            break
        assert ended == -signal.SIGKILL
"""
"""Kills a process at its first step, the next one at its second, until one completes."""


def field_count(storage: Storage) -> int:
    organizations = storage.organizations.all()
    return sum(len(storage.fields.all(each.id).fields) for each in organizations)


@pytest.mark.parametrize("technology", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_copy_killed_at_any_step_before_its_commit_stores_nothing_and_can_be_repeated(
    technology, tmp_path, request
):
    if technology == "sqlite":
        place = str(tmp_path / "target.db")
        target: Storage = SqliteStorage(place)
    else:
        place = request.getfixturevalue("emptied_database")
        target = PostgresStorage(place)
    copies = subprocess.Popen(
        [sys.executable, "-c", COPY_AND_BE_KILLED, technology, place, str(FIELDS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert copies.stdin is not None
    assert copies.stdout is not None
    stored = []
    with closing(target), copies:
        while copies.stdout.readline() == "killed\n":
            stored.append(field_count(target))
            if stored[-1]:  # It was killed after its commit.
                break
            copies.stdin.write("next\n")
            copies.stdin.flush()
        copies.stdin.close()
        assert copies.wait() == 0
        assert len(stored) > 10
        assert {*stored[:-1]} == {0}
        assert field_count(target) == FIELDS
