"""Credentials of integrations in a running service: what it stores, logs, shows and exports."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest
from attrs import Factory, define, evolve
from cryptography.fernet import Fernet

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Interval

from ..adapters.esp.accounts import ACCOUNTS, SECRET, Account, soap_fault
from ..console.browser import Response
from ..support.command_line import Script
from ..support.esp_account import KEY, braze_accounts
from ..support.http_server import Handler, ReceivedRequest, Reply, StubResponse, stub_server
from ..support.service import Service
from ..support.waiting import eventually
from .conftest import Start
from .console import browse, invite, set_password
from .test_traces import ACCEPTED, exporting_to

pytestmark = pytest.mark.slow

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))
OF_RESPONSE = "r3sponse-text"
SAVE, TEST, PLAN = ("action", "save"), ("action", "test"), ("action", "dry-run")


def forms_of(secret: str) -> list[bytes]:
    """Return the bytes by which the secret is found, also inside of base64."""
    text = secret.encode()
    encoded = [base64.b64encode(bytes(shift) + text)[4:-4] for shift in range(3)]
    return [text, text.hex().encode(), *encoded]


@define
class Seen:
    """What people, operators and collectors see, and what the disk contains."""

    folder: Path
    pages: list[Response] = Factory(list)
    outputs: list[str] = Factory(list)
    exports: list[bytes] = Factory(list)

    def receive(self, request: ReceivedRequest) -> Reply:
        """Receive traces."""
        self.exports.append(request.body)
        return ACCEPTED

    def places(self, service: Service) -> dict[str, bytes]:
        """Return the bytes at each place."""
        return {
            **{each.name: each.read_bytes() for each in self.folder.iterdir()},
            "log": service.stderr.encode(),
            "traces": b"".join(self.exports),
            "outputs": "".join(self.outputs).encode(),
            "pages": "".join(f"{each.headers} {each.html}" for each in self.pages).encode(),
        }

    def search(self, service: Service, secret: str) -> list[str]:
        """Return the places where the secret is found."""
        places = self.places(service)
        return [
            name for name, text in places.items() if any(each in text for each in forms_of(secret))
        ]


@pytest.fixture
def seen(file: Path) -> Seen:
    return Seen(file.parent)


@pytest.fixture
def start_traced(start: Start, seen: Seen) -> Iterator[Callable[[Mapping[str, str]], Service]]:
    """Return a function that starts a service with the console and traces."""
    with stub_server(seen.receive) as collector:
        options = ("--console", "--traces", "--log-level", "debug")
        yield lambda environment: start(*options, **exporting_to(collector.url), **environment)


@contextmanager
def repeated(action: Callable[[], Response]) -> Iterator[list[Response]]:
    """Repeat an action in a thread while the block runs, and return its results."""
    results, ends = list[Response](), Event()

    def repeat_until_the_end() -> None:
        while not ends.is_set():
            results.append(action())

    with ThreadPoolExecutor() as threads:
        running = threads.submit(repeat_until_the_end)
        try:
            yield results
        finally:
            ends.set()
            running.result()


def test_a_credential_is_found_encrypted_only(
    core: Core,
    acme: OrganizationId,
    script: Script,
    seen: Seen,
    start_traced: Callable[[Mapping[str, str]], Service],
) -> None:
    with braze_accounts({KEY: ["tier", "visits"]}) as braze:
        hosts = {"RECIPIENT_FIELDS_ESP_HOSTS": braze.host}
        service = start_traced({"RECIPIENT_FIELDS_SECRETS_KEY": f"{OLD}\n{NEW}", **hosts})
        before = {"RECIPIENT_FIELDS_SECRETS_KEY": OLD, **hosts}
        after = {"RECIPIENT_FIELDS_SECRETS_KEY": f"{NEW}\n{OLD}", **hosts}
        main = core.integrations.create_integration(acme, esp=Esp("braze"), name="Main")
        path = f"/console/o/{acme}/settings/integrations/{main.id}"
        browser = browse(service.url)
        set_password(browser, invite(core, acme, f"dana@{acme}.example"))

        def run(*arguments: str, environment: Mapping[str, str] = after) -> int:
            ran = script(*arguments, environment=dict(environment))
            seen.outputs.append(ran.out + ran.err)
            return ran.status

        def plan() -> Response:
            shown = browser.submit_form(browser.get(path), "/sync", press=PLAN)
            seen.pages.append(shown)
            return shown

        values = {"api_key": KEY, "url": braze.url}
        tested = browser.submit_form(browser.get(f"{path}/connect"), "/connect", values, press=TEST)
        seen.pages += [tested, browser.submit_form(tested, "/connect", press=SAVE)]
        seen.pages.append(browser.get(path))
        assert "Connected" in seen.pages[-1].text
        seen.pages.append(browser.submit(plan()))
        assert "was synced" in seen.pages[-1].text
        one = ("--organization", str(acme))
        assert run("integrations", "test", str(main.id), *one, environment=before) == 0
        assert seen.search(service, KEY) == []

        braze.reply = lambda request: StubResponse(
            401, f"{request.headers['authorization']} is unknown".encode()
        )
        assert "does not accept these credentials" in plan().text
        assert run("integrations", "sync", str(main.id), *one, environment=before) == 1
        core.connections.schedule(acme, main.id, Interval.HOURLY)
        assert run("integrations", "sync-due", environment=before) == 1
        seen.pages.append(browser.get(path))
        assert "The last sync failed" in seen.pages[-1].text
        assert seen.search(service, KEY) == []

        braze.reply = None
        with repeated(plan) as plans:
            for _ in range(3):
                core.connections.schedule(acme, main.id, Interval.HOURLY)
                with ThreadPoolExecutor() as threads:
                    synced = threads.submit(run, "integrations", "sync-due")
                    assert run("secrets", "rotate") == 0
                    assert synced.result() == 0
        assert sum(each.status == 200 for each in plans) > 3
        assert not [each for each in plans if "decrypted" in each.text]
        rotated = {"RECIPIENT_FIELDS_SECRETS_KEY": NEW, **hosts}
        assert run("integrations", "test", str(main.id), *one, environment=rotated) == 0
        assert run("backup", str(seen.folder / "backup.db")) == 0
        assert run("history", "list", *one, "--json") == 0
        eventually(lambda: b"EspConnectionRepository.change" in b"".join(seen.exports))

        assert seen.search(service, KEY) == []
        stored = core.connections.get(acme, main.id).credential
        assert stored is not None
        assert (
            {"backup.db"}
            <= {*seen.search(service, stored)}
            <= {
                "backup.db",
                "fields.db",
                "fields.db-wal",
            }
        )
        assert {"traces", "pages", "outputs"} <= {*seen.places(service)}
        assert "backup.db" in seen.search(service, "visits")


def test_no_page_log_or_trace_quotes_an_error_of_an_esp(
    core: Core,
    acme: OrganizationId,
    script: Script,
    seen: Seen,
    start_traced: Callable[[Mapping[str, str]], Service],
) -> None:
    with ExitStack() as servers:
        stubs = {each.esp: servers.enter_context(stub_server(each.handler)) for each in ACCOUNTS}
        hosts = [stub.url.removeprefix("http://") for stub in stubs.values()]
        environment = {
            "RECIPIENT_FIELDS_SECRETS_KEY": NEW,
            "RECIPIENT_FIELDS_ESP_HOSTS": ",".join(hosts),
        }
        service = start_traced(environment)
        browser = browse(service.url)
        set_password(browser, invite(core, acme, f"dana@{acme}.example"))
        for account in ACCOUNTS:
            stub = stubs[account.esp]
            created = core.integrations.create_integration(acme, esp=account.esp, name="Main")
            path = f"/console/o/{acme}/settings/integrations/{created.id}"
            values = {**account.settings, "url": stub.url}
            form = browser.get(f"{path}/connect")
            assert browser.submit_form(form, "/connect", values, press=SAVE).status == 303
            stub.handler = broken(account)
            plan = browser.submit_form(browser.get(path), "/sync", press=PLAN)
            assert plan.status in {409, 503}, plan.text
            core.connections.schedule(acme, created.id, Interval.HOURLY)
            synced = script("integrations", "sync-due", environment=environment)
            assert synced.status == 1
            shown = browser.get(path)
            assert "The last sync failed" in shown.text
            seen.pages += [plan, shown]
            seen.outputs.append(synced.err)
        eventually(lambda: b"EspConnectionRepository.change" in b"".join(seen.exports))
        assert seen.search(service, OF_RESPONSE) == []
        assert seen.search(service, SECRET) == []


def broken(account: Account) -> Handler:
    """Return what the ESP sends when it refuses the list, with a secret in the body."""
    quoted = {"error": OF_RESPONSE, "error_description": OF_RESPONSE, "message": OF_RESPONSE}
    refusal = evolve(StubResponse.json(quoted), status=400)
    if account.esp == Esp("sfmc"):
        refusal = soap_fault("soap:Client", OF_RESPONSE)
    return lambda request: refusal if request.path == account.listing else account.handler(request)
