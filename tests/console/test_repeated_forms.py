"""Forms that are submitted again: after a double click, a reload, or the correction of an error."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from recipient_fields.domain import StorageUnavailable
from recipient_fields.testing.examples import grant

from ..support.administrators import administrators_of
from .browser import Browser, Response
from .conftest import EMAIL, PASSWORD, Console

ALREADY = "This form was submitted already"
INVITED = "erin@acme.example"


@frozen
class Creation:
    """A form that creates something, with wrong and with correct inputs."""

    path: str
    wrong: dict[str, str]
    correct: dict[str, str]


CREATIONS = {
    "field": Creation("/fields/new", {"name": "City", "key": "taken"}, {"name": "City"}),
    "field with an invalid name": Creation(
        "/fields/new", {"name": "x" * 300, "key": "city"}, {"name": "City", "key": "city"}
    ),
    "key": Creation("/settings/api-keys/new", {"name": ""}, {"name": "Export"}),
    "integration": Creation(
        "/settings/integrations/new",
        {"name": "", "esp": "braze"},
        {"name": "List", "esp": "braze"},
    ),
    "administrator": Creation(
        "/settings/administrators/new",
        {"email": "erin", "role": "admin"},
        {"email": INVITED, "role": "admin"},
    ),
}


def counts(console: Console) -> int:
    """Return the number of all things that forms create."""
    core, acme = console.core, console.acme.id
    listed = (
        core.fields.list_fields(acme).fields,
        core.administration.list_keys(acme),
        core.integrations.list_integrations(acme),
        core.administrators.list_administrators(acme),
        core.administrators.list_invitations(acme),
    )
    return sum(map(len, listed))


@pytest.mark.parametrize("kind", CREATIONS)
def test_a_rejected_form_shows_its_errors_again_and_works_after_the_correction(console, dana, kind):
    console.add_field(name="Taken")
    creation = CREATIONS[kind]
    page = dana.get(f"/console/o/{console.acme.id}{creation.path}")
    before = counts(console)

    for _ in range(2):
        assert dana.submit(page, creation.wrong).status == 422
    created = dana.submit(page, creation.correct)
    again = dana.follow(dana.submit(page, creation.correct))

    assert created.status in {200, 303}
    assert ALREADY in again.text
    assert counts(console) == before + 1


def test_a_rejected_report_is_explained_again_and_can_be_replaced(console, dana):
    created = console.add_integration("mailchimp", "Main audience")
    page = dana.get(f"{console.settings}/integrations/{created.id}")

    def sync(report: bytes) -> Response:
        return dana.upload(page, "/sync", report, press=("action", "sync"))

    for report in (b"[]", b"[]", b"no JSON"):
        assert sync(report).status == 422
    correct = b'{"fields": [{"name": "CITY", "data_type": "text"}]}'
    plan = sync(correct)
    assert "was synced" in dana.submit(plan).text
    assert "This sync was submitted already" in dana.follow(dana.submit(plan)).text


def test_a_form_whose_effect_is_unknown_has_no_second_effect(console, dana, monkeypatch):
    page = dana.get(f"{console.fields}/new")
    change = console.core.storage.fields.change

    def change_and_fail(*arguments: Any, **options: Any) -> None:
        change(*arguments, **options)
        raise StorageUnavailable("The connection was lost after the commit.")

    with monkeypatch.context() as patched:
        patched.setattr(console.core.storage.fields, "change", change_and_fail)
        assert dana.submit(page, {"name": "City"}).status == 503

    assert ALREADY in dana.follow(dana.submit(page, {"name": "City"})).text
    assert len(console.core.fields.list_fields(console.acme.id).fields) == 1


def test_a_second_click_on_delete_leads_to_the_list(console, dana):
    field = console.add_field(name="City")
    integration = console.add_integration("braze", "List")
    alex = grant(administrators_of(console.core), console.acme.id, "alex@acme.example")
    console.invite(INVITED)
    (invited,) = console.core.administrators.list_invitations(console.acme.id)
    administrators = f"{console.settings}/administrators"
    integrations = f"{console.settings}/integrations"
    pages = {
        f"{console.fields}/{field.id}/delete": console.fields,
        f"{integrations}/{integration.id}/delete": integrations,
        f"{administrators}/{alex.id}/revoke": administrators,
        f"{administrators}/invitations/{invited.id}/withdraw": administrators,
    }

    for path, listed in pages.items():
        page = dana.get(path)
        first, second = dana.submit(page), dana.submit(page)
        assert first.location == second.location == listed
        assert ALREADY in dana.follow(second).text
        # Another form, or another administrator, does not find it.
        form = dana.get(f"{console.fields}/new").form()
        assert dana.post(path, [*form.inputs, ("expected", ""), ("version", "x")]).status == 404


def test_a_deletion_that_was_rejected_can_be_repeated(console, dana):
    account = console.core.administrators.list_administrators(console.acme.id)[0]
    page = dana.get(f"{console.settings}/administrators/{account.id}/revoke")

    for _ in range(2):
        refused = dana.submit(page)
        assert refused.status == 409
        assert "An organization needs at least one administrator" in refused.text


def test_a_second_click_on_sign_out_leads_to_the_sign_in_page(console, dana):
    page = dana.get(console.fields)
    before_the_response = Browser(console.app, dict(dana.cookies))

    for browser in (dana, before_the_response, dana):
        assert browser.submit_form(page, "/sign-out").location == "/console/sign-in"
    # The page has only a form, so the sign-in does not lead back to it.
    assert dana.get("/console/sign-out").location == "/console/sign-in"


def test_a_second_click_on_a_link_leads_to_the_sign_in_page(console):
    browser = console.browser()
    page = browser.get(console.invite(EMAIL))
    before_the_response = Browser(console.app, dict(browser.cookies))

    first = browser.submit(page, {"password": PASSWORD})
    second = before_the_response.submit(page, {"password": PASSWORD})

    assert first.location == console.fields
    assert second.location == "/console/sign-in"
    assert "If you used it, sign in." in before_the_response.follow(second).text
    assert console.sign_in(before_the_response).status == 303


def test_a_second_click_on_a_link_leads_a_signed_in_administrator_to_the_fields(console):
    browser = console.browser()
    link = console.invite(EMAIL)
    page = browser.get(link)
    browser.submit(page, {"password": PASSWORD})

    again = browser.submit(page, {"password": PASSWORD})

    assert again.location == link
    home = browser.follow(again)
    assert home.path == console.fields
    assert "You are signed in. The link was used already" in home.text
    assert console.browser().get(link).status == 410


def test_a_second_click_on_sign_in_leads_to_the_fields(console, dana):
    browser = console.browser()
    page = browser.get("/console/sign-in")
    inputs = {"email": EMAIL, "password": PASSWORD}
    browser.submit(page, inputs)

    assert browser.follow(browser.submit(page, inputs)).path == console.fields


def test_the_sign_in_form_works_for_a_browser_that_came_from_another_site(console, dana):
    """Such a browser sends no cookie for the page, because of `SameSite=Strict`, but for forms."""
    link = console.invite(INVITED)
    for path, inputs in (
        ("/console/sign-in", {"email": EMAIL, "password": PASSWORD}),
        (link, {"password": PASSWORD}),
    ):
        from_another_site = console.browser()
        page = from_another_site.get(path)
        dana.cookies |= from_another_site.cookies

        assert dana.follow(dana.submit(page, inputs)).path == console.fields

    assert INVITED in dana.get(console.fields).text


def test_a_flash_message_with_the_longest_name_fits_into_a_cookie(console, dana):
    name = "\N{GRINNING FACE}" * 255
    created = dana.submit(dana.get(f"{console.fields}/new"), {"name": name, "key": "smile"})

    assert len(created.headers["set-cookie"]) < 4_096  # The limit of browsers (RFC 6265, 6.1).
    assert name in dana.follow(created).text
