"""The command line with a new SQLite file, an organization, and a field of each origin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    IntegrationId,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.entrypoints.service.selection import open_core

from ..adapters.client.live_server import Keyring, application, live_server
from ..support.command_line import CommandLine, Run, Script
from ..support.fields import add_field
from ..support.sqlite import create_file
from .stories import Commands


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in os.environ:
        if variable.startswith("RECIPIENT_FIELDS_"):
            monkeypatch.delenv(variable)


@pytest.fixture
def file() -> Iterator[Path]:
    """Return the path of a new file, in memory if possible: SQLite waits for the disk to commit."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "fields.db"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[[str, str | bytes], None]:
    """Return a function that writes a file below the working directory."""

    def write(name: str, content: str | bytes) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


@pytest.fixture
def cli(file: Path) -> CommandLine:
    return CommandLine(f"sqlite:{file}")


@pytest.fixture
def script(file: Path) -> Script:
    return Script(f"sqlite:{file}")


@pytest.fixture
def core(file: Path) -> Iterator[Core]:
    """Open the application services of the same file, for what the command line can't do."""
    if not file.exists():
        create_file(file)
    core = open_core(f"sqlite:{file}")
    yield core
    core.storage.close()


@pytest.fixture
def acme(core: Core) -> OrganizationId:
    return core.administration.create_organization("Acme").id


@pytest.fixture
def commands(cli: CommandLine, core: Core, acme: OrganizationId) -> Commands:
    return Commands(cli, core, acme)


@pytest.fixture
def manual(core: Core, acme: OrganizationId) -> RecipientField:
    return add_field(core, acme, "Preferred shop", ADMINISTRATOR)


@pytest.fixture(params=["api", "integration"])
def foreign(request: pytest.FixtureRequest, core: Core, acme: OrganizationId) -> RecipientField:
    """Create a field that administrators can only read."""
    if request.param == "api":
        return add_field(core, acme, "Loyalty tier")
    channel = sync_channel(IntegrationId(7))
    return add_field(core, acme, "First name", channel, esp_field_name="FNAME")


@pytest.fixture(params=["storage", "service"])
def run(
    request: pytest.FixtureRequest, cli: CommandLine, core: Core
) -> Iterator[Callable[..., Run]]:
    """Return a function that runs a command for the fields of an organization.

    The command uses the storage, or a service on the same storage.
    """
    if request.param == "storage":
        yield lambda organization, *arguments, **settings: cli(
            *arguments, "--organization", organization, **settings
        )
        return
    keys = Keyring(core.storage)
    with live_server(application(core.storage, core.fields)) as url:
        yield lambda organization, *arguments, **settings: cli(
            *arguments, "--url", url, RECIPIENT_FIELDS_API_KEY=keys[organization], **settings
        )
