"""Settings → API Keys."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recipient_fields.application import IntegrationStorage
from recipient_fields.domain import ADMINISTRATOR, Access, ApiKey, Author, KeyState, PlainKey

from ..browser import Response
from ..conftest import EMAIL, Console, open_console


@pytest.fixture
def path(console: Console) -> str:
    """Return the path of the list."""
    return f"{console.settings}/api-keys"


def keys(console: Console) -> tuple[ApiKey, ...]:
    return console.core.administration.list_keys(console.acme.id)


def issue(console: Console, name: str = "Export", days: int | None = 90) -> ApiKey:
    lifetime = None if days is None else timedelta(days=days)
    return (
        console.core.administration.by(Author(ADMINISTRATOR, name=EMAIL))
        .issue_key(console.acme.id, name=name, lifetime=lifetime)
        .api_key
    )


def secret(page: Response) -> str:
    """Return the key that the page shows."""
    codes = [a for tag, a in page.tags if tag == "code" and a.get("id") == "secret"]
    assert len(codes) == 1
    return next(word for word in page.text.split() if PlainKey.parse(word) is not None)


def test_the_key_is_shown_once_and_works(console, dana, path):
    assert "has no API keys yet" in dana.get(path).text
    form = dana.get(dana.get(path).links["Create API key"])
    created = dana.submit(form, {"name": "Checkout service", "access": "read_only"})

    assert created.status == 200
    assert created.headers["cache-control"] == "no-store"
    assert "Copy the key for Checkout service now" in created.text
    key = secret(created)
    credential: Any = console.core.validator.validate(key)
    assert (credential.organization_id, credential.access) == (console.acme.id, Access.READ_ONLY)
    assert key not in dana.get(path).html
    assert "Checkout service" in dana.get(path).text


@pytest.mark.parametrize(
    ("inputs", "lifetime"),
    [
        ({"expiry": "30"}, timedelta(days=30)),
        ({"expiry": "never"}, None),
        ({"expiry": "30", "date": "no date"}, timedelta(days=30)),
    ],
)
def test_a_key_has_the_chosen_lifetime(console, dana, path, inputs, lifetime):
    dana.submit(dana.get(f"{path}/new"), {"name": "Export", **inputs})

    expected = None if lifetime is None else console.clock.now + lifetime
    assert [key.expires_at for key in keys(console)] == [expected]


@pytest.mark.parametrize("day", ["2026-11-20", "2027-11-20"])
def test_a_key_with_a_date_works_until_the_end_of_that_day(console, dana, path, day):
    response = dana.submit(
        dana.get(f"{path}/new"), {"name": "Export", "expiry": "date", "date": day}
    )

    assert response.status == 200
    end = datetime.fromisoformat(f"{day}T23:59:59").replace(tzinfo=UTC)
    assert [key.expires_at for key in keys(console)] == [end]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"name": " "}, "Name: This must not be empty"),
        ({"expiry": "date"}, "Date: Enter a date, such as 2027-02-18."),
        ({"expiry": "date", "date": "2026-02-29"}, "Date: There is no such date."),
        ({"expiry": "date", "date": "2026-11-19"}, "Enter a date from 2026-11-20 to 2027-11-20."),
        ({"expiry": "date", "date": "2027-11-21"}, "Enter a date from 2026-11-20 to 2027-11-20."),
        ({"expiry": "366"}, "Expires: Choose when the key expires."),
        ({"access": "admin"}, "Access: Choose what the key may do."),
    ],
)
def test_a_wrong_input_is_shown_and_creates_no_key(console, dana, path, inputs, message):
    response = dana.submit(dana.get(f"{path}/new"), {"name": "Export", **inputs})

    assert response.status == 422
    assert "The key was not created: correct 1 value" in response.text
    assert message in response.text
    assert keys(console) == ()
    entered = {"name": "Export", "expiry": "90", "access": "read_write", **inputs}
    assert ("input", entered["name"]) in [(tag, a.get("value")) for tag, a in response.tags]
    # The form can be corrected.
    valid = {"name": "Export", "expiry": "30", "access": "read_write"}
    assert dana.submit(response, valid).status == 200


def test_the_list_shows_use_expiry_creator_and_state(console, dana, path, clock):
    unused = console.core.administration.issue_key(
        console.acme.id, name="Unused", lifetime=None
    ).api_key
    soon = issue(console, "Soon", days=14)
    issue(console, "Late", days=16)
    expired, revoked = issue(console, "Expired", days=1), issue(console, "Revoked")
    console.core.administration.revoke_key(console.acme.id, revoked.id)
    clock.advance(days=1)
    dana = console.signed_in("erin@acme.example")
    storage = console.core.storage
    assert isinstance(storage, IntegrationStorage)
    storage.api_keys.record_use(console.acme.id, soon.id, clock.now)
    clock.advance(minutes=3)

    page = dana.get(path)

    assert "Soon Expires soon rfk_" in page.text
    assert f"Read and write 3 minutes ago 4 Dec 2026 in 13 days {EMAIL} 20 Nov 2026" in page.text
    assert "Late rfk_" in page.text
    assert "Never Never Operator 20 Nov 2026" in page.text
    assert "Expired Expired rfk_" in page.text
    assert "Expired 21 Nov 2026" in page.text
    assert "Revoked Revoked rfk_" in page.text
    assert "Revoked 20 Nov 2026" in page.text
    assert unused.display in page.text
    rotations = [path for text, path in page.links.items() if text.startswith("Rotate")]
    assert not any(f"/{each.id}/" in path for each in (expired, revoked) for path in rotations)


def test_a_rotation_shows_the_successor_once(console, dana, path, clock):
    old = issue(console)
    form = dana.get(f"{path}/{old.id}/rotate")
    rotated = dana.submit(form, {"grace": "1"})
    again = dana.follow(dana.submit(form, {"grace": "1"}))

    replaced, successor = keys(console)
    assert successor.digest == PlainKey(secret(rotated)).digest
    assert successor.created_by == EMAIL
    assert replaced.expires_at == clock.now + timedelta(hours=1)
    assert "The old key" in rotated.text
    assert "works until 20 Nov 2026, 10:15 UTC" in rotated.text
    assert "Export Rotated" in rotated.text
    assert "This form was submitted already" in again.text


def test_a_rotation_without_grace_ends_the_old_key(console, dana, path):
    old = issue(console)
    page = dana.submit(dana.get(f"{path}/{old.id}/rotate"), {"grace": "0"})

    assert "does not work any more" in page.text
    assert keys(console)[0].state(console.clock.now) is KeyState.EXPIRED


@pytest.mark.parametrize("grace", ["", "2", "168.0"])
def test_an_unknown_grace_period_rotates_nothing(console, dana, path, grace):
    old = issue(console)

    response = dana.submit(dana.get(f"{path}/{old.id}/rotate"), {"grace": grace})

    assert response.status == 400
    assert keys(console) == (old,)


def test_a_key_that_is_not_active_can_not_be_rotated(console, dana, path):
    key = issue(console)
    form = dana.get(f"{path}/{key.id}/rotate")
    console.core.administration.revoke_key(console.acme.id, key.id)

    for response in (dana.get(f"{path}/{key.id}/rotate"), dana.submit(form, {"grace": "24"})):
        assert response.status == 409
        assert "This API key is no longer active" in response.text
    assert len(keys(console)) == 1


def test_a_confirmed_revocation_holds_at_once(console, dana, path):
    key = issue(console)
    form = dana.get(f"{path}/{key.id}/revoke")
    assert "Revoke the key Export?" in form.text
    assert keys(console)[0].state(console.clock.now) is KeyState.ACTIVE

    page = dana.follow(dana.submit(form))

    assert "The key Export was revoked." in page.text
    assert keys(console)[0].state(console.clock.now) is KeyState.REVOKED
    assert dana.submit(form).status == 303
    assert "was revoked on 20 Nov 2026" in dana.get(f"{path}/{key.id}/revoke").text


def test_keys_that_the_service_does_not_accept_are_not_created(clock, path):
    console = open_console(clock, issues_keys=False)
    browser = console.signed_in()
    empty = browser.get(path)
    key = issue(console)

    page, revocation = browser.get(path), browser.get(f"{path}/{key.id}/revoke")

    for shown in (empty, page):
        assert "This service accepts only keys that another system issues." in shown.text
        assert "Create API key" not in shown.links
    assert not any("Rotate" in text for text in page.links)
    assert "rotate it" not in revocation.links
    for form in (f"{path}/new", f"{path}/{key.id}/rotate"):
        assert browser.get(form).status == 404
        assert browser.post(form, page.forms[0].inputs).status == 404
    assert browser.follow(browser.submit(revocation)).status == 200
    assert [each.state(clock()) for each in keys(console)] == [KeyState.REVOKED]


def test_no_key_is_in_the_log(console, dana, path, caplog):
    caplog.set_level(logging.DEBUG)
    page = dana.submit(dana.get(f"{path}/new"), {"name": "Export"})

    assert f"created: by {EMAIL}" in caplog.text
    assert secret(page) not in caplog.text
