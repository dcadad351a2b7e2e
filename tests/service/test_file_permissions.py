"""The permissions of the files that the commands and the service create."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..support.command_line import Script
from ..support.service import Service
from .conftest import new_file

UMASK = 0o022
"""The default of most systems: other users can read new files."""
CREATE = ("organizations", "create", "Acme")
CREATE_KEY = ("create", "--organization", 1, "--name", "Backend")


@pytest.fixture
def file() -> Iterator[Path]:
    """Return the path of a new file in a folder that other users can open."""
    with new_file() as file:
        file.parent.chmod(0o755)
        yield file


@pytest.fixture
def storage(file: Path) -> str:
    return f"sqlite:{file}"


@pytest.fixture
def run(storage: str) -> Callable[..., None]:
    """Return a function that runs a command, which must succeed."""

    def run(*arguments: str | int) -> None:
        Script(storage)(*arguments, umask=UMASK).messages()

    return run


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def files(folder: Path) -> dict[str, int]:
    """Return the permissions of the files in a folder, by name."""
    return {path.name: permissions(path) for path in folder.iterdir()}


def test_only_the_owner_can_read_the_files_of_a_running_service(file, storage):
    service = Service(storage, prefix=("sh", "-c", f'umask {UMASK:o}; exec "$0" "$@"'))
    try:
        service.wait_for("listening on")
        assert files(file.parent) == {
            "fields.db": 0o600,
            "fields.db-wal": 0o600,
            "fields.db-shm": 0o600,
        }
    finally:
        service.kill()
    assert "Other users can read" not in service.stderr


@pytest.mark.parametrize("link", [False, True])
def test_only_the_owner_can_read_the_target_of_a_copy(run, file, link):
    target = file.with_name("copy.db")
    given = target
    if link:
        given = file.with_name("link.db")
        given.symlink_to(target)
    run(*CREATE)
    run("copy", "--to", f"sqlite:{given}")
    assert permissions(target) == 0o600


def test_only_the_owner_can_read_a_backup(run, file):
    run(*CREATE)
    run("backup", str(file.with_name("backup.db")))
    assert permissions(file.with_name("backup.db")) == 0o600


def test_only_the_owner_can_read_a_new_audit_log(run, file):
    audit_log = file.with_name("audit.log")
    run(*CREATE)
    run("keys", "--audit-log", str(audit_log), *CREATE_KEY)
    assert permissions(audit_log) == 0o600


def test_only_the_owner_can_read_a_new_plan(run, file):
    document, saved = file.with_name("fields.yaml"), file.with_name("plan.json")
    document.write_text("fields: {}")
    plan = ("plan", str(document), "--organization", 1, "--out", str(saved))
    run(*CREATE)
    run(*plan)
    assert permissions(saved) == 0o600

    saved.chmod(0o640)
    run(*plan)
    assert permissions(saved) == 0o640


def test_existing_files_keep_their_permissions(run, file):
    run(*CREATE)
    audit_log = file.with_name("audit.log")
    audit_log.touch()
    audit_log.chmod(0o644)
    file.chmod(0o640)
    run("keys", "--audit-log", str(audit_log), *CREATE_KEY)
    assert files(file.parent) == {"fields.db": 0o640, "audit.log": 0o644}


@pytest.mark.parametrize(
    ("folder", "mode", "warns"),
    [(0o755, 0o644, True), (0o755, 0o640, False), (0o750, 0o644, False)],
    ids=["readable", "for-the-group", "in-a-private-folder"],
)
def test_a_service_warns_of_a_file_that_other_users_can_read(run, start, file, folder, mode, warns):
    run(*CREATE)
    file.chmod(mode)
    file.parent.chmod(folder)
    service = start()
    service.wait_for("listening on")
    warnings = [line for line in service.log if line["level"] == "warning"]
    if not warns:
        assert warnings == []
        return
    (warning,) = warnings
    assert warning["file"] == str(file)
    assert warning["event"] == (
        f"Other users can read {file}, which contains the hashes of API keys and passwords."
        f" Run: chmod o-rwx {file}"
    )
    assert permissions(file) == mode
