"""Makes the storages in `first_release/` with the first release's commands and its HTTP API.

Run `.venv/bin/python -m pytest tests/upgrade/make_fixtures.py`. Ids stay the same, times and API
keys change.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from attrs import frozen

from ..support.command_line import Script
from ..support.postgres import new_database, programs
from ..support.service import Client, Service
from .first_release import TECHNOLOGIES, Fixture, install, served, stored

VALUES: dict[str, list[object]] = {
    "text": ["gold", "silver", "Größe", "東京", "🚲", 'a "quoted" value, with a comma', "<b>&amp;"],
    "number": [0, -1, 0.5, 1e-7, 12345.678, 9007199254740991, -9007199254740991],
    "date": ["2024-02-29", "1900-01-01", "9999-12-31"],
    "datetime": ["2026-11-20T09:15:00Z", "2026-11-20T09:15:00.123+05:30"],
}
"""Allowed values of each data type that permits them."""

ALL_CODES = {
    "custom_insertion_code": "{{ customer.loyalty | default: 'none' }} … {% raw %}\n\t%%x%%",
    "custom_value_expression": "customer['loyalty'] == \"gold\"",
}

BRAZE: list[dict[str, Any]] = [
    {"name": "plan", "label": "Tarif · Größe", "data_type": "text", "allowed_values": ["S", "XL"]},
    {"name": "points", "data_type": "number", "allowed_values": [1, 2.5]},
    {"name": "is_member", "data_type": "boolean"},
    {"name": "birthday", "data_type": "date"},
    {"name": "last_order", "data_type": "datetime", "allowed_values": ["2026-11-20T09:15:00Z"]},
    {"name": "removed later", "data_type": "text"},
]
"""The fields that Braze reports first."""
BRAZE_LATER = [{**BRAZE[0], "label": "Tarif", "allowed_values": ["S", "M"]}, *BRAZE[1:-1]]
SALESFORCE = [
    {"name": "First Name", "data_type": "text"},
    {"name": "Straße", "label": "Strasse", "data_type": "text"},
]


@frozen
class Commands:
    """Commands of the first release on one storage."""

    script: Script

    def __call__(self, *arguments: str | int, stdin: object = None) -> dict[str, Any]:
        """Run a command, and return the first member of its JSON document."""
        run = subprocess.run(
            [self.script.path, "--storage", self.script.storage, *map(str, arguments), "--json"],
            input=None if stdin is None else json.dumps(stdin),
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        found: dict[str, Any] = next(iter(json.loads(run.stdout).values()))
        return found

    def organization(self, name: str) -> int:
        return int(self("organizations", "create", name)["id"])

    def key(self, organization: int, name: str, *options: str) -> dict[str, Any]:
        expiry = () if "--expires-in" in options else ("--expires-in", "never")
        return self(
            *("keys", "create", "--organization", organization, "--name", name),
            *(*expiry, *options),
        )

    def manual_field(self, organization: int, name: str, data_type: str, *options: str) -> int:
        created = self(
            *("fields", "create", "--organization", organization, "--name", name),
            *("--data-type", data_type, *options),
        )
        return int(created["id"])

    def integration(self, organization: int, esp: str, name: str) -> int:
        created = self(
            *("integrations", "create", "--organization", organization),
            *("--esp", esp, "--name", name),
        )
        return int(created["id"])

    def sync(self, organization: int, integration: int, fields: list[dict[str, Any]]) -> None:
        synced = self(
            *("integrations", "sync", integration, "--organization", organization, "--from", "-"),
            stdin={"fields": fields},
        )
        assert synced["refused"] == []

    def delete(self, kind: str, number: int, *options: str | int) -> None:
        self.script(kind, "delete", number, "--yes", *options).messages()


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> str:
    return install(tmp_path_factory.mktemp("first-release") / "venv")


@pytest.fixture(params=TECHNOLOGIES)
def storage(request: pytest.FixtureRequest, server_url: str, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'fields.db'}"
    else:
        with new_database(server_url) as url:
            yield url


def test_make_a_storage_with_the_first_release(first_release: str, storage: str) -> None:
    script = Script(storage, first_release)
    script("migrate").messages()
    run = Commands(script)
    fixture = Fixture(storage.partition(":")[0])
    service = Service(storage, script=first_release)
    try:
        keys, deleted = fill(run, service.url)
        responses = served(service.url, keys)
        assert service.stop() == 0
    finally:
        service.kill()

    fixture.write(keys=keys, deleted=deleted, stored=stored(script), served=responses)
    fixture.database.unlink(missing_ok=True)
    if fixture.technology == "sqlite":
        script("backup", str(fixture.database)).messages()
    else:
        fixture.database.write_text(dump(storage), "utf-8")


def fill(run: Commands, url: str) -> tuple[dict[str, str], dict[str, int]]:
    """Fill the storage, and return the API keys by name, and the ids that were deleted."""
    acme = run.organization("Acme")
    unicode = run.organization("Überlandwerk 東京 🚲")
    empty = run.organization("Acme")  # Names need not be unique.

    active = run.key(acme, "Active")
    read_only = run.key(acme, "Read-only · 東京", "--read-only")
    revoked = run.key(acme, "Revoked")
    expired = run.key(acme, "Expired", "--expires-in", "1s")
    rotated = run.key(acme, "Rotated")
    successor = run(
        *("keys", "rotate", rotated["id"], "--organization", acme, "--grace", "0s", "--yes")
    )
    run("keys", "revoke", revoked["id"], "--organization", acme, "--yes")
    other = run.key(unicode, "Other organization")
    unused = run.key(empty, "Never used")

    fill_acme(run, acme, Client(url, active["key"]))
    fill_unicode(run, unicode, Client(url, other["key"]))

    gone = run.organization("Deleted")
    deleted = {
        "organizations": gone,
        "api_keys": int(run.key(gone, "Deleted")["id"]),
        "integrations": run.integration(gone, "braze", "Deleted"),
        "fields": run.manual_field(gone, "Deleted", "text"),
    }
    run.delete("fields", deleted["fields"], "--organization", gone)
    run.delete("integrations", deleted["integrations"], "--organization", gone)
    run.delete("organizations", gone)

    sleep(1)  # The key with a lifetime of one second expires.
    used = {
        "active": active,
        "read_only": read_only,
        "revoked": revoked,
        "expired": expired,
        "rotated": rotated,
        "successor": successor,
        "other": other,
    }
    assert unused["id"] < deleted["api_keys"]
    return {name: key["key"] for name, key in used.items()}, deleted


def fill_acme(run: Commands, acme: int, client: Client) -> None:
    """Create fields of all sources and data types, with and without each optional member."""
    for data_type in (*VALUES, "boolean"):
        values = VALUES.get(data_type)
        name = f"{data_type.title()} from the API"
        create(client, name=name, data_type=data_type, allowed_values=values)
        create(client, name=f"Any {data_type}", data_type=data_type)
        options = () if values is None else ("--allowed-values", json.dumps(values))
        run.manual_field(acme, f"Manual {data_type}", data_type, *options)
    create(client, name="Loyalty", **ALL_CODES)
    create(client, name="Hidden", insertable=False)
    create(client, name="x" * 255, key="k" * 63)
    create(client, name="Many values", allowed_values=[f"value {n}" for n in range(100)])
    changed = create(client, name="Old name", allowed_values=["a", "b"])
    for members in ({"name": "New name"}, {"allowed_values": None, "insertable": False}, ALL_CODES):
        assert client.change(changed, **members).status == 200
    manual = run.manual_field(acme, "Old", "text", "--key", "manual_changed", "--not-insertable")
    run("fields", "update", manual, "--organization", acme, "--name", "New")
    deleted = run.manual_field(acme, "Deleted", "text")
    run.delete("fields", deleted, "--organization", acme)

    braze = run.integration(acme, "braze", "Before it was renamed")
    run.sync(acme, braze, BRAZE)
    run("integrations", "rename", braze, "--organization", acme, "--name", "Braze · Größe 東京")
    run.sync(acme, braze, BRAZE_LATER)
    run.integration(acme, "klaviyo", "Never synced")


def fill_unicode(run: Commands, unicode: int, client: Client) -> None:
    """Create fields with names in several scripts, and with keys that Acme has too."""
    create(client, name="名前", key="text_from_the_api", custom_insertion_code="{{ 名前 }}")
    create(client, name="Имя · 😀", key="name", custom_value_expression="имя ≠ '☃'")
    create(client, name="Cafe\u0301 Größe")  # Stored in NFC.
    run.sync(unicode, run.integration(unicode, "sfmc", "المشتركون"), SALESFORCE)


def create(client: Client, **members: object) -> int:
    """Create a field, and return its id."""
    response = client.create(**members)
    assert response.status == 201, response.body
    return int(response.document["recipient_field"]["id"])


def dump(url: str) -> str:
    """Return the statements of `pg_dump`, without those that older servers or drivers reject."""
    run = subprocess.run(
        [programs() / "pg_dump", "--inserts", "--no-owner", "--no-privileges", url],
        capture_output=True,
        check=True,
        text=True,
    )
    ours = ("\\restrict", "\\unrestrict", "SET transaction_timeout")
    return "".join(
        line for line in run.stdout.splitlines(keepends=True) if not line.startswith(ours)
    )
