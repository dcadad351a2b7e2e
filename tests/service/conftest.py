"""Services over one SQLite file, started and stopped, and what must hold of each of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recipient_fields.domain import OrganizationId
from recipient_fields.entrypoints.composition import Core, open_core

from ..cli.commands import Script
from .service import Service

FULL_KEY = re.compile(r"rfk_[0-9A-Za-z]{5}")


@pytest.fixture(autouse=True)
def _no_variables_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in os.environ:
        if variable.startswith("RECIPIENT_FIELDS_"):
            monkeypatch.delenv(variable)


@pytest.fixture
def file() -> Iterator[Path]:
    """A file, in memory where the system has one: SQLite waits for its disk at every commit."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "fields.db"


@pytest.fixture
def storage(file: Path) -> str:
    return f"sqlite:{file}"


@pytest.fixture
def script(storage: str) -> Script:
    """The command line over the same file."""
    return Script(storage)


@pytest.fixture
def start(storage: str) -> Iterator[Callable[..., Service]]:
    """Starts services, which print nothing on standard output, and no key and no traceback at all.

    A demonstration alone shows its key, on request.
    """
    services: list[tuple[Service, bool]] = []

    def start(*options: str, shows_key: bool = False, **environment: str) -> Service:
        service = Service(storage, *options, **environment)
        services.append((service, shows_key))
        return service

    yield start
    for service, _ in services:
        service.kill()
    for service, shows_key in services:
        assert service.printed == ""
        assert "Traceback" not in service.told
        assert "ERROR" not in service.told
        assert shows_key or FULL_KEY.search(service.told) is None


@pytest.fixture
def service(start: Callable[..., Service]) -> Service:
    """One service over the file."""
    return start()


@pytest.fixture
def core(storage: str) -> Iterator[Core]:
    """The use cases over the same file, in this process."""
    core = open_core(storage)
    yield core
    core.storage.close()


@pytest.fixture
def acme(core: Core) -> OrganizationId:
    return core.administration.create_organization("Acme").id


@pytest.fixture
def key(core: Core, acme: OrganizationId) -> str:
    """A full API key of the organization."""
    return core.administration.issue_key(acme, name="Tests").plain.reveal()
