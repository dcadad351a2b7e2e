"""A SQLite file that is damaged, locked or read-only while the service runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from recipient_fields.domain import PlainKey
from recipient_fields.entrypoints.service.selection import open_core

from ..support.command_line import Script
from ..support.messages import DOCTOR
from ..support.service import FIELDS, WITHOUT_DAC_OVERRIDE, Response, Service
from .conftest import checked

pytestmark = pytest.mark.slow


@contextmanager
def damaged(file: Path) -> Iterator[None]:
    """Overwrite the file and the other files of SQLite, and restore them after the block."""
    contents = {path: path.read_bytes() for path in file.parent.iterdir()}
    for path, content in contents.items():
        _overwrite(path, b"damaged!" * (len(content) // 8))
    try:
        yield
    finally:
        for path, content in contents.items():
            _overwrite(path, content)


def _overwrite(path: Path, content: bytes) -> None:
    # The length stays the same: SQLite maps these files into memory.
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(content)


def unavailable(response: Response, code: str) -> bool:
    assert (response.status, response.code) == (503, code)
    assert int(response.headers["Retry-After"]) > 0
    assert response.headers["Cache-Control"] == "no-store"
    assert "SQLite" not in response.body.decode()
    return True


@pytest.fixture
def key(service: Service, storage: str) -> str:
    """Return a full key with a recent use, so that the next reads write nothing.

    This process must not keep the file open: closing a second descriptor releases SQLite's locks.
    """
    key = new_key(storage)
    assert service.client(key)("GET", FIELDS).status == 200
    return key


def new_key(storage: str) -> str:
    """Create an organization with a key, and return the full key."""
    core = open_core(storage)
    organization = core.administration.create_organization("Acme")
    key = core.administration.issue_key(organization.id, name="Tests").plain.reveal()
    core.storage.close()
    return key


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Lock the file for writes until the end of the block."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def test_a_well_formed_key_gets_503_while_the_file_is_damaged(
    service: Service, file: Path, key: str
) -> None:
    with damaged(file):
        for presented in (key, PlainKey.generate().reveal()):
            response = service.client(presented)("GET", FIELDS)
            assert unavailable(response, "api_key_validation_unavailable")
            assert "temporarily unavailable" in response.document["error"]["message"]


def test_a_malformed_key_gets_401_while_the_file_is_damaged(
    service: Service, file: Path, key: str
) -> None:
    mistyped = key[:-1] + ("0" if key[-1] != "0" else "1")
    before = service.client(mistyped)("GET", FIELDS)

    with damaged(file):
        responses = [
            service.client(mistyped)("GET", FIELDS),
            service.client("rfk_nonsense")("GET", FIELDS),
            service.client(mistyped).create(name="Shop"),
        ]
        without_key = service.anonymous("GET", FIELDS)

    for response in (before, *responses, without_key):
        assert (response.status, response.code) == (401, "unauthorized")


def test_the_process_is_alive_but_not_ready_while_the_file_is_damaged(
    service: Service, file: Path, key: str
) -> None:
    assert service.anonymous("GET", "/readyz").status == 200

    with damaged(file):
        assert service.anonymous("GET", "/healthz").status == 200
        assert unavailable(service.anonymous("GET", "/readyz"), "service_unavailable")


def test_commands_report_one_line_while_the_file_is_damaged(
    service: Service, script: Script, file: Path, key: str
) -> None:
    with damaged(file):
        assert script("organizations", "list").failure().startswith("SQLite: ")


def test_the_service_recovers_with_the_file(service: Service, file: Path, key: str) -> None:
    client = service.client(key)
    client.create(name="Shop")
    before = client.fields()

    with damaged(file):
        assert client("GET", FIELDS).status == 503
        assert client.create(name="Lost").status == 503
        assert client("DELETE", f"{FIELDS}/shop").status == 503

    assert service.anonymous("GET", "/readyz").status == 200
    assert client.fields() == before
    assert client.create(name="Found").status == 201


def test_reads_continue_while_the_file_is_locked_for_writes(
    service: Service, file: Path, key: str
) -> None:
    client = service.client(key)

    with locked(file):
        reads = client("GET", FIELDS)
        write = client.create(name="Shop")

    assert reads.status == 200
    assert unavailable(write, "service_unavailable")
    assert client.create(name="Shop").status == 201


def test_a_service_does_not_start_with_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "fields.db"
    file.write_bytes(b"damaged!" * 1000)

    message = Script(f"sqlite:{file}")("serve", "--listen", "127.0.0.1:0").failure()

    assert message == f"SQLite: file is not a database: {file}{DOCTOR}"


def new_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@contextmanager
def read_only(file: Path) -> Iterator[None]:
    """Make the file and the other files of SQLite read-only until the end of the block."""
    for path in file.parent.iterdir():
        path.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        yield
    finally:
        file.parent.chmod(0o755)
        for path in file.parent.iterdir():
            path.chmod(0o644)


def test_a_read_only_file_causes_503_after_it_is_reopened_until_it_is_writable(
    tmp_path: Path,
) -> None:
    file = new_folder(tmp_path) / "fields.db"
    with checked(Service(f"sqlite:{file}", prefix=WITHOUT_DAC_OVERRIDE)) as service:
        client = service.client(new_key(f"sqlite:{file}"))
        assert client.create(name="Before").status == 201

        with read_only(file):
            assert client.create(name="Still open").status == 201
            with locked(file):  # Closes both connections: the check of the history has one, too.
                assert unavailable(client.create(name="Locked"), "service_unavailable")
                assert unavailable(client.create(name="Locked"), "service_unavailable")
            assert unavailable(client("GET", FIELDS), "api_key_validation_unavailable")
            assert unavailable(
                client.create(name="RequestRejected"), "api_key_validation_unavailable"
            )
            assert unavailable(service.anonymous("GET", "/readyz"), "service_unavailable")

        assert [field["name"] for field in client.fields()] == ["Before", "Still open"]
        assert client.create(name="After").status == 201


def test_a_service_does_not_start_with_a_read_only_file(tmp_path: Path) -> None:
    file = new_folder(tmp_path) / "fields.db"
    new_key(f"sqlite:{file}")

    with read_only(file):
        service = Service(f"sqlite:{file}", prefix=WITHOUT_DAC_OVERRIDE)
        service.wait_for(f"Error: SQLite: attempt to write a readonly database: {file}{DOCTOR}\n")
        assert service.wait() == 1
