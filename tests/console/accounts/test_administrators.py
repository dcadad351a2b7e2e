"""Settings → Administrators."""

from __future__ import annotations

import logging
import re

import pytest

from recipient_fields.application import AUDIT
from recipient_fields.domain import Administrator, Role
from recipient_fields.testing.examples import grant

from ...support.administrators import administrators_of
from ..browser import ORIGIN, Response
from ..conftest import EMAIL, PASSWORD, Console, open_console

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
    found = re.findall(rf"{origin}(/console/(?:links|invitations)/\S{{43}}) ", page.text)
    assert len(found) == 1
    return str(found[0])


def test_an_invitation_shows_a_link_once_and_it_sets_the_password(console, dana, path):
    form = dana.get(dana.get(path).links["Invite person"])
    page = dana.submit(form, {"email": INVITED, "role": "viewer"})

    assert page.status == 200
    assert page.headers["cache-control"] == "no-store"
    assert f"Send this link to {INVITED} now" in page.text
    assert "works once, and expires on 21 Nov 2026, 09:15 UTC" in page.text
    assert f"{INVITED} Invited Viewer" in page.text
    assert "/invitations/" not in dana.get(path).text
    assert roles(console) == {EMAIL: Role.ADMIN}
    invited = console.browser()
    invited.follow(invited.submit(invited.get(link(page)), {"password": PASSWORD}))
    assert invited.get(console.fields).status == 200
    assert roles(console)[INVITED] is Role.VIEWER


def test_a_second_submission_leaves_the_first_link_valid(console, dana, path):
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
def test_an_invalid_input_creates_no_administrator(console, dana, path, inputs, message):
    response = dana.submit(dana.get(f"{path}/new"), {"email": INVITED, "role": "viewer", **inputs})

    assert response.status == 422
    assert "The person was not invited" in response.text
    assert message in response.text
    assert roles(console) == {EMAIL: Role.ADMIN}
    assert dana.submit(response, {"email": INVITED, "role": "viewer"}).status == 200


def test_an_invitation_does_not_reveal_accounts_of_other_organizations(console, dana, path):
    other = console.core.administration.create_organization("Brewery")
    console.signed_in("bob@brewery.example", Role.ADMIN, other.id)

    pages = []
    for email in ("BOB@brewery.example", "new@brewery.example"):
        invited = dana.submit(dana.get(f"{path}/new"), {"email": email, "role": "viewer"})
        (invitation,) = console.core.administrators.list_invitations(console.acme.id)
        visitor = console.browser()
        page = visitor.get(link(invited))
        renewal = f"{path}/invitations/{invitation.id}"
        withdraw = dana.get(f"{renewal}/withdraw")
        shown = [
            (invited.status, invited.text.replace(link(invited), "")),
            dana.get(path).text,
            page.text,
            visitor.submit(page, {"password": "short"}).text,
            dana.get(f"{renewal}/link").text,
            withdraw.text,
        ]
        pages.append(repr(shown).replace(email, "EMAIL"))
        dana.submit(withdraw)

    assert pages[0] == pages[1]
    assert roles(console) == {EMAIL: Role.ADMIN}


def test_an_administrator_of_the_organization_gets_the_role_without_a_link(
    console, dana, viewer, path
):
    form = dana.get(f"{path}/new")

    page = dana.follow(dana.submit(form, {"email": "VIC@acme.example", "role": "admin"}))

    assert "vic@acme.example belongs to this organization already, and has this role" in page.text
    assert roles(console)["vic@acme.example"] is Role.ADMIN
    assert viewer.get(f"{console.fields}/new").status == 200


def test_a_new_link_replaces_the_one_of_an_invitation(console, dana, path):
    first = console.invite(INVITED, Role.VIEWER)
    console.clock.advance(hours=24)
    console.sign_in(dana)
    listed = dana.get(path)
    assert f"{INVITED} Invited, link expired Viewer" in listed.text
    form = dana.get(listed.links[f"New link for {INVITED}"])
    assert f"Create a new link for {INVITED}?" in form.text

    page = dana.submit(form)
    again = dana.follow(dana.submit(form))

    assert "create a new link for the invitation" in again.text
    assert console.browser().get(first).status == 410
    browser = console.browser()
    browser.submit(browser.get(link(page)), {"password": PASSWORD})
    assert roles(console)[INVITED] is Role.VIEWER


def test_a_withdrawn_invitation_is_not_accepted(console, dana, path):
    pending = console.invite(INVITED)
    browser = console.browser()
    opened = browser.get(pending)
    form = dana.get(dana.get(path).links[f"Withdraw the invitation of {INVITED}"])

    page = dana.follow(dana.submit(form))

    assert f"The invitation of {INVITED} was withdrawn." in page.text
    assert browser.submit(opened, {"password": PASSWORD}).location == "/console/sign-in"
    assert roles(console) == {EMAIL: Role.ADMIN}


def test_a_pending_admin_is_not_an_administrator_who_can_act(console, dana, path):
    console.invite(INVITED)
    own = administrators(console)[EMAIL]

    assert dana.submit(dana.get(f"{path}/{own.id}/revoke")).status == 409
    assert dana.submit(dana.get(f"{path}/{own.id}/role"), {"role": "viewer"}).status == 422


