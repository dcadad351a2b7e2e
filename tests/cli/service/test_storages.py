"""`--storage` selects a storage, or the command reports on one line why it can't be used."""

from __future__ import annotations

import resource
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ...docs.reference import commands
from ...support.command_line import CommandLine
from ...support.messages import DOCTOR
from ...support.network import free_port

LIST = ("organizations", "list", "--json")
ACME = ("--organization", 1)


def test_the_default_is_a_file_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    CommandLine("")("organizations", "create", "Acme")

    file = CommandLine(f"sqlite:{tmp_path / 'recipient-fields.db'}")
    assert file(*LIST).document() == {"organizations": [{"id": 1, "name": "Acme"}]}


def test_a_relative_path_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    CommandLine("sqlite:mine.db")("organizations", "create", "Acme")

    assert (tmp_path / "mine.db").is_file()


def test_an_absolute_path_can_begin_with_three_slashes(cli, file):
    CommandLine(f"sqlite://{file}")("organizations", "create", "Acme")

    assert cli(*LIST).document() == {"organizations": [{"id": 1, "name": "Acme"}]}


def test_a_server_that_does_not_respond_is_reported_with_what_to_check() -> None:
    port = free_port()

    failure = CommandLine(f"postgresql://me:s3cret@127.0.0.1:{port}/fields")(*LIST).failure()

    assert f'"127.0.0.1", port {port} failed: Connection refused. Check the host' in failure
    assert failure.endswith(DOCTOR)
    assert "s3cret" not in failure


@pytest.mark.parametrize("command", [("migrate",), ("organizations", "create", "Acme")])
def test_the_first_command_creates_the_file(cli, file, command):
    assert cli(*command).status == 0

    assert file.is_file()


@pytest.mark.parametrize(
    "command",
    [
        LIST,
        ("organizations", "rename", 1, "N"),
        ("organizations", "delete", 1, "--yes"),
        ("keys", "list", *ACME),
        ("keys", "create", *ACME, "--name", "N"),
        ("keys", "revoke", 1, *ACME, "--yes"),
        ("fields", "list", *ACME),
        ("fields", "show", 1, *ACME),
        ("integrations", "list", *ACME),
        ("integrations", "sync", 1, *ACME),
        ("conditions", "check", *ACME, "size = 1"),
        ("content", "check", *ACME),
        ("content", "export", *ACME, "--esp", "braze"),
    ],
    ids=str,
)
def test_a_missing_file_is_reported_with_a_first_step_and_not_created(cli, file, command):
    message = cli(*command).failure()

    assert message == (
        f"There is no SQLite file {file}. Check `--storage` or RECIPIENT_FIELDS_STORAGE. To create"
        " the file, run `recipient-fields organizations create NAME` or, with demonstration data,"
        " `recipient-fields serve --demo`."
    )
    assert list(file.parent.iterdir()) == []


def test_a_missing_file_is_created_if_the_url_requests_it(cli, file):
    assert CommandLine(f"sqlite:{file}?create=true")(*LIST).document() == {"organizations": []}

    assert cli(*LIST).document() == {"organizations": []}


@pytest.mark.parametrize("command", [("migrate",), ("organizations", "create", "Acme")])
def test_no_command_creates_a_file_if_the_url_forbids_it(file, command):
    failure = CommandLine(f"sqlite:{file}?create=false")(*command).failure()

    assert failure.startswith(f"There is no SQLite file {file}.")
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize("variable", [None, "nosuch:"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("--storage", "{url}", "organizations", "list", "--json"),
        ("organizations", "--storage", "{url}", "list", "--json"),
        ("organizations", "list", "--storage", "{url}", "--json"),
        ("organizations", "list", "--json", "--storage={url}"),
        ("--storage", "nosuch:", "organizations", "list", "--json", "--storage", "{url}"),
        ("--storage", "nosuch:", "organizations", "--storage", "{url}", "list", "--json"),
    ],
    ids=" ".join,
)
def test_the_storage_option_can_be_at_any_level_and_the_last_one_applies(
    cli, file, arguments, variable
):
    cli("organizations", "create", "Acme")

    run = CommandLine(variable or "memory:")(*(a.format(url=f"sqlite:{file}") for a in arguments))

    assert run.document() == {"organizations": [{"id": 1, "name": "Acme"}]}


def test_every_command_has_the_option_for_the_storage(cli):
    names = [name for name, each in commands().items() if not hasattr(each, "commands")]
    helps = {name: cli(*name.split(), "--help").out for name in names}

    assert [name for name in names if "--storage URL" not in helps[name]] == []


def test_an_empty_file_becomes_a_storage(cli, file):
    file.touch()

    assert cli(*LIST).document() == {"organizations": []}


