"""`backup` copies the SQLite file, or reports on one line why it can't."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...support.command_line import CommandLine


@pytest.fixture
def target(file: Path) -> Path:
    return file.parent / "backup.db"


def test_a_backup_is_a_complete_storage(cli, core, manual, target):
    run = cli("backup", target)

    assert run.out == ""
    assert run.messages() == f"Wrote {target}: {target.stat().st_size:,} bytes.\n"
    fields = ("fields", "list", "--organization", 1, "--json")
    assert CommandLine(f"sqlite:{target}")(*fields).document() == cli(*fields).document()


def test_an_existing_file_is_reported_on_one_line(cli, acme, target):
    target.write_text("precious")

    message = cli("backup", target).failure()
    assert message == f"The file {target} already exists. Choose another name."
    assert target.read_text() == "precious"


def test_a_missing_folder_is_reported_on_one_line(cli, acme, file, target):
    missing = target.parent / "missing" / "backup.db"

    message = cli("backup", missing).failure()
    assert message == f"Can't back up {file} to {missing}: No such file or directory."


def test_a_missing_storage_is_reported_on_one_line_and_no_file_is_created(cli, file, target):
    assert cli("backup", target).failure().startswith(f"There is no SQLite file {file}.")
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "postgresql://user:hunter2@127.0.0.1:1/x",
            "`backup` is for SQLite. Back up PostgreSQL with pg_dump.",
        ),
        ("memory:", "`backup` is for SQLite. Use the tools of this storage's technology."),
        ("duckdb:x", "`backup` is for SQLite. Use the tools of this storage's technology."),
        (
            "sqlite:",
            "Invalid storage URL: use sqlite:PATH, or memory: for a storage without a file.",
        ),
        ("nothing", "Use a URL as the storage: memory:, sqlite:PATH or postgresql://…"),
    ],
)
def test_a_storage_other_than_sqlite_is_reported_on_one_line(url, message, target):
    assert CommandLine(url)("backup", target).failure() == message
    assert not target.exists()
