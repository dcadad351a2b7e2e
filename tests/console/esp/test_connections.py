"""Settings → Integrations → Connect: credentials, schedules, and removals that wait."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet

from recipient_fields.adapters.esp.account import Accounts
from recipient_fields.adapters.secrets import open_cipher
from recipient_fields.domain import OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Integration, Interval
from recipient_fields.entrypoints.service.selection import open_permitted_source

from ...http.conftest import Clock
from ...support.esp_account import KEY, OTHER_KEY, Braze, braze_accounts
from ...support.http_server import ReceivedRequest, StubResponse
from ..browser import Browser, Response
from ..conftest import Console, open_console

SAVE, TEST, SYNC = ("action", "save"), ("action", "test"), ("action", "sync")
PLAN, SCHEDULE = ("action", "dry-run"), ("action", "schedule")


@pytest.fixture
def braze() -> Iterator[Braze]:
    with braze_accounts({KEY: ["tier", "visits"], OTHER_KEY: ["plan", "seats"]}) as accounts:
        yield accounts


@pytest.fixture
def console(clock: Clock, braze: Braze) -> Iterator[Console]:
    def open_source(organization_id: OrganizationId, esp: Esp) -> object:
        return open_permitted_source((), {}, organization_id, esp)

    console = open_console(
        clock,
        open_source=open_source,
        accounts=Accounts([braze.host]),
        cipher=open_cipher(Fernet.generate_key().decode()),
    )
    yield console
    console.core.storage.close()


@pytest.fixture
def main(console: Console) -> Integration:
    return console.add_integration("braze", "Main")


@pytest.fixture
def path(console: Console, main: Integration) -> str:
    return f"{console.settings}/integrations/{main.id}"


def connect(dana: Browser, path: str, braze: Braze, key: str = KEY) -> Response:
    values = {"api_key": key, "url": braze.url}
    return dana.submit_form(dana.get(f"{path}/connect"), "/connect", values, press=SAVE)


def sync(dana: Browser, path: str) -> Response:
    plan = dana.submit_form(dana.get(path), "/sync", press=PLAN)
    return dana.submit(plan)


def keys(console: Console, main: Integration) -> list[str]:
    return [each.key for each in console.core.integrations.list_fields(main)]


def test_a_person_connects_an_account_and_syncs_it_with_five_clicks(
    console, dana, braze, main, path
):
    form = dana.get(dana.get(path).links["Connect"])
    assert "custom_attributes.get" in form.text
    tested = dana.submit_form(form, "/connect", {"api_key": KEY, "url": braze.url}, press=TEST)
    assert "Braze accepts these credentials, but does not name their account." in tested.text
    assert "Its first fields: tier, visits." in tested.text
    assert console.core.connections.get(console.acme.id, main.id).credential is None
    saved = dana.submit_form(tested, "/connect", press=SAVE)
    shown = dana.follow(saved)
    assert "Main is connected" in shown.text
    assert f"end in {KEY[-4:]}, stored by dana@acme.example" in shown.text
    plan = dana.submit_form(shown, "/sync", press=PLAN)
    assert keys(console, main) == []
    stored = dana.submit(plan)
    assert "was synced: 2 fields changed" in stored.text
    assert keys(console, main) == ["tier", "visits"]
    assert ": 2 created. Sync now" in dana.get(path).text
    for page in (form, tested, shown, plan, stored, dana.get(f"{path}/connect")):
        assert KEY not in page.html


def test_a_waiting_removal_is_confirmed_with_two_clicks(console, dana, braze, main, path):
    connect(dana, path, braze)
    sync(dana, path)
    braze.names[KEY] = ["tier"]
    console.clock.advance(minutes=5)
    form = dana.get(path)
    saved = dana.submit_form(form, "/connect", {"interval": "hourly"}, press=SCHEDULE)
    assert "another schedule" in dana.follow(saved).text
    (synced,) = console.core.connections.sync_due()
    assert synced.waiting == 1
    assert "Main 1 removal to confirm Braze" in dana.get(path.rpartition("/")[0]).text
    page = dana.get(path)
    assert "1 removal to confirm Braze no longer reports visits." in page.text
    assert dana.submit_form(page, "/sync", press=SYNC).status == 200
    assert keys(console, main) == ["tier"]
    assert "to confirm" not in dana.get(path).text


def test_the_plan_is_shown_again_if_the_esp_has_changed_meanwhile(console, dana, braze, main, path):
    connect(dana, path, braze)
    sync(dana, path)
    braze.names[KEY] = ["tier"]
    console.clock.advance(minutes=5)
    console.core.connections.schedule(console.acme.id, main.id, Interval.DAILY)
    list(console.core.connections.sync_due())
    page = dana.get(path)
    braze.names[KEY] = ["tier", "shop"]
    changed = dana.submit_form(page, "/sync", press=SYNC)
    assert changed.status == 409
    assert "have changed since the plan was shown" in changed.text
    assert keys(console, main) == ["tier", "visits"]


def test_another_account_must_be_confirmed(console, dana, braze, main, path):
    connect(dana, path, braze)
    sync(dana, path)
    before = console.core.connections.get(console.acme.id, main.id).credential
    asked = connect(dana, path, braze, OTHER_KEY)
    assert asked.status == 409
    assert "The account has other fields than before: plan, seats." in asked.text
    assert console.core.connections.get(console.acme.id, main.id).credential == before
    assert OTHER_KEY not in asked.html
    confirmed = dana.submit_form(asked, "/connect", {"confirmed": "yes"}, press=SAVE)
    assert confirmed.status == 303
    assert console.core.connections.get(console.acme.id, main.id).credential != before


def test_the_name_of_the_account_says_whether_it_is_another_one(console, dana, braze):
    accounts = {"brevo-key-1": "a1", "brevo-key-2": "a1", "brevo-key-3": "b2"}
    fields = {"brevo-key-1": "TIER", "brevo-key-2": "SHOP", "brevo-key-3": "TIER"}

    def respond(request: ReceivedRequest) -> StubResponse:
        key = request.headers["api-key"]
        if request.path == "/v3/account":
            return StubResponse.json({"organization_id": accounts[key], "companyName": "Acme"})
        each = {"name": fields[key], "category": "normal", "type": "text"}
        return StubResponse.json({"attributes": [each]})

    braze.reply = respond
    brevo = console.add_integration("brevo", "Brevo")
    path = f"{console.settings}/integrations/{brevo.id}"
    values = {"api_key": "brevo-key-1", "url": braze.url}
    tested = dana.submit_form(dana.get(f"{path}/connect"), "/connect", values, press=TEST)
    assert "Brevo accepts these credentials of the account Acme (a1)." in tested.text
    assert dana.submit_form(tested, "/connect", press=SAVE).status == 303
    assert "Connected to the account Acme (a1)" in dana.get(path).text
    sync(dana, path)
    assert connect(dana, path, braze, "brevo-key-2").status == 303
    asked = connect(dana, path, braze, "brevo-key-3")
    assert asked.status == 409
    assert "The account is Acme (b2). Before, it was Acme (a1)." in asked.text


def test_wrong_values_are_explained_and_store_nothing(console, dana, braze, main, path):
    form = dana.get(f"{path}/connect")
    empty = dana.submit_form(form, "/connect", {"url": braze.url}, press=SAVE)
    assert (empty.status, "Enter the API key." in empty.text) == (422, True)
    wrong = {"api_key": KEY, "url": "http://127.0.0.1:1"}
    host = dana.submit_form(form, "/connect", wrong, press=SAVE)
    assert (host.status, "not one of the API of Braze" in host.text) == (422, True)
    refused = connect(dana, path, braze, "wrong-key-of-acme")
    assert (refused.status, "does not accept these credentials" in refused.text) == (422, True)
    assert "wrong-key-of-acme" not in refused.html
    assert console.core.connections.get(console.acme.id, main.id).credential is None


def test_tests_are_limited_per_minute(console, dana, braze, main, path):
    for _ in range(10):
        assert connect(dana, path, braze, "wrong-key-of-acme").status == 422
    limited = connect(dana, path, braze)
    assert (limited.status, limited.headers["retry-after"]) == (429, "60")
    assert len(braze.requests) == 10
    console.clock.advance(minutes=1)
    assert connect(dana, path, braze).status == 303


def test_a_disconnection_deletes_the_credentials_and_is_audited(
    console, dana, braze, main, path, caplog
):
    caplog.set_level(logging.INFO, "recipient_fields.audit")
    connect(dana, path, braze)
    page = dana.get(path)
    left = dana.submit_form(page, "/connect", press=("action", "disconnect"))
    assert "was disconnected" in dana.follow(left).text
    assert console.core.connections.get(console.acme.id, main.id).credential is None
    records = [each.getMessage() for each in caplog.records if each.name.endswith("audit")]
    subject = f"Integration {main.id} of organization {console.acme.id}"
    for act in ("connected", "disconnected"):
        assert f"{subject} {act}: by dana@acme.example" in records
    assert KEY not in caplog.text


def test_without_a_key_the_page_says_what_to_ask_the_operator(clock):
    console = open_console(clock)
    created = console.add_integration("braze", "Main")
    page = console.signed_in().get(f"{console.settings}/integrations/{created.id}/connect")
    assert "Ask the operator of this service to set RECIPIENT_FIELDS_SECRETS_KEY" in page.text
    console.core.storage.close()