def test_every_command_has_a_new_memory_storage() -> None:
    memory = CommandLine("memory:")
    memory("organizations", "create", "Acme")

    assert memory(*LIST).document() == {"organizations": []}


def test_migrate_can_be_repeated_and_keeps_the_data(cli):
    *applied, last = cli("migrate").messages().splitlines()
    assert applied[0] == "Applied 0001_initial."
    assert len(applied) > 3
    assert last == "The storage is up to date."
    cli("organizations", "create", "Acme")
    assert cli("migrate").messages() == "The storage is up to date.\n"

    assert cli(*LIST).document() == {"organizations": [{"id": 1, "name": "Acme"}]}


def test_concurrent_commands_create_a_new_file_once(script):
    names = {f"Organization {n}" for n in range(6)}

    with ThreadPoolExecutor(len(names)) as pool:
        runs = list(pool.map(lambda name: script("organizations", "create", name), names))

    assert [run.err for run in runs if run.status != 0] == []
    listed = script(*LIST).document()["organizations"]
    assert {organization["name"] for organization in listed} == names
    assert [organization["id"] for organization in listed] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("url", "command", "message"),
    [
        ("nosuch:somewhere", LIST, "There is no storage nosuch:."),
        ("nosuch:somewhere", ("migrate",), "There is no storage nosuch:."),
        ("nosuch:", ("serve", "--listen", "127.0.0.1:0"), "There is no storage nosuch:."),
        ("mysql://user:secret@host/db", LIST, "There is no storage mysql:."),
        ("MEMORY:", LIST, "There is no storage MEMORY:."),
        ("two\nlines:", LIST, "There is no storage two lines:."),
        ("\udcff:", LIST, r"There is no storage \udcff:."),
        ("memory", LIST, "Use a URL as the storage"),
        ("memory", ("migrate",), "Use a URL as the storage"),
        ("memory", ("serve", "--listen", "127.0.0.1:0"), "Use a URL as the storage"),
        ("memory:x", LIST, "Invalid storage URL: write memory: without a path or options."),
        ("sqlite:", LIST, "Invalid storage URL: use sqlite:PATH"),
    ],
    ids=ascii,
)
def test_an_invalid_url_is_reported_on_one_line(url, command, message):
    failure = CommandLine("memory:")(*command, "--storage", url).failure()

    assert failure.startswith(message)
    assert "secret" not in failure


@pytest.mark.parametrize("command", [("migrate",), ("serve", "--listen", "127.0.0.1:0")])
@pytest.mark.parametrize("path", ["missing/fields.db", "/proc/fields.db"])
def test_a_path_that_can_not_be_created_is_reported_on_one_line(tmp_path, path, command):
    # Not even root can create a file in /proc.
    message = CommandLine(f"sqlite:{tmp_path / path}")(*command).failure()

    assert message == f"SQLite: unable to open database file: {tmp_path / path}{DOCTOR}"


@pytest.mark.parametrize("content", [b"Recipient fields\n" * 100, bytes(4096)])
def test_a_file_that_is_not_a_database_is_reported_on_one_line_and_not_changed(cli, file, content):
    file.write_bytes(content)

    assert cli(*LIST).failure() == f"SQLite: file is not a database: {file}{DOCTOR}"
    assert file.read_bytes() == content


def test_a_file_of_a_newer_version_is_reported_on_one_line(cli, file):
    cli("migrate")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 999")

    for command in (LIST, ("migrate",)):
        assert "belongs to a newer version" in cli(*command).failure()


def test_a_database_of_another_program_is_reported_on_one_line(cli, file):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE organizations (title TEXT)")

    assert cli(*LIST).failure().startswith("SQLite: ")


def test_a_locked_file_is_reported_on_one_line(cli, file):
    cli("migrate")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")

        message = cli("organizations", "create", "Acme").failure()
        assert message == f"SQLite: database is locked: {file}{DOCTOR}"
        connection.execute("ROLLBACK")

    assert cli(*LIST).document() == {"organizations": []}


def test_a_full_disk_is_reported_on_one_line_and_no_data_is_lost(script):
    script("organizations", "create", "Acme")

    run = script(
        *("organizations", "create", "Globex"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
    )

    assert run.failure().startswith("SQLite: ")
    assert script(*LIST).document() == {"organizations": [{"id": 1, "name": "Acme"}]}


def test_a_path_can_contain_any_bytes(script, tmp_path):
    path = bytes(tmp_path) + b"/caf\xe9 \xf0\x9f\x90\x99.db"

    script("--storage", b"sqlite:" + path, "organizations", "create", "Acme")

    found = script("--storage", b"sqlite:" + path, *LIST)
    assert found.document() == {"organizations": [{"id": 1, "name": "Acme"}]}
