"""Services with one SQLite file per module, and the checks of every service."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recipient_fields.application import Core, IssuedKey
from recipient_fields.domain import OrganizationId
from recipient_fields.entrypoints.service.selection import open_core

from ..support.command_line import Script
from ..support.redaction import SECRET, log_lines_with_secrets
from ..support.service import Service

Start = Callable[..., Service]
"""Starts a service with options of `serve`, and variables of its environment."""

_LOAD_TESTS = ["test_history_growth.py", "test_large_catalogs.py", "test_load.py"]
collect_ignore: list[str] = [] if "RECIPIENT_FIELDS_TEST_LOAD" in os.environ else _LOAD_TESTS
"""The load tests run only in `make test-load`."""


@contextmanager
def new_file() -> Iterator[Path]:
    """Create the path of a file, in memory if possible: SQLite waits for the disk to commit."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "fields.db"


@contextmanager
def checked(service: Service, *, shows_secrets: bool = False) -> Iterator[Service]:
    """Kill the service at the end of the block, and check its output.

    Standard output must be empty. Standard error must contain no error, no traceback and no secret.
    With `shows_secrets`, other lines than those of the log can contain secrets: a demonstration
    prints its key and a link to its console.
    """
    try:
        yield service
    finally:
        service.kill()
    assert service.stdout == ""
    assert '"level": "error"' not in service.stderr
    assert "ERROR" not in service.stderr
    assert "Traceback" not in service.stderr
    assert log_lines_with_secrets(service.stderr) == []
    assert shows_secrets or SECRET.search(service.stderr) is None


@pytest.fixture(scope="module")
def file() -> Iterator[Path]:
    with new_file() as file:
        yield file


@pytest.fixture(scope="module")
def storage(file: Path) -> str:
    return f"sqlite:{file}"


@pytest.fixture(scope="module")
def service(storage: str) -> Iterator[Service]:
    """Run a service that all tests of the module share."""
    with checked(Service(storage)) as service:
        yield service


@pytest.fixture
def start(storage: str) -> Iterator[Start]:
    """Return a function that starts a service for this test, by default with the module's file."""
    with ExitStack() as services:

        def start(
            *options: str,
            url: str = storage,
            shows_secrets: bool = False,
            **environment: str,
        ) -> Service:
            service = Service(url, *options, prefix=(), **environment)
            return services.enter_context(checked(service, shows_secrets=shows_secrets))

        yield start


@pytest.fixture(scope="module")
def script(storage: str) -> Script:
    """Return the command line with the same file."""
    return Script(storage)


@pytest.fixture(scope="module")
def core(storage: str) -> Iterator[Core]:
    """Open the application services of the same file in this process."""
    core = open_core(storage)
    yield core
    core.storage.close()


@pytest.fixture
def acme(core: Core) -> OrganizationId:
    """Create an organization for this test."""
    return core.administration.create_organization("Acme").id


@pytest.fixture
def issued(core: Core, acme: OrganizationId) -> IssuedKey:
    """Issue a key of that organization."""
    return core.administration.issue_key(acme, name="Tests")


@pytest.fixture
def key(issued: IssuedKey) -> str:
    """Return the full text of that key."""
    return issued.plain.reveal()
