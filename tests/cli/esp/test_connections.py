"""Connections of integrations: credentials in the storage, and scheduled syncs."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep
from typing import Any

import pytest
from cryptography.fernet import Fernet

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Integration

from ...support.command_line import CommandLine, Run
from ...support.esp_account import KEY, OTHER_KEY, Braze, braze_accounts
from ...support.http_server import HANG, StubResponse

SECRETS_KEY = Fernet.generate_key().decode()
NEW_KEY = Fernet.generate_key().decode()


@pytest.fixture(autouse=True)
def braze() -> Iterator[Braze]:
    accounts = {KEY: ["tier", "visits"], OTHER_KEY: ["plan", "seats"]}
    with braze_accounts(accounts) as served:
        yield served


@pytest.fixture
def main(core: Core, acme: OrganizationId) -> Integration:
    return core.integrations.create_integration(acme, esp=Esp("braze"), name="Main")


@pytest.fixture
def other(core: Core) -> Integration:
    organization = core.administration.create_organization("Other")
    return core.integrations.create_integration(organization.id, esp=Esp("braze"), name="Other")


@pytest.fixture
def environment(braze: Braze) -> dict[str, str]:
    return {
        "RECIPIENT_FIELDS_SECRETS_KEY": SECRETS_KEY,
        "RECIPIENT_FIELDS_ESP_HOSTS": braze.host,
    }


class Commands:
    """The commands for an integration."""

    def __init__(self, cli: CommandLine, environment: dict[str, str]) -> None:
        self.cli = cli
        self.environment = environment

    def __call__(self, command: str, of: Integration, *options: str, **settings: Any) -> Run:
        """Run a command for an integration. Upper-case settings are variables."""
        return self.cli(
            "integrations",
            command,
            of.id,
            "--organization",
            of.organization_id,
            *options,
            **{**self.environment, **settings},
        )

    def connect(self, of: Integration, url: str, key: str = KEY, *options: str) -> Run:
        return self("connect", of, "--set", f"url={url}", *options, stdin=f"{key}\n")


@pytest.fixture
def run(cli: CommandLine, environment: dict[str, str]) -> Commands:
    return Commands(cli, environment)


def keys_of(core: Core, integration: Integration) -> list[str]:
    return [each.key for each in core.integrations.list_fields(integration)]


def test_two_organizations_sync_two_accounts_of_one_esp(run, braze, core, main, other):
    connected = run.connect(main, braze.url)
    assert connected.messages() == "Connected integration 1, Main.\n"
    assert run("test", main).messages() == "Integration 1, Main, is connected.\n"
    run.connect(other, braze.url, OTHER_KEY).messages()
    for integration in (main, other):
        assert "2 created" in run("sync", integration).messages()
    assert keys_of(core, main) == ["tier", "visits"]
    assert keys_of(core, other) == ["plan", "seats"]
    assert run("disconnect", main, "--yes").messages() == "Disconnected integration 1, Main.\n"
    assert run("sync", main).failure() == run("test", main).failure()


def test_the_secret_is_found_encrypted_only(run, braze, core, main, file, tmp_path, caplog):
    audit = tmp_path / "audit.log"
    outputs = [run.connect(main, braze.url), run("sync", main), run("test", main)]
    braze.names = {}
    outputs += [run("sync", main), run("test", main), run("schedule", main, "--every", "hourly")]
    environment = {**run.environment, "RECIPIENT_FIELDS_SECRETS_KEY": f"{NEW_KEY}\n{SECRETS_KEY}"}
    outputs.append(run.cli("integrations", "sync-due", **environment))
    outputs.append(run.cli("secrets", "--audit-log", str(audit), "rotate", **environment))
    assert outputs[-1].messages() == "Encrypted 1 credential with the first key.\n"
    outputs.append(run.cli("backup", tmp_path / "backup.db"))
    outputs.append(run.cli("history", "list", "--organization", "1", "--json"))

    files = [*file.parent.iterdir(), *tmp_path.iterdir()]
    assert {each.name for each in files} >= {"fields.db", "fields.db-wal", "backup.db", "audit.log"}
    for each in files:
        assert KEY.encode() not in each.read_bytes(), each
        assert KEY[-4:].encode() not in each.read_bytes(), each
    assert KEY not in caplog.text
    assert not [each for each in outputs if KEY in each.out + each.err]
    assert not any("is not valid" in each.err for each in outputs), "a response is quoted"
    stored = core.connections.get(main.organization_id, main.id)
    assert stored.credential is not None
    assert KEY in Fernet(NEW_KEY).decrypt(stored.credential).decode()


def test_a_row_that_was_moved_is_refused(run, braze, core, main, other):
    run.connect(main, braze.url).messages()
    twin = core.integrations.create_integration(main.organization_id, esp=Esp("braze"), name="Twin")
    moved = core.connections.get(main.organization_id, main.id).credential
    storage: Any = core.storage
    for target in (twin, other):
        storage.esp_connections.change(
            target.organization_id,
            target.id,
            lambda each: each.with_credential(moved, at=core.clock()),
        )
        for command in ("test", "sync"):
            assert run(command, target).failure().startswith("The stored credentials can't be")
    assert len(braze.requests) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1",
        "https://127.0.0.1",
        "https://rest.iad-01.braze.com.example.org",
        "https://rest.iad-01.braze.com:8443",
        "http://rest.iad-01.braze.com",
        "https://user@rest.iad-01.braze.com",
        "https://example.org/rest.iad-01.braze.com",
        "ftp://rest.iad-01.braze.com",
        "rest.iad-01.braze.com",
    ],
)
def test_another_host_than_that_of_the_esp_is_refused(run, main, core, url):
    failure = run.connect(main, url).failure()
    assert failure.startswith("The URL is not one of the API of Braze")
    assert "--esp-hosts" in failure
    assert core.connections.get(main.organization_id, main.id).credential is None


def test_a_host_name_that_resolves_to_a_private_address_is_refused(run, braze, main, monkeypatch):
    port = int(braze.host.rpartition(":")[2])
    for address in ("127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "::ffff:127.0.0.1"):
        monkeypatch.setattr(
            "socket.getaddrinfo",
            lambda *_, address=address, **__: [(2, 1, 6, "", (address, port))],
        )
        failure = run.connect(main, "https://rest.iad-01.braze.com").failure()
        assert "its host name resolves to a private address" in failure
    assert not braze.requests


def test_a_redirect_is_not_followed(run, braze, main):
    with braze_accounts({KEY: ["stolen"]}) as target:
        braze.reply = StubResponse(302, b"secret", {"Location": f"{target.url}/custom_attributes"})
        assert "redirects to another address" in run.connect(main, braze.url).failure()
        assert not target.requests


def test_another_host_requires_the_secret_again(run, braze, main, environment):
    run.connect(main, braze.url).messages()
    with braze_accounts({KEY: ["tier", "visits"]}) as target:
        environment["RECIPIENT_FIELDS_ESP_HOSTS"] = f"{braze.host},{target.host}"
        failure = run.connect(main, target.url, "").failure()
        assert "Enter the API key again, because the host has changed." in failure
        assert not target.requests
        assert run.connect(main, braze.url, "").status == 0
        assert run.connect(main, target.url).status == 0


def test_the_key_of_another_account_must_be_confirmed(run, braze, core, main):
    run.connect(main, braze.url).messages()
    run("sync", main).messages()
    braze.names["rotated-key-of-acme"] = [*braze.names[KEY]]
    assert run.connect(main, braze.url, "rotated-key-of-acme").status == 0
    before = core.connections.get(main.organization_id, main.id)
    assert "add --yes" in run.connect(main, braze.url, OTHER_KEY).failure()
    assert core.connections.get(main.organization_id, main.id) == before
    assert run.connect(main, braze.url, OTHER_KEY, "--yes").status == 0
    assert core.connections.get(main.organization_id, main.id) != before


def test_variables_work_with_a_warning_and_can_be_stored(run, braze, main, core):
    variables = {
        "RECIPIENT_FIELDS_BRAZE_API_KEY": KEY,
        "RECIPIENT_FIELDS_BRAZE_URL": braze.url,
    }
    warned = run("sync", main, **variables).messages()
    command = "recipient-fields integrations connect 1 --organization 1 --from-environment"
    assert command in warned
    connected = run("connect", main, "--from-environment", **variables)
    assert connected.messages() == "Connected integration 1, Main.\n"
    assert "Warning" not in run("sync", main).messages()
    assert keys_of(core, main) == ["tier", "visits"]


def test_without_a_key_nothing_is_stored(run, braze, main):
    del run.environment["RECIPIENT_FIELDS_SECRETS_KEY"]
    failure = run.connect(main, braze.url).failure()
    assert failure == "To store or read credentials, set RECIPIENT_FIELDS_SECRETS_KEY."
    assert not braze.requests
    run.environment["RECIPIENT_FIELDS_SECRETS_KEY"] = "not a key"
    assert "is not a key" in run.connect(main, braze.url).failure()


def test_with_a_lost_key_everything_else_works_and_doctor_lists_what_to_connect(run, braze, main):
    run.connect(main, braze.url).messages()
    run.environment["RECIPIENT_FIELDS_SECRETS_KEY"] = NEW_KEY
    assert run.cli("integrations", "list", "--organization", "1", **run.environment).status == 0
    doctor = run.cli("doctor", **run.environment)
    assert "recipient-fields integrations connect 1 --organization 1" in doctor.out
    assert run.cli("secrets", "rotate", **run.environment).status == 1
    assert run.connect(main, braze.url).status == 0
    doctor = run.cli("doctor", **run.environment)
    assert "All stored credentials of integrations can be decrypted." in doctor.out


@pytest.mark.parametrize(
    "keys", [f"{NEW_KEY}\n{SECRETS_KEY}", NEW_KEY, ""], ids=["both", "new", "none"]
)
def test_a_copy_encrypts_credentials_again_or_omits_them(run, braze, main, file, keys):
    run.connect(main, braze.url).messages()
    target = f"sqlite:{file.parent / 'copy.db'}"
    copied = run.cli("copy", "--to", target, RECIPIENT_FIELDS_SECRETS_KEY=keys).messages()
    run.environment["RECIPIENT_FIELDS_SECRETS_KEY"] = NEW_KEY
    run.cli = CommandLine(target)
    if "\n" in keys:
        assert "Omitted" not in copied
        assert run("test", main).status == 0
    else:
        assert "Omitted the credentials of 1 integration:" in copied
        assert run("test", main).failure().startswith("The integration is not connected.")


def test_scheduled_syncs_store_changes_and_let_removals_wait(run, braze, core, main, other):
    run.connect(main, braze.url).messages()
    run.connect(other, braze.url, OTHER_KEY).messages()
    assert run.cli("integrations", "sync-due", **run.environment).messages() == ""
    for each in (main, other):
        run("schedule", each, "--every", "daily").messages()
    due = run.cli("integrations", "sync-due", **run.environment).messages()
    assert due == (
        "Synced integration 1, Main, of organization 1: 2 created, 0 updated.\n"
        "Synced integration 2, Other, of organization 2: 2 created, 0 updated.\n"
    )
    assert run.cli("integrations", "sync-due", **run.environment).messages() == ""
    braze.names[KEY] = ["tier", "shop"]
    del braze.names[OTHER_KEY]
    for each in (main, other):
        run("schedule", each, "--every", "hourly").messages()
    failed = run.cli("integrations", "sync-due", **run.environment)
    assert failed.status == 1
    assert "1 removal of integration 1, Main," in failed.err
    assert (
        "The sync of integration 2, Other, of organization 2 failed: Braze does not" in failed.err
    )
    assert keys_of(core, main) == ["tier", "visits", "shop"]
    connection = core.connections.get(main.organization_id, main.id)
    assert connection.last_result == "1 created"
    assert len(connection.waiting_fields) == 1
    wrong = core.connections.get(other.organization_id, other.id)
    assert (wrong.failures, wrong.due_at) != (0, None)
    run("schedule", main, "--every", "hourly").messages()
    assert run.cli("integrations", "sync-due", **run.environment).status == 3
    assert run("sync", main, "--yes").status == 0
    assert keys_of(core, main) == ["tier", "shop"]
    assert core.connections.get(main.organization_id, main.id).waiting == ""


@pytest.mark.slow
def test_many_processes_sync_each_integration_once_and_continue_one_that_was_killed(
    run, script, braze, core, main, other
):
    for each, key in ((main, KEY), (other, OTHER_KEY)):
        run.connect(each, braze.url, key).messages()
        run("schedule", each, "--every", "daily").messages()
    sync_due = ("integrations", "sync-due")
    braze.requests.clear()
    braze.reply = HANG
    # Only this lease ends soon: on a slow machine, a sync of the others can take longer.
    killed = script.start(*sync_due, "--lease", "5", environment=run.environment)
    while not braze.requests:
        sleep(0.05)
    killed.kill()
    killed.communicate()
    braze.reply = None
    braze.requests.clear()
    processes = [script.start(*sync_due, environment=run.environment) for _ in range(20)]
    outputs = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 20, outputs
    sleep(5)
    outputs.append(run.cli("integrations", "sync-due", **run.environment).messages())
    for synced in ("Synced integration 1, Main", "Synced integration 2, Other"):
        assert "".join(outputs).count(synced) == 1
    assert sorted(request.headers["authorization"] for request in braze.requests) == [
        f"Bearer {KEY}",
        f"Bearer {OTHER_KEY}",
    ]
    assert keys_of(core, main) == ["tier", "visits"]
    assert keys_of(core, other) == ["plan", "seats"]
