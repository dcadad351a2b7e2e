"""Services over one SQLite file a module, and what must hold of each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recipient_fields.application import Core, IssuedKey
from recipient_fields.domain import OrganizationId
from recipient_fields.entrypoints.composition import open_core

from ..support.command_line import Script
from ..support.redaction import API_KEY, log_lines_with_keys
from ..support.service import Service

collect_ignore = [] if "RECIPIENT_FIELDS_TEST_LOAD" in os.environ else ["test_load.py"]
"""Figures are for `make test-load`."""


@contextmanager
def new_file() -> Iterator[Path]:
    """A file, in memory where the system has one: SQLite waits for its disk at every commit."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "fields.db"


@contextmanager
def watched(service: Service, *, shows_key: bool = False) -> Iterator[Service]:
    """The service; killed in the end, and then judged by what it has written.

    That is nothing to standard output, and to standard error no error, no traceback and no key.
    A demonstration alone shows its key, on request and not in the log.
    """
    try:
        yield service
    finally:
        service.kill()
    assert service.printed == ""
    assert '"level": "error"' not in service.told
    assert "ERROR" not in service.told
    assert "Traceback" not in service.told
    assert log_lines_with_keys(service.told) == []
    assert shows_key or API_KEY.search(service.told) is None


@pytest.fixture(scope="module")
def file() -> Iterator[Path]:
    with new_file() as file:
        yield file


@pytest.fixture(scope="module")
def storage(file: Path) -> str:
    return f"sqlite:{file}"


@pytest.fixture(scope="module")
def service(storage: str) -> Iterator[Service]:
    """A service that lives as long as the module's tests."""
    with watched(Service(storage)) as service:
        yield service


@pytest.fixture
def start(storage: str) -> Iterator[Callable[..., Service]]:
    """Starts services of this test's own, over the module's file unless another is given."""
    with ExitStack() as services:

        def start(
            *options: str,
            over: str = storage,
            shows_key: bool = False,
            **environment: str,
        ) -> Service:
            service = Service(over, *options, by=(), **environment)
            return services.enter_context(watched(service, shows_key=shows_key))

        yield start


@pytest.fixture(scope="module")
def script(storage: str) -> Script:
    """The command line over the same file."""
    return Script(storage)


@pytest.fixture(scope="module")
def core(storage: str) -> Iterator[Core]:
    """The use cases over the same file, in this process."""
    core = open_core(storage)
    yield core
    core.storage.close()


@pytest.fixture
def acme(core: Core) -> OrganizationId:
    """An organization of this test's own."""
    return core.administration.create_organization("Acme").id


@pytest.fixture
def issued(core: Core, acme: OrganizationId) -> IssuedKey:
    """A key of that organization."""
    return core.administration.issue_key(acme, name="Tests")


@pytest.fixture
def key(issued: IssuedKey) -> str:
    """The full text of that key."""
    return issued.plain.reveal()
