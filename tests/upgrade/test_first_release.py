"""Storages of the first release are upgraded while it serves, and keep everything.

`first_release/README.md` describes the storages.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..service.conftest import checked, new_file
from ..support.command_line import CommandLine, Script
from ..support.postgres import execute, new_database
from ..support.service import Client, Service
from ..support.upgrading import undo_statements
from .first_release import LAST_MIGRATION, RECORDS, Fixture, install, served, stored
from .traffic import Traffic

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the command of the first release."""
    return install(tmp_path_factory.mktemp("first-release") / "venv")


@pytest.fixture
def database(server_url: str) -> Iterator[str]:
    """Return the URL of the first release's PostgreSQL database."""
    with new_database(server_url) as url:
        execute(url, Fixture("postgresql").database.read_text("utf-8"))
        yield url


@pytest.fixture
def file() -> Iterator[Path]:
    """Return a copy of the first release's SQLite file."""
    with new_file() as file:
        shutil.copy(Fixture("sqlite").database, file)
        yield file


def create_organization(command: Script) -> tuple[int, str]:
    """Create an organization for the traffic, and return its id and an API key."""
    organization = int(
        command("organizations", "create", "Traffic", "--json").document()["organization"]["id"]
    )
    created = command(
        *("keys", "create", "--organization", organization, "--name", "Traffic", "--json"),
    )
    return organization, created.document()["api_key"]["key"]


def require_all_stored(command: Script | CommandLine, expected: list[dict[str, Any]]) -> None:
    """Check that every organization and record is as the first release listed it.

    This version lists more members. Organizations that the first release did not have don't matter.
    """
    found = stored(command)[: len(expected)]
    assert [_without_new_members(*pair) for pair in zip(found, expected, strict=True)] == expected


