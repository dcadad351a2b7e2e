"""Storages and key validators of other distributions, found by their entry points."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

LIST = ("organizations", "list", "--json")
SERVE = ("serve", "--listen", "192.0.2.1:0")
"""The address belongs to no machine: the command fails there if it has accepted the options."""


@pytest.fixture
def distribution(tmp_path: Path) -> Path:
    """Return a folder with an installed distribution that has storages and key validators."""
    (tmp_path / "cloud.py").write_text(
        dedent("""
            from datetime import UTC, datetime

            from recipient_fields.adapters.memory import MemoryStorage
            from recipient_fields.adapters.sqlite import SqliteStorage
            from recipient_fields.domain import KeyValidationUnavailable, StorageUnavailable


            def open_memory(url):
                storage = MemoryStorage()
                storage.organizations.add(url, datetime.now(UTC))
                return storage


            class CatalogStorage:
                def __init__(self):
                    whole = MemoryStorage()
                    self.organizations, self.fields = whole.organizations, whole.fields
                    self.check, self.close = whole.check, whole.close
                    self.organizations.add("Acme", datetime.now(UTC))


            def open_catalog(url):
                return CatalogStorage()


            class UnrecordedStorage:
                def __init__(self, whole):
                    self.organizations, self.fields = whole.organizations, whole.fields
                    self.api_keys, self.integrations = whole.api_keys, whole.integrations
                    self.esp_connections = whole.esp_connections
                    self.check, self.close = whole.check, whole.close


            def open_unrecorded(url):
                return UnrecordedStorage(SqliteStorage(url.removeprefix("unrecorded:")))


            def open_unavailable(url):
                raise StorageUnavailable("The cloud is unavailable.")


            def open_unavailable_validator(url):
                raise KeyValidationUnavailable("The key validator is unavailable.")
        """)
    )
    information = tmp_path / "cloud-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: cloud\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        dedent("""
            [recipient_fields.storage]
            cloud = cloud:open_memory
            catalog = cloud:open_catalog
            unrecorded = cloud:open_unrecorded
            unavailable = cloud:open_unavailable
            incomplete = cloud:no_such_function
            missing = no_such_module:open
            memory = cloud:open_unavailable

            [recipient_fields.key_validator]
            unavailable = cloud:open_unavailable_validator
            incomplete = cloud:no_such_function
            stored = cloud:open_unavailable_validator
        """)
    )
    return tmp_path


@pytest.fixture
def _installed(distribution: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the distribution in this process."""
    monkeypatch.syspath_prepend(distribution)


def test_an_installed_adapter_opens_the_urls_of_its_scheme(distribution, script):
    run = script(
        *("--storage", "cloud:region/fields?replicas=2", *LIST),
        environment={"PYTHONPATH": str(distribution)},
    )

    organization = {"id": 1, "name": "cloud:region/fields?replicas=2"}
    assert run.document() == {"organizations": [organization]}


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("--storage", "incomplete:", *LIST), "The adapter of incomplete: can't be loaded: "),
        (("--storage", "missing:", *LIST), "The adapter of missing: can't be loaded: "),
        (("--storage", "unavailable:", *LIST), "The cloud is unavailable."),
        ((*SERVE, "--keys", "incomplete:"), "The adapter of incomplete: can't be loaded: "),
        ((*SERVE, "--keys", "unavailable:"), "The key validator is unavailable."),
    ],
)
def test_an_adapter_that_can_not_be_used_is_reported_on_one_line(cli, command, message):
    assert cli(*command).failure().startswith(message)


@pytest.mark.usefixtures("_installed")
def test_a_distribution_can_not_replace_a_built_in_adapter(cli):
    assert cli("--storage", "memory:", *LIST).document() == {"organizations": []}
    assert cli(*SERVE, "--keys", "stored:").failure().startswith("Can't listen on 192.0.2.1:0")


