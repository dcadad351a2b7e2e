"""`copy` copies everything to another storage, or reports on one line why it copies nothing."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import migrate
from recipient_fields.application import copy_storage
from recipient_fields.domain import Credential
from recipient_fields.entrypoints.cli.output import Progress
from recipient_fields.entrypoints.cli.service.storages import note_copied
from recipient_fields.entrypoints.service.selection import open_core

from ...support.command_line import CommandLine, Script
from ...support.postgres import execute, new_database
from ...support.waiting import TIMEOUT, eventually

EMPTY: dict[str, list[object]] = {"organizations": []}
LIST = ("organizations", "list", "--json")


@pytest.fixture
def other(file: Path) -> str:
    """Return the URL of a SQLite file that does not exist yet."""
    return f"sqlite:{file.parent / 'other.db'}"


@pytest.fixture
def database(server_url: str) -> Iterator[str]:
    """Create an empty database without a schema."""
    with new_database(server_url) as url:
        yield url


def test_everything_is_copied_and_counted(cli, core, foreign, manual, other):
    key = core.administration.issue_key(manual.organization_id, name="CI")
    run = cli("copy", "--to", other)

    assert run.out == ""
    counts = (
        "1 organization, 0 integrations, 1 API key, 2 fields, 2 changes of fields"
        " and 0 administrators"
    )
    assert re.fullmatch(rf"Copied {counts} in [0-9.]+ s\.\n", run.messages())
    copied = open_core(f"{other}?create=false")
    assert copied.fields.list_fields(manual.organization_id) == core.fields.list_fields(
        manual.organization_id
    )
    assert isinstance(copied.validator.validate(key.plain.reveal()), Credential)
    copied.storage.close()


def test_a_postgresql_database_without_a_schema_can_be_the_target(cli, manual, database):
    cli("copy", "--to", database).messages()

    assert CommandLine(database)(*LIST).document() == cli(*LIST).document()


def test_progress_is_printed_to_standard_error(core, manual, capsys):
    on_progress = partial(note_copied, Progress(interval=0.0))
    copy_storage(core.storage, MemoryStorage(), on_progress=on_progress)

    printed = capsys.readouterr()
    assert printed.err.splitlines()[:2] == [
        "Copying organizations: 1 of 1.",
        "Copying fields: 1 of 1.",
    ]
    assert printed.out == ""


def test_progress_is_printed_at_most_every_interval(capsys):
    progress = Progress(interval=60.0)
    progress.note("too early")
    progress.interval = 0.0
    progress.note("in time")

    assert capsys.readouterr().err == "in time\n"


def test_a_target_that_is_not_empty_is_reported_on_one_line(cli, acme, other):
    CommandLine(other)("organizations", "create", "Globex")
    before = CommandLine(other)(*LIST).document()

    assert cli("copy", "--to", other).failure() == (
        "Target storage: The storage is not empty. Choose one without organizations."
    )
    assert CommandLine(other)(*LIST).document() == before


@pytest.mark.parametrize("way", ["same path", "relative path", "link"])
def test_the_source_as_target_is_reported_on_one_line(cli, acme, file, way, monkeypatch):
    monkeypatch.chdir(file.parent)
    (file.parent / "link.db").symlink_to(file)
    path = {"same path": str(file), "relative path": file.name, "link": "link.db"}[way]

    assert cli("copy", "--to", f"sqlite:{path}").failure() == (
        "Target storage: It is the source storage. Choose another one."
    )


def test_a_missing_source_is_reported_on_one_line_and_no_file_is_created(cli, file, other):
    message = cli("copy", "--to", other).failure()

    assert message == f"Source storage: There is no SQLite file {file}. Check the path."
    assert list(file.parent.iterdir()) == []


def test_a_target_that_can_not_be_opened_is_reported_on_one_line(cli, acme):
    for url, message in {
        "nosuch:x": "Target storage: There is no storage nosuch:.",
        "memory:": "Target storage: The storage memory: exists only until the command ends.",
        "postgresql://user:hunter2@127.0.0.1:1/x": "Target storage: PostgreSQL: connection",
        "sqlite:/proc/x.db": "Target storage: SQLite: unable to open database file: /proc/x.db",
    }.items():
        failure = cli("copy", "--to", url).failure()
        assert failure.startswith(message)
        assert "hunter2" not in failure


def test_a_target_with_an_outdated_schema_is_reported_on_one_line(cli, acme, database):
    migrate(database)
    execute(database, "DELETE FROM schema_migrations WHERE name LIKE '0002%'")

    assert cli("copy", "--to", database).failure() == (
        "Target storage: The PostgreSQL schema is behind this version."
        " Run recipient-fields migrate."
    )


@contextmanager
def blocked(script: Script, database: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a copy to the database, which waits for a lock on the table of fields."""
    migrate(database)
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE recipient_fields IN SHARE MODE")
        with script.start("copy", "--to", database) as process:
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            eventually(lambda: execute(database, waiting), within=30)
            yield process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_copy_stores_nothing_and_can_be_repeated(script, manual, database, number):
    with blocked(script, database) as process:
        process.send_signal(number)
        out, _ = process.communicate(timeout=TIMEOUT)

    assert process.returncode != 0
    assert out == b""
    assert CommandLine(database)(*LIST).document() == EMPTY
    script("copy", "--to", database).messages()
    assert CommandLine(database)(*LIST).document() == script(*LIST).document()


def test_a_copy_to_a_locked_table_is_reported_on_one_line(script, manual, database):
    with blocked(script, database) as process:
        out, err = process.communicate(timeout=30)

    assert (process.returncode, out) == (1, b"")
    assert err.splitlines()[1:] == [
        b"Error: Target storage: PostgreSQL: canceling statement due to lock timeout"
    ]
