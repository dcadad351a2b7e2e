"""A SQLite file that breaks under the running service."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from recipient_fields.domain import PlainKey
from recipient_fields.entrypoints.composition import open_core

from ..support.command_line import Script
from ..support.service import BOUND, FIELDS, Answer, Service
from .conftest import watched


@contextmanager
def broken(file: Path) -> Iterator[None]:
    """The file and what SQLite keeps beside it, scribbled over in place; then as they were."""
    contents = {path: path.read_bytes() for path in file.parent.iterdir()}
    for path, content in contents.items():
        _overwrite(path, b"scribble" * (len(content) // 8))
    try:
        yield
    finally:
        for path, content in contents.items():
            _overwrite(path, content)


def _overwrite(path: Path, content: bytes) -> None:
    # Never shorter than it was: SQLite maps these files, and reads what it has mapped.
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(content)


def unavailable(answer: Answer, code: str) -> bool:
    assert (answer.status, answer.code) == (503, code)
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.headers["Cache-Control"] == "no-store"
    assert "SQLite" not in answer.body.decode()
    return True


@pytest.fixture
def key(service: Service, storage: str) -> str:
    """A full key whose use has just been recorded, so that the next reads write nothing.

    Nothing of this process stays open: to close a file that it has open twice would let go of
    SQLite's locks on it.
    """
    key = new_key(storage)
    assert service.client(key)("GET", FIELDS).status == 200
    return key


def new_key(storage: str) -> str:
    """The full key of an organization of its own."""
    core = open_core(storage)
    organization = core.administration.create_organization("Acme")
    key = core.administration.issue_key(organization.id, name="Tests").plain.reveal()
    core.storage.close()
    return key


@contextmanager
def another_writer(file: Path) -> Iterator[None]:
    """Somebody else writes, for as long as the block takes."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def test_a_well_formed_key_is_503_while_keys_can_not_be_checked(
    service: Service, file: Path, key: str
) -> None:
    with broken(file):
        for presented in (key, PlainKey.generate().reveal()):
            answer = service.client(presented)("GET", FIELDS)
            assert unavailable(answer, "api_key_validation_unavailable")
            assert "temporarily unavailable" in answer.document["error"]["message"]


def test_a_mistyped_key_is_401_even_then(service: Service, file: Path, key: str) -> None:
    mistyped = key[:-1] + ("0" if key[-1] != "0" else "1")
    before = service.client(mistyped)("GET", FIELDS)

    with broken(file):
        answers = [
            service.client(mistyped)("GET", FIELDS),
            service.client("rfk_nonsense")("GET", FIELDS),
            service.client(mistyped).create(name="Shop"),
        ]
        bare = service.anyone("GET", FIELDS)

    for answer in (before, *answers, bare):
        assert (answer.status, answer.code) == (401, "unauthorized")


def test_the_process_lives_and_is_not_ready(service: Service, file: Path, key: str) -> None:
    assert service.anyone("GET", "/readyz").status == 200

    with broken(file):
        assert service.anyone("GET", "/healthz").status == 200
        assert unavailable(service.anyone("GET", "/readyz"), "service_unavailable")


def test_commands_are_one_clear_line_while_it_is_broken(
    service: Service, script: Script, file: Path, key: str
) -> None:
    with broken(file):
        assert script("organizations", "list").failure().startswith("SQLite: ")


def test_everything_is_back_once_the_file_is(service: Service, file: Path, key: str) -> None:
    client = service.client(key)
    client.create(name="Shop")
    before = client.fields()

    with broken(file):
        assert client("GET", FIELDS).status == 503
        assert client.create(name="Lost").status == 503
        assert client("DELETE", f"{FIELDS}/shop").status == 503

    assert service.anyone("GET", "/readyz").status == 200
    assert client.fields() == before
    assert client.create(name="Found").status == 201


def test_a_storage_that_can_only_be_read_serves_reads(
    service: Service, file: Path, key: str
) -> None:
    client = service.client(key)

    with another_writer(file):
        reads = client("GET", FIELDS)
        write = client.create(name="Shop")

    assert reads.status == 200
    assert unavailable(write, "service_unavailable")
    assert client.create(name="Shop").status == 201


def test_a_service_does_not_start_on_a_broken_file(tmp_path: Path) -> None:
    file = tmp_path / "fields.db"
    file.write_bytes(b"scribble" * 1000)

    told = Script(f"sqlite:{file}")("serve", "--listen", "127.0.0.1:0").failure()

    assert told == f"SQLite: file is not a database: {file}"


def new_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@contextmanager
def read_only(file: Path) -> Iterator[None]:
    """The file, and what SQLite keeps beside it, by their permissions."""
    for path in file.parent.iterdir():
        path.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        yield
    finally:
        file.parent.chmod(0o755)
        for path in file.parent.iterdir():
            path.chmod(0o644)


def test_a_file_that_may_only_be_read_is_503_once_it_is_opened_anew_until_it_may_be_written(
    tmp_path: Path,
) -> None:
    file = new_folder(tmp_path) / "fields.db"
    with watched(Service(f"sqlite:{file}", by=BOUND)) as service:
        client = service.client(new_key(f"sqlite:{file}"))
        assert client.create(name="Before").status == 201

        with read_only(file):
            assert client.create(name="Still open").status == 201
            with another_writer(file):
                assert unavailable(client.create(name="Locked"), "service_unavailable")
            assert unavailable(client("GET", FIELDS), "api_key_validation_unavailable")
            assert unavailable(
                client.create(name="RequestRejected"), "api_key_validation_unavailable"
            )
            assert unavailable(service.anyone("GET", "/readyz"), "service_unavailable")

        assert [field["name"] for field in client.fields()] == ["Before", "Still open"]
        assert client.create(name="After").status == 201


def test_a_service_does_not_start_on_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    file = new_folder(tmp_path) / "fields.db"
    new_key(f"sqlite:{file}")

    with read_only(file):
        service = Service(f"sqlite:{file}", by=BOUND)
        service.tells(f"Error: SQLite: attempt to write a readonly database: {file}\n")
        assert service.ended() == 1