def _without_new_members(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    cut = {**found}
    for name in RECORDS.values():
        cut[name] = [
            {member: value for member, value in record.items() if member in old}
            for record, old in zip(found[name], expected[name], strict=True)
        ]
    return cut


def require_ids_are_not_reused(command: CommandLine, deleted: dict[str, int]) -> None:
    """Create one record of each kind with this version, and check that its id is new."""
    organization = command("organizations", "create", "New", "--json").document()["organization"]
    of_it = ("--organization", organization["id"], "--json")
    key = command("keys", "create", "--name", "New", *of_it).document()["api_key"]
    integration = command(
        "integrations", "create", "--esp", "braze", "--name", "New", *of_it
    ).document()["integration"]
    field = command("fields", "create", "--name", "New", "--data-type", "text", *of_it).document()[
        "recipient_field"
    ]

    assert organization["id"] > deleted["organizations"]
    assert key["id"] > deleted["api_keys"]
    assert integration["id"] > deleted["integrations"]
    assert field["id"] > deleted["fields"]


def recorded(command: CommandLine, organization: int, prefix: str) -> list[tuple[str, str]]:
    """Return the operations and keys in the history of an organization, of keys with the prefix."""
    listed = command("history", "list", "--organization", organization, "--limit", 1000, "--json")
    return [
        (change["operation"], change["key"])
        for change in reversed(listed.document()["recipient_field_changes"])
        if change["key"].startswith(prefix)
    ]


def changes_of(traffic: Traffic) -> list[tuple[str, str]]:
    """Return the operations and keys that the history has if it records this traffic."""
    operations = ("created", "updated")
    return [(operation, field["key"]) for field in traffic.fields for operation in operations]


@contextmanager
def side_by_side(old: Service, new: Service, key: str) -> Iterator[tuple[Traffic, Traffic]]:
    """Write to each service what the other one reads."""
    one, other = old.client(key), new.client(key)
    with Traffic(one, other, "old") as to_old, Traffic(other, one, "new") as to_new:
        to_old.wait_for_more()
        to_new.wait_for_more()
        yield to_old, to_new


def by_id(*traffics: Traffic) -> list[dict[str, Any]]:
    """Return the fields of the traffics, in the order of the API."""
    fields = [field for traffic in traffics for field in traffic.fields]
    return sorted(fields, key=lambda field: int(field["id"]))


def readiness(*services: Service) -> list[int]:
    return [service.anonymous("GET", "/readyz").status for service in services]


def require_exact_limit(database: str, old: Client, key: str, fields: int) -> None:
    """Check that this version limits API-managed fields exactly, also beside the first release."""
    with checked(Service(database, "--field-limit", str(fields + 2))) as service:
        new = service.client(key)
        assert new.create(name="limited_1").status == 201
        assert old.create(name="limited_2").status == 201
        assert new.create(name="limited_3").code == "field_limit_reached"
        assert old("DELETE", "/api/v1/recipient_fields/limited_2").status == 204
        assert new.create(name="limited_4").status == 201
        assert new.create(name="limited_5").code == "field_limit_reached"
        for name in ("limited_1", "limited_4"):
            assert new("DELETE", f"/api/v1/recipient_fields/{name}").status == 204


def test_postgresql_is_migrated_while_the_first_release_serves(
    first_release: str, database: str
) -> None:
    content = Fixture("postgresql").read()
    old_command, command = Script(database, first_release), CommandLine(database)
    organization, key = create_organization(old_command)

    with checked(Service(database, script=first_release)) as old:
        with Traffic(old.client(key), old.client(key), "before") as before:
            before.wait_for_more()
            Script(database)("migrate").messages()
            before.wait_for_more()
            require_all_stored(command, content["stored"])
            with checked(Service(database)) as new:
                assert readiness(new, old) == [200, 200]
                with side_by_side(old, new, key) as (to_old, to_new):
                    before.wait_for_more()
        fields = by_id(before, to_old, to_new)
        require_exact_limit(database, old.client(key), key, len(fields))
        assert old.stop() == 0

    with checked(Service(database)) as new:
        require_all_stored(command, content["stored"])
        assert served(new.url, content["keys"]) == content["served"]
        assert new.client(key).fields() == fields
        assert recorded(command, organization, "old") == []
        assert recorded(command, organization, "new") == changes_of(to_new)
        last = to_old.fields[-1]
        assert new.client(key).change(last["id"], name="Renamed").status == 200
        assert recorded(command, organization, "old") == [("updated", last["key"])]
        require_ids_are_not_reused(command, content["deleted"])


def test_postgresql_is_changed_back_for_the_first_release(
    first_release: str, database: str
) -> None:
    content = Fixture("postgresql").read()
    old_command = Script(database, first_release)
    _, key = create_organization(old_command)
    Script(database)("migrate").messages()
    with (
        checked(Service(database)) as new,
        Traffic(new.client(key), new.client(key), "new") as traffic,
    ):
        traffic.wait_for_more()
    refusal = old_command("migrate").failure()

    for name, statements in undo_statements().items():
        if name > LAST_MIGRATION:
            execute(database, statements)

    assert "Upgrade first." in refusal
    require_all_stored(old_command, content["stored"])
    with (
        checked(Service(database, script=first_release)) as old,
        Traffic(old.client(key), old.client(key), "old") as again,
    ):
        assert served(old.url, content["keys"]) == content["served"]
        again.wait_for_more()
        Script(database)("migrate").messages()
        again.wait_for_more()
    with checked(Service(database)) as new:
        assert new.client(key).fields() == by_id(traffic, again)
        assert served(new.url, content["keys"]) == content["served"]


def test_sqlite_is_migrated_while_the_first_release_serves(first_release: str, file: Path) -> None:
    content = Fixture("sqlite").read()
    storage, backup = f"sqlite:{file}", file.with_name("backup.db")
    old_command, command = Script(storage, first_release), CommandLine(storage)
    organization, key = create_organization(old_command)

    with checked(Service(storage, script=first_release)) as old:
        with Traffic(old.client(key), old.client(key), "before") as before:
            before.wait_for_more()
            old_command("backup", str(backup)).messages()
            with checked(Service(storage)) as new:
                assert readiness(new, old) == [200, 503]
                before.wait_for_more()
                require_all_stored(command, content["stored"])
                with side_by_side(old, new, key) as (to_old, to_new):
                    before.wait_for_more()
        assert old.stop() == 0

    with checked(Service(storage)) as new:
        require_all_stored(command, content["stored"])
        assert served(new.url, content["keys"]) == content["served"]
        assert new.client(key).fields() == by_id(before, to_old, to_new)
        assert recorded(command, organization, "old") == []
        assert recorded(command, organization, "new") == changes_of(to_new)
        require_ids_are_not_reused(command, content["deleted"])


def test_a_backup_of_sqlite_is_restored_for_the_first_release(
    first_release: str, file: Path
) -> None:
    content = Fixture("sqlite").read()
    storage, backup = f"sqlite:{file}", file.with_name("backup.db")
    old_command = Script(storage, first_release)
    old_command("backup", str(backup)).messages()
    Script(storage)("migrate").messages()
    refusal = old_command("serve", "--listen", "127.0.0.1:0").failure()

    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
    shutil.copy(backup, file)

    assert refusal.endswith("belongs to a newer version of Recipient Fields. Upgrade first.")
    require_all_stored(old_command, content["stored"])
    with checked(Service(storage, script=first_release)) as old:
        assert served(old.url, content["keys"]) == content["served"]


def test_content_is_exported_as_by_the_first_release(
    first_release: str, file: Path, tmp_path: Path
) -> None:
    """Except for code that is certainly not in the dialects of the integrations."""
    old, new = Script(f"sqlite:{file}", first_release), CommandLine(f"sqlite:{file}")
    content, exports = tmp_path / "content", {}
    for organization in Fixture("sqlite").read()["stored"]:
        for integration in organization["integrations"]:
            target = ("--organization", organization["id"], "--integration", integration["id"])
            for key in (each["key"] for each in organization["recipient_fields"]):
                content.write_text(f"a {{{{recipient.{key}}}}}\n")
                run = old("export", *target, str(content))
                if run.status == 0 and key not in {"loyalty", "text_from_the_api"}:
                    exports[target, key] = run.out
    assert len(exports) >= 6
    Script(f"sqlite:{file}")("migrate").messages()
    for (target, key), expected in exports.items():
        options = (*target, "--allow-mistakes")
        run = new("content", "export", *options, stdin=f"a {{{{recipient.{key}}}}}\n")
        assert (key, run.out) == (key, expected), run.err
