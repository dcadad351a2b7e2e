"""`kill -9` while `recipient-fields apply` runs: it has applied everything or nothing."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen
from time import monotonic, sleep
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.entrypoints.service.selection import open_core

from ..support.command_line import Script
from ..support.service import Service
from ..support.waiting import TIMEOUT
from .conftest import new_file

pytestmark = pytest.mark.slow

FIELDS = 1_000
ROUNDS = 6


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "postgresql":
        yield request.getfixturevalue("emptied_database")
        return
    with new_file() as file:
        yield f"sqlite:{file}"


class Applying:
    """An organization to which `apply` adds 1,000 fields, or from which it deletes them."""

    def __init__(self, storage: str, core: Core, document: Path) -> None:
        self._core = core
        self._document = document
        self._script = Script(storage)
        administration = core.administration
        self.organization = administration.create_organization("Acme").id
        self._key = administration.issue_key(self.organization, name="CI").plain.reveal()

    def count(self) -> int:
        """Return the number of stored fields, of which there are all or none."""
        count = len(self._core.fields.list_fields(self.organization).fields)
        assert count in {0, FIELDS}
        return count

    def start(self, count: int, *target: str) -> Popen[bytes]:
        """Start a command after which there are this many fields."""
        fields = {f"k{n}": {"name": f"K {n}", "data_type": "text"} for n in range(count)}
        self._document.write_text(json.dumps({"fields": fields}))
        command = ("apply", str(self._document), "--prune", "--yes", *target)
        return self._script.start(*command, environment={"RECIPIENT_FIELDS_API_KEY": self._key})


@pytest.fixture
def applying(storage: str, tmp_path: Path) -> Iterator[Applying]:
    core = open_core(storage)
    yield Applying(storage, core, tmp_path / "fields.json")
    core.storage.close()


def kill_at_several_moments(
    applying: Applying, target: Callable[[], tuple[str, ...]], victim: Callable[[Any], Any]
) -> None:
    """Kill the victim before and after the commit."""
    options = target()
    began = monotonic()
    with applying.start(FIELDS, *options) as process:
        assert process.wait(TIMEOUT) == 0
    delay = monotonic() - began
    outcomes = set()
    for _ in range(ROUNDS):
        expected = FIELDS - applying.count()
        options = target()
        with applying.start(expected, *options) as process:
            sleep(delay)
            victim(process)
            process.wait(TIMEOUT)
        applied = applying.count() == expected
        outcomes.add(applied)
        delay *= 0.7 if applied else 1.2
    assert False in outcomes


def kill(process: Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)


def test_a_killed_command_on_a_storage(applying: Applying):
    kill_at_several_moments(applying, lambda: ("--organization", str(applying.organization)), kill)


def test_a_killed_command_on_a_service(applying: Applying, storage: str):
    service = Service(storage)
    try:
        kill_at_several_moments(applying, lambda: ("--url", service.url), kill)
    finally:
        service.kill()


def test_a_killed_service(applying: Applying, storage: str):
    services: list[Service] = []

    def start() -> tuple[str, str]:
        services.append(Service(storage))
        return "--url", services[-1].url

    try:
        kill_at_several_moments(applying, start, lambda _: services[-1].kill())
    finally:
        for service in services:
            service.kill()