def test_the_link_has_the_public_origin(clock):
    console = open_console(clock, origin="https://fields.example.com")
    browser = console.browser()
    origin: dict[str, str | None] = {"Origin": "https://fields.example.com"}
    browser.submit(browser.get(console.invite(EMAIL)), {"password": PASSWORD}, headers=origin)
    form = browser.get(f"{console.settings}/administrators/new")

    page = browser.submit(form, {"email": INVITED, "role": "viewer"}, headers=origin)

    assert link(page, "https://fields.example.com")
    console.core.storage.close()


def test_a_role_is_changed(console, dana, viewer, path):
    vic = administrators(console)["vic@acme.example"]
    form = dana.get(f"{path}/{vic.id}/role")
    assert form.form().value("role") == "viewer"

    page = dana.follow(dana.submit(form, {"role": "admin"}))

    assert "vic@acme.example has the role admin now." in page.text
    assert roles(console)["vic@acme.example"] is Role.ADMIN
    wrong = dana.submit(form, {"role": "owner"})
    assert wrong.status == 422
    assert "Role: Choose what the administrator may do." in wrong.text


def test_the_last_admin_keeps_the_role_and_the_access(console, dana, viewer, path):
    own = administrators(console)[EMAIL]

    changed = dana.submit(dana.get(f"{path}/{own.id}/role"), {"role": "viewer"})
    revoked = dana.submit(dana.get(f"{path}/{own.id}/revoke"))

    assert (changed.status, revoked.status) == (422, 409)
    for response in (changed, revoked):
        assert "An organization needs at least one administrator" in response.text
    assert roles(console)[EMAIL] is Role.ADMIN
    assert dana.get(path).status == 200


def test_a_reset_shows_a_link_that_sets_another_password(console, dana, viewer, path):
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


def test_the_password_of_a_shared_account_is_not_reset(console, dana, path):
    other = console.core.administration.create_organization("Brewery")
    dana.submit(dana.get(console.invite(EMAIL, Role.ADMIN, other.id)), {"password": PASSWORD})
    own = administrators(console)[EMAIL]

    response = dana.submit(dana.get(f"{path}/{own.id}/reset"))

    assert response.status == 409
    assert "This account belongs to another organization too." in response.text
    assert "/links/" not in response.text


def test_a_revocation_is_confirmed_and_signs_out_at_once(console, dana, viewer, path):
    vic = administrators(console)["vic@acme.example"]
    form = dana.get(f"{path}/{vic.id}/revoke")
    assert "Revoke the administrator vic@acme.example?" in form.text
    assert viewer.get(console.fields).status == 200

    page = dana.follow(dana.submit(form))

    assert "vic@acme.example was revoked and signed out." in page.text
    assert roles(console) == {EMAIL: Role.ADMIN}
    assert viewer.get(console.fields).status == 303


def test_an_admin_can_leave_if_another_one_stays(console, dana, path):
    console.signed_in(INVITED)
    own = administrators(console)[EMAIL]
    form = dana.get(f"{path}/{own.id}/revoke")
    assert "also the one that you use now" in form.text

    response = dana.submit(form)

    assert dana.get(response.location).status == 303
    assert dana.get("/console/sign-in").status == 200
    assert roles(console) == {INVITED: Role.ADMIN}


def test_the_list_shows_the_roles_and_the_own_account(dana, viewer, path):
    page = viewer.get(path)

    assert f"{EMAIL} Admin" in page.text
    assert "vic@acme.example You Viewer" in page.text


def test_changes_are_in_the_audit_log_and_links_are_not(console, dana, path, caplog):
    caplog.set_level(logging.DEBUG)
    page = dana.submit(dana.get(f"{path}/new"), {"email": INVITED, "role": "viewer"})

    assert f"Administrator invited: by {EMAIL}, email {INVITED}" in caplog.text
    assert link(page).rpartition("/")[2] not in caplog.text


def test_every_change_is_in_the_audit_log_with_its_author(console, dana, path, caplog):
    member = grant(administrators_of(console.core), console.acme.id, "member@acme.example")
    caplog.set_level(logging.INFO, AUDIT)
    keys, sessions = f"{console.settings}/api-keys", f"{console.settings}/sessions"

    dana.submit(dana.get(f"{path}/new"), {"email": INVITED, "role": "viewer"})
    for step in ("link", "withdraw"):
        (invitation,) = console.core.administrators.list_invitations(console.acme.id)
        dana.submit(dana.get(f"{path}/invitations/{invitation.id}/{step}"))
    dana.submit(dana.get(f"{path}/{member.id}/role"), {"role": "admin"})
    dana.submit(dana.get(f"{path}/{member.id}/reset"))
    dana.submit(dana.get(f"{path}/{member.id}/revoke"))
    dana.submit(dana.get(f"{keys}/new"), {"name": "Export"})
    (key,) = console.core.administration.list_keys(console.acme.id)
    dana.submit(dana.get(f"{keys}/{key.id}/rotate"))
    dana.submit(dana.get(f"{keys}/{key.id}/revoke"))
    dana.submit_form(dana.get(sessions), "/end-all")

    facts = [vars(record)["facts"] for record in caplog.records if record.name == AUDIT]
    assert [each["act"] for each in facts] == [
        *("invited", "invited", "invitation withdrawn", "role changed", "reset", "revoked"),
        *("created", "rotated", "revoked", "signed out everywhere"),
    ]
    assert {each["by"] for each in facts} == {EMAIL}


def test_a_viewer_is_invited_unless_another_role_is_chosen(dana, path):
    assert dana.get(f"{path}/new").form().values("role") == ["viewer"]