NO_HISTORY = "This storage has no history of fields. Use another one, such as sqlite:"
NO_KEYS = "This storage has no API keys and integrations. Use another one, such as sqlite:"
NO_ACCOUNTS = "This storage has no console accounts. Use another one, such as sqlite:"
TENANT = ("--organization", "1")
CONSOLE_URL = ("--console-url", "https://console.invalid")


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("history", "list", *TENANT), NO_HISTORY),
        (("history", "show", "city", *TENANT), NO_HISTORY),
        (("history", "prune", *TENANT, "--older-than", "30d", "--yes"), NO_HISTORY),
        (("fields", "list", *TENANT, "--as-of", "2026-11-20T09:15:00Z"), NO_HISTORY),
        (("fields", "restore", "1", *TENANT), NO_HISTORY),
        (("keys", "create", *TENANT, "--name", "Backend"), NO_KEYS),
        (("keys", "list", *TENANT), NO_KEYS),
        (("integrations", "list", *TENANT), NO_KEYS),
        (("administrators", "list", *TENANT), NO_ACCOUNTS),
        (
            ("administrators", "invite", "dana@acme.example", *TENANT),
            NO_ACCOUNTS,
        ),
        (SERVE, "The storage has no API keys, which --keys stored: validates. Use another key"),
        (
            (*SERVE, "--console", *CONSOLE_URL),
            "The storage has no API keys and integrations, which the console needs. Start the",
        ),
        (
            (*SERVE, "--demo", *CONSOLE_URL),
            "The storage has no API keys and integrations, which the console",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else " ".join(part[:2]),
)
def test_a_command_that_requires_a_missing_group_says_so(cli, command, message):
    assert cli("--storage", "catalog:", *command).failure().startswith(message)


@pytest.mark.usefixtures("_installed")
def test_commands_for_fields_require_no_optional_group(cli):
    assert cli("--storage", "catalog:", "fields", "list", *TENANT, "--json").document() == {
        "recipient_fields": []
    }
    deleted = cli("--storage", "catalog:", "organizations", "delete", "1", reply="y\n")
    contents = "with 0 fields, 0 API keys, 0 integrations and 0 administrators"
    assert f"Deleted organization 1, Acme, {contents}." in deleted.messages()


@pytest.mark.usefixtures("_installed")
def test_a_storage_without_a_history_syncs_fields_and_restores_none(cli, tmp_path):
    storage = ("--storage", f"unrecorded:{tmp_path / 'fields.db'}")
    report, empty = tmp_path / "report.json", tmp_path / "empty.json"
    report.write_text('{"fields": [{"name": "FNAME", "data_type": "text"}]}')
    empty.write_text('{"fields": []}')
    cli(*storage, "organizations", "create", "Acme")
    cli(*storage, "integrations", "create", *TENANT, "--esp", "mailchimp", "--name", "List")
    cli(*storage, "integrations", "sync", "1", *TENANT, "--from", report)
    options = ("--from", empty, "--allow-empty", "--yes")
    removed = cli(*storage, "integrations", "sync", "1", *TENANT, *options)
    assert "1 removed" in removed.messages()
    assert "To undo" not in removed.err
    restored = cli(*storage, "integrations", "restore", "1", *TENANT)
    assert restored.failure().startswith(NO_HISTORY)


@pytest.mark.usefixtures("_installed")
def test_a_service_without_stored_keys_requires_no_optional_group(cli):
    run = cli(
        *("--storage", "catalog:", *SERVE, "--keys", "introspection+https://issuer.example.com"),
        RECIPIENT_FIELDS_INTROSPECTION_TOKEN="secret",
    )
    assert run.failure().startswith("Can't listen on 192.0.2.1:0")


@pytest.mark.usefixtures("_installed")
def test_doctor_reports_a_storage_without_a_group_that_the_console_requires(cli):
    run = cli("--storage", "catalog:", "doctor", "--json", *CONSOLE_URL)
    checks = json.loads(run.out)["checks"]
    messages = [each["message"] for each in checks if each["check"] == "storage"]
    assert run.status == 1
    assert messages[1].startswith("The storage has no API keys and integrations, which the console")
    without = cli("--storage", "catalog:", "doctor", "--json").document()["checks"]
    assert [each["result"] for each in without if each["check"] == "storage"] == ["ok"]
