"""Settings → Administrators."""

from __future__ import annotations

import logging
import re

import pytest

from recipient_fields.domain import Administrator, Role

from ..http.conftest import Clock
from .browser import ORIGIN, Browser, Response
from .conftest import EMAIL, PASSWORD, Console, open_console
from .hostile_texts import HOSTILE

INVITED = "erin@acme.example"


@pytest.fixture
def path(console: Console) -> str:
    """Return the path of the list."""
    return f"{console.settings}/administrators"


def administrators(console: Console) -> dict[str, Administrator]:
    listed = console.core.administrators.list_administrators(console.acme.id)
    return {each.email.text: each for each in listed}


def roles(console: Console) -> dict[str, Role | None]:
    return {email: a.role_in(console.acme.id) for email, a in administrators(console).items()}


def link(page: Response, origin: str = ORIGIN) -> str:
    """Return the path of the link that the page shows."""
    found = re.findall(rf"{origin}(/console/links/\S{{43}}) ", page.text)
    assert len(found) == 1
    return str(found[0])


def test_an_invitation_shows_a_link_once_and_it_sets_the_password(
    console: Console, dana: Browser, path: str
) -> None:
    form = dana.get(dana.get(path).links["Invite administrator"])
    page = dana.submit(form, {"email": INVITED, "role": "viewer"})

    assert page.status == 200
    assert page.headers["cache-control"] == "no-store"
    assert f"Send this link to {INVITED} now" in page.text
    assert "works once, and expires on 21 Nov 2026, 09:15 UTC" in page.text
    assert f"{INVITED} No password yet" in page.text
    assert "/links/" not in dana.get(path).text
    invited = console.browser()
    invited.follow(invited.submit(invited.get(link(page)), {"password": PASSWORD}))
    assert invited.get(console.fields).status == 200
    assert roles(console)[INVITED] is Role.VIEWER


def test_a_second_submission_leaves_the_first_link_valid(
    console: Console, dana: Browser, path: str
) -> None:
    form = dana.get(f"{path}/new")
    page = dana.submit(form, {"email": INVITED, "role": "viewer"})
    again = dana.follow(dana.submit(form, {"email": INVITED, "role": "viewer"}))

    assert "This form was submitted already" in again.text
    assert console.browser().get(link(page)).status == 200


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"email": ""}, "Email address: This must not be empty"),
        ({"email": "erin"}, "Email address: Write an email address such as"),
        ({"email": "erin@acme.example\u202e"}, "Email address: Remove spaces, line breaks"),
        ({"role": ""}, "Role: Choose what the administrator may do."),
        ({"role": "owner"}, "Role: Choose what the administrator may do."),
        ({"email": EMAIL}, "An organization needs at least one administrator with the role admin"),
    ],
)
def test_an_invalid_input_creates_no_administrator(
    console: Console, dana: Browser, path: str, inputs: dict[str, str], message: str
) -> None:
    response = dana.submit(dana.get(f"{path}/new"), {"email": INVITED, "role": "viewer", **inputs})

    assert response.status == 422
    assert "The administrator was not invited" in response.text
    assert message in response.text
    assert roles(console) == {EMAIL: Role.ADMIN}
    assert dana.submit(response, {"email": INVITED, "role": "viewer"}).status == 200


def test_an_administrator_of_another_organization_is_not_invited(
    console: Console, dana: Browser, path: str
) -> None:
    other = console.core.administration.create_organization("Brewery")
    console.invite("bob@brewery.example", Role.ADMIN, other.id)

    response = dana.submit(
        dana.get(f"{path}/new"), {"email": "bob@brewery.example", "role": "viewer"}
    )

    assert response.status == 422
    assert "belongs to an administrator of another organization" in response.text
    assert roles(console) == {EMAIL: Role.ADMIN}


def test_an_administrator_with_a_password_gets_the_role_without_a_link(
    console: Console, dana: Browser, viewer: Browser, path: str
) -> None:
    form = dana.get(f"{path}/new")

    page = dana.follow(dana.submit(form, {"email": "vic@acme.example", "role": "admin"}))

    assert "vic@acme.example has a password already, and the role admin" in page.text
    assert roles(console)["vic@acme.example"] is Role.ADMIN
    assert viewer.get(f"{console.fields}/new").status == 200


def test_the_link_has_the_public_origin(clock: Clock) -> None:
    console = open_console(clock, origin="https://fields.example.com")
    browser = console.browser()
    origin: dict[str, str | None] = {"Origin": "https://fields.example.com"}
    browser.submit(browser.get(console.invite(EMAIL)), {"password": PASSWORD}, headers=origin)
    form = browser.get(f"{console.settings}/administrators/new")

    page = browser.submit(form, {"email": INVITED, "role": "viewer"}, headers=origin)

    assert link(page, "https://fields.example.com")
    console.core.storage.close()


def test_a_role_is_changed(console: Console, dana: Browser, viewer: Browser, path: str) -> None:
    vic = administrators(console)["vic@acme.example"]
    form = dana.get(f"{path}/{vic.id}/role")
    assert form.form().value("role") == "viewer"

    page = dana.follow(dana.submit(form, {"role": "admin"}))

    assert "vic@acme.example has the role admin now." in page.text
    assert roles(console)["vic@acme.example"] is Role.ADMIN
    wrong = dana.submit(form, {"role": "owner"})
    assert wrong.status == 422
    assert "Role: Choose what the administrator may do." in wrong.text


