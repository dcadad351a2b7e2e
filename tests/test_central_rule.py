"""One story over all surfaces: a field is read everywhere, and changed only where it came from.

Each surface renames the fields of all sources. The others show what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from attrs import frozen

from recipient_fields.adapters.client import RecipientFieldsClient
from recipient_fields.domain import (
    API,
    FieldChanges,
    FieldKey,
    OperationForbidden,
    OrganizationId,
)
from recipient_fields.entrypoints.http.app import create_app

from .adapters.client.live_server import live_server
from .console.browser import Browser
from .console.conftest import Console, open_console
from .http.conftest import Clock
from .support.command_line import CommandLine

NAMES = {"tier": "Tier", "town": "Town", "fname": "First name"}
"""The names of the fields by their keys: of the API, of an administrator, and of a sync."""


@frozen
class Acme:
    """An organization with a field of each source, and everything that reads and changes it."""

    console: Console
    browser: Browser
    client: RecipientFieldsClient
    run: CommandLine
    folder: Path

    @property
    def id(self) -> OrganizationId:
        return self.console.acme.id


@pytest.fixture
def acme(tmp_path: Path) -> Iterator[Acme]:
    url = f"sqlite:{tmp_path / 'fields.db'}"
    console = open_console(Clock(), url)
    console.add_field(by=API, name="Tier")
    console.add_field(name="Town")
    console.sync_field(name="FNAME", label="First name")
    key = console.core.administration.issue_key(console.acme.id, name="Test").plain.reveal()
    with (
        live_server(create_app(console.core)) as address,
        RecipientFieldsClient(address, key) as client,
    ):
        yield Acme(console, console.signed_in(), client, CommandLine(url), tmp_path)
    console.core.storage.close()


def with_the_client(acme: Acme, key: str) -> bool:
    """Rename the field, and return whether that was permitted."""
    try:
        acme.client.update_field(acme.id, FieldKey(key), FieldChanges(name="New"))
    except OperationForbidden:
        return False
    return True


def with_a_document(acme: Acme, key: str) -> bool:
    document = {"fields": {key: {"name": "New", "data_type": "text"}}}
    (acme.folder / "fields.yaml").write_text(yaml.safe_dump(document))
    applied = acme.run("apply", acme.folder / "fields.yaml", "--organization", "Acme", "--yes")
    return applied.status == 0


def with_a_command(acme: Acme, key: str) -> bool:
    return acme.run("fields", "update", key, "--organization", "Acme", "--name", "New").status == 0


def in_the_console(acme: Acme, key: str) -> bool:
    field_id = acme.client.get_field(acme.id, FieldKey(key)).id
    edit = acme.browser.get(f"{acme.console.fields}/{field_id}").links.get("Edit field")
    if edit is None:
        return False
    return acme.browser.submit(acme.browser.get(edit), {"name": "New"}).status == 303


def seen(acme: Acme) -> Mapping[str, Mapping[str, str]]:
    """Return the names by their keys, as each surface shows them."""
    run = acme.run("fields", "list", "--organization", "Acme", "--json").document()
    return {
        "client": {each.key: each.name for each in acme.client.list_fields(acme.id).fields},
        "commands": {each["key"]: each["name"] for each in run["recipient_fields"]},
    }


Rename = Callable[[Acme, str], bool]


@pytest.mark.parametrize(
    ("rename", "changed"),
    [
        (with_the_client, "tier"),
        (with_a_document, "tier"),
        (with_a_command, "town"),
        (in_the_console, "town"),
    ],
)
def test_a_surface_renames_only_its_own_field_and_all_others_see_it(
    acme: Acme, rename: Rename, changed: str
) -> None:
    assert [key for key in NAMES if rename(acme, key)] == [changed]

    names = {**NAMES, changed: "New"}
    assert seen(acme) == {"client": names, "commands": names}
    page = acme.browser.get(acme.console.fields)
    assert all(name in page.text for name in names.values())
    assert NAMES[changed] not in page.text
