"""`backup`: a copy of the SQLite file, or one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId, RecipientField

from ..support.command_line import CommandLine

LIST = ("organizations", "list", "--json")


@pytest.fixture
def copy(file: Path) -> Path:
    return file.parent / "backup.db"


def test_a_backup_is_a_storage_with_everything(
    cli: CommandLine, core: Core, manual: RecipientField, copy: Path
) -> None:
    run = cli("backup", copy)

    assert run.out == ""
    assert run.told() == f"Wrote {copy}: {copy.stat().st_size:,} bytes.\n"
    fields = ("fields", "list", "--organization", 1, "--json")
    assert CommandLine(f"sqlite:{copy}")(*fields).document() == cli(*fields).document()


def test_a_relative_name_starts_in_the_working_directory(
    cli: CommandLine, acme: OrganizationId, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy.parent)
    cli("backup", copy.name).told()

    assert CommandLine(f"sqlite:{copy}")(*LIST).document() == cli(*LIST).document()


def test_an_existing_file_is_one_clear_line(
    cli: CommandLine, acme: OrganizationId, copy: Path
) -> None:
    copy.write_text("precious")

    told = cli("backup", copy).failure()
    assert told == f"The file {copy} already exists. Choose another name."
    assert copy.read_text() == "precious"


def test_a_folder_that_is_missing_is_one_clear_line(
    cli: CommandLine, acme: OrganizationId, file: Path, copy: Path
) -> None:
    missing = copy.parent / "missing" / "backup.db"

    told = cli("backup", missing).failure()
    assert told == f"Can't back up {file} to {missing}: No such file or directory."


def test_a_missing_storage_is_one_clear_line_and_makes_no_file(
    cli: CommandLine, file: Path, copy: Path
) -> None:
    assert cli("backup", copy).failure().startswith(f"There is no SQLite file {file}.")
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "told"),
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
def test_another_storage_is_one_clear_line(url: str, told: str, copy: Path) -> None:
    assert CommandLine(url)("backup", copy).failure() == told
    assert not copy.exists()


def test_a_backup_needs_a_name(cli: CommandLine) -> None:
    assert cli("backup").misuse() == "Missing argument 'FILE'."