def test_the_last_admin_keeps_the_role_and_the_access(
    console: Console, dana: Browser, viewer: Browser, path: str
) -> None:
    own = administrators(console)[EMAIL]

    changed = dana.submit(dana.get(f"{path}/{own.id}/role"), {"role": "viewer"})
    revoked = dana.submit(dana.get(f"{path}/{own.id}/revoke"))

    assert (changed.status, revoked.status) == (422, 409)
    for response in (changed, revoked):
        assert "An organization needs at least one administrator" in response.text
    assert roles(console)[EMAIL] is Role.ADMIN
    assert dana.get(path).status == 200


def test_a_reset_shows_a_link_that_sets_another_password(
    console: Console, dana: Browser, viewer: Browser, path: str
) -> None:
    vic = administrators(console)["vic@acme.example"]
    form = dana.get(f"{path}/{vic.id}/reset")
    assert "Reset the password of vic@acme.example?" in form.text

    page = dana.submit(form)
    again = dana.follow(dana.submit(form))

    assert "This form was submitted already" in again.text
    assert viewer.get(console.fields).status == 200
    browser = console.browser()
    browser.follow(browser.submit(browser.get(link(page)), {"password": "another " + PASSWORD}))
    assert viewer.get(console.fields).status == 303
    assert console.sign_in(console.browser(), PASSWORD, "vic@acme.example").status == 422


def test_the_password_of_a_shared_account_is_not_reset(
    console: Console, dana: Browser, path: str
) -> None:
    other = console.core.administration.create_organization("Brewery")
    console.core.administrators.invite(other.id, EMAIL, Role.ADMIN, by="operator")
    own = administrators(console)[EMAIL]

    response = dana.submit(dana.get(f"{path}/{own.id}/reset"))

    assert response.status == 409
    assert "belongs to an administrator of another organization" in response.text
    assert "/links/" not in response.text


def test_a_revocation_is_confirmed_and_signs_out_at_once(
    console: Console, dana: Browser, viewer: Browser, path: str
) -> None:
    vic = administrators(console)["vic@acme.example"]
    form = dana.get(f"{path}/{vic.id}/revoke")
    assert "Revoke the administrator vic@acme.example?" in form.text
    assert viewer.get(console.fields).status == 200

    page = dana.follow(dana.submit(form))

    assert "vic@acme.example was revoked and signed out." in page.text
    assert roles(console) == {EMAIL: Role.ADMIN}
    assert viewer.get(console.fields).status == 303


def test_an_admin_can_leave_if_another_one_stays(
    console: Console, dana: Browser, path: str
) -> None:
    console.signed_in(INVITED)
    own = administrators(console)[EMAIL]
    form = dana.get(f"{path}/{own.id}/revoke")
    assert "also the one that you use now" in form.text

    response = dana.submit(form)

    assert dana.get(response.location).status == 303
    assert dana.get("/console/sign-in").status == 200
    assert roles(console) == {INVITED: Role.ADMIN}


def test_a_viewer_sees_administrators_and_no_button(
    console: Console, dana: Browser, viewer: Browser, path: str
) -> None:
    page = viewer.get(path)
    own = administrators(console)[EMAIL]

    assert f"{EMAIL} Admin" in page.text
    assert "vic@acme.example You Viewer" in page.text
    assert [form.action for form in page.forms] == ["/console/sign-out"]
    assert not any("administrators/" in each for each in page.links.values())
    for each in ("new", f"{own.id}/role", f"{own.id}/reset", f"{own.id}/revoke"):
        assert viewer.get(f"{path}/{each}").status == 403


def test_changes_are_in_the_audit_log_and_links_are_not(
    console: Console, dana: Browser, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    page = dana.submit(dana.get(f"{path}/new"), {"email": INVITED, "role": "viewer"})

    assert f"Administrator invited: by {EMAIL}, administrator 2, email {INVITED}" in caplog.text
    assert link(page).rpartition("/")[2] not in caplog.text


@pytest.mark.parametrize(
    "kind", ["script", "attribute", "single quote", "template", "entity", "comment", "long"]
)
def test_an_address_is_shown_as_text(console: Console, dana: Browser, path: str, kind: str) -> None:
    email = HOSTILE[kind].replace(" ", "")[:200] + "@acme.example"
    pages = [dana.submit(dana.get(f"{path}/new"), {"email": email, "role": "viewer"})]
    invited = administrators(console)[email]
    pages += [
        dana.get(f"{path}{suffix}")
        for suffix in ("", *(f"/{invited.id}/{act}" for act in ("role", "reset", "revoke")))
    ]
    pages.append(dana.follow(dana.submit(pages[-1])))

    for page in pages:
        assert page.status == 200
        assert email in page.text
        assert sum(tag == "script" for tag, _ in page.tags) == 1
        assert not any(tag in {"img", "b"} for tag, _ in page.tags)
