"""`recipient-fields apply` applies everything or nothing, also if it is killed or races another."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, Popen
from time import monotonic, sleep
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.application.fields.fields_as_code import CatalogDocument
from recipient_fields.application.fields.plans import Plan, plan_document
from recipient_fields.domain import (
    API,
    Author,
    CatalogChanged,
    DataType,
    FieldDraft,
    FieldKey,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import SetName
from recipient_fields.entrypoints.service.selection import open_core
from recipient_fields.testing.concurrency import race

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
    """An organization to which `apply` adds 1,000 fields, or from which it deletes them.

    On a storage, it also sets the names of the fields at an integration, or removes them.
    """

    def __init__(self, storage: str, core: Core, document: Path) -> None:
        self._core = core
        self._document = document
        self._script = Script(storage)
        administration = core.administration
        self.organization = administration.create_organization("Acme").id
        self._integration = core.integrations.create_integration(
            self.organization, esp=Esp.BRAZE, name="Emails"
        ).id
        self._key = administration.issue_key(self.organization, name="CI").plain.reveal()

        self._has_names = False

    def count(self) -> int:
        """Return the number of stored fields, of which there are all or none."""
        fields = self._core.fields.list_fields(self.organization).fields
        assert len(fields) in {0, FIELDS}
        integration = self._core.integrations.get_integration(self.organization, self._integration)
        named = [field for field in fields if field.id in integration.names]
        assert len(named) == (len(fields) if self._has_names else 0)
        return len(fields)

    def start(self, count: int, *target: str) -> Popen[bytes]:
        """Start a command after which there are this many fields."""
        keys = [f"k{n}" for n in range(count)]
        fields = {key: {"name": key, "data_type": "text"} for key in keys}
        document: dict[str, object] = {"fields": fields}
        self._has_names = "--url" not in target
        if self._has_names:
            names = {key: f"name of {key}" for key in keys}
            document["integrations"] = [{"name": "Emails", "esp": "braze", "names": names}]
        self._document.write_text(json.dumps(document))
        command = ("apply", str(self._document), "--prune", "--yes", *target)
        return self._script.start(
            *command, environment={"RECIPIENT_FIELDS_API_KEY": self._key}, stdout=DEVNULL
        )


@pytest.fixture
def core(storage: str) -> Iterator[Core]:
    core = open_core(storage)
    yield core
    core.storage.close()


@pytest.fixture
def applying(storage: str, core: Core, tmp_path: Path) -> Applying:
    return Applying(storage, core, tmp_path / "fields.json")


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


ROUNDS_OF_RACES = 10


def test_of_two_plans_for_one_state_one_is_applied_with_its_names(applying: Applying, core: Core):
    """Both create a field with the same name at the integration."""
    organization_id = applying.organization

    def plan(key: str, name: str) -> Plan:
        draft = FieldDraft(name=key, key=FieldKey(key), data_type=DataType.TEXT)
        names = {("Emails", Esp.BRAZE): {key: SetName(name)}}
        catalog = core.fields.list_fields(organization_id)
        integrations = core.integrations.list_integrations(organization_id)
        document = CatalogDocument(fields=(draft,), names=names)
        return plan_document(catalog, document, integrations)

    service = core.integrations.by(Author(API))
    for number in range(ROUNDS_OF_RACES):
        plans = [plan(f"{each}{number}", f"name {number}") for each in "abcd"]
        outcomes = race(
            *(
                partial(service.apply_with_names, organization_id, each.batch, each.names_to_set)
                for each in plans
            )
        )
        failures = [each for each in outcomes if each is not None]
        assert [type(each) for each in failures] == [CatalogChanged] * 3
        [integration] = core.integrations.list_integrations(organization_id)
        fields = core.fields.list_fields(organization_id).fields
        winner = "abcd"[outcomes.index(None)]
        assert fields[-1].key == f"{winner}{number}"
        assert integration.names[fields[-1].id] == SetName(f"name {number}")
        assert len(fields) == len(integration.names) == number + 1
