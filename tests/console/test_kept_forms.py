"""Forms whose session ends while they are open: what was entered survives the next sign-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from attrs import frozen

from recipient_fields.domain import Role
from recipient_fields.testing.examples import grant

from ..support.administrators import administrators_of
from .browser import Browser, Response
from .conftest import EMAIL, PASSWORD, Console
from .test_forged_requests import FOREIGN_ORIGINS

ENTERED: dict[str, str | Sequence[str]] = {
    "name": "Größe <b>",
    "key": "size",
    "data_type": "number",
    "allowed_value": ["36", "", "37.5"],
    "insertable": [],
    "custom_insertion_code": "*|A|*\r\n\r\n*|B|*",
}
NOT_SAVED = "nothing was saved yet"


def end_session(console: Console, browser: Browser, how: str) -> None:
    """End the session of Dana's browser."""
    administrators = console.core.administrators
    account = administrators.list_administrators(console.acme.id)[0]
    if how == "expired":
        console.clock.advance(minutes=31)
    elif how == "signed out in another tab":
        browser.submit_form(browser.get(console.fields), "/sign-out")
    elif how == "ended by a reset of the password":
        token = administrators.reset(account.email.text).token
        assert token is not None
        administrators.set_password(token.reveal(), PASSWORD, address="203.0.113.1", user_agent="")
    else:
        administrators.end_all_sessions(account.id)


def sign_in(browser: Browser, page: Response, email: str = EMAIL) -> Response:
    """Fill in the sign-in page that followed the form."""
    assert page.status == 401
    assert "Your session has ended" in page.text
    return browser.submit(page, {"email": email, "password": PASSWORD})


def continued(browser: Browser, page: Response) -> Response:
    """Sign in, and press *Continue*."""
    return browser.submit(sign_in(browser, page))


@pytest.mark.parametrize(
    "how",
    [
        "expired",
        "signed out elsewhere",
        "signed out in another tab",
        "ended by a reset of the password",
    ],
)
def test_a_new_field_is_continued_after_the_sign_in(console, dana, how):
    page = dana.get(f"{console.fields}/new")
    end_session(console, dana, how)

    form = continued(dana, dana.submit(page, ENTERED))

    assert form.status == 200
    assert form.path == page.path
    assert NOT_SAVED in form.text
    assert console.core.fields.list_fields(console.acme.id).fields == ()
    for name, value in ENTERED.items():
        assert form.form().values(name) == ([value] if isinstance(value, str) else value)
    assert NOT_SAVED not in dana.follow(dana.submit(form)).text
    (field,) = console.core.fields.list_fields(console.acme.id).fields
    assert (field.name, field.key, field.insertable) == ("Größe <b>", "size", False)
    assert field.custom_insertion_code == "*|A|*\n\n*|B|*"
    assert field.allowed_values is not None
    assert field.allowed_values.values == (36, 37.5)


@frozen
class Entry:
    """What an administrator enters in a form of the organization."""

    path: str
    inputs: Mapping[str, str]


ENTRIES = {
    "edit": Entry("/fields/{field}/edit", {"name": "Store", "custom_value_expression": "S"}),
    "pasted values": Entry("/fields/{field}/edit", {"pasted": "gold\r\nsilver"}),
    "content": Entry("/content", {"content": '"{{recipient.shop}}" & é', "target": "braze"}),
    "key": Entry("/settings/api-keys/new", {"name": "Export", "access": "read_only"}),
    "integration": Entry("/settings/integrations/new", {"name": "List", "esp": "braze"}),
    "new name": Entry("/settings/integrations/{integration}/edit", {"name": "Newsletter"}),
    "invitation": Entry("/settings/administrators/new", {"email": "x@y.example", "role": "viewer"}),
    "list": Entry("/fields/check", {"decimal": "comma", "additional": "true"}),
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_every_form_with_inputs_is_continued(console, dana, kind):
    field = console.add_field(name="Shop")
    integration = console.add_integration("mailchimp", "Main audience")
    ids = {"field": field.id, "integration": integration.id}
    entry = ENTRIES[kind]
    page = dana.get(f"/console/o/{console.acme.id}{entry.path}".format(**ids))
    end_session(console, dana, "expired")

    form = continued(dana, dana.submit(page, entry.inputs))

    assert NOT_SAVED in form.text
    for name, value in entry.inputs.items():
        assert form.form().values(name) == [value]
    assert console.core.fields.list_fields(console.acme.id).fields == (field,)
    assert console.core.integrations.list_integrations(console.acme.id) == (integration,)
    assert console.core.administration.list_keys(console.acme.id) == ()
    assert len(console.core.administrators.list_administrators(console.acme.id)) == 1


def test_an_edit_that_is_continued_detects_a_concurrent_change(console, dana):
    field = console.add_field(name="Shop")
    path = f"{console.fields}/{field.id}/edit"
    page = dana.get(path)
    end_session(console, dana, "signed out elsewhere")
    other = console.signed_in("erin@acme.example")
    other.submit(other.get(path), {"name": "Theirs"})

    conflict = dana.submit(continued(dana, dana.submit(page, {"name": "Mine"})))

    assert conflict.status == 409
    assert "Name Theirs Mine" in conflict.text


def test_a_confirmation_is_shown_again_after_the_sign_in(console, dana):
    field = console.add_field(name="City")
    page = dana.get(f"{console.fields}/{field.id}/delete")
    end_session(console, dana, "expired")

    ended = dana.submit(page)

    assert "nothing was changed. Sign in, then repeat what you did." in ended.text
    assert sign_in(dana, ended).location == page.path
    assert console.core.fields.list_fields(console.acme.id).fields == (field,)


def test_a_form_that_was_signed_in_again_in_another_tab_is_continued(console, dana):
    page = dana.get(f"{console.fields}/new")
    end_session(console, dana, "expired")
    console.sign_in(dana)

    outdated = dana.submit(page, ENTERED)

    assert outdated.status == 403
    form = dana.submit(outdated)
    assert NOT_SAVED in form.text
    assert form.form().value("key") == "size"
    assert console.core.fields.list_fields(console.acme.id).fields == ()


def test_a_second_click_on_sign_in_keeps_the_inputs(console, dana):
    page = dana.get(f"{console.fields}/new")
    end_session(console, dana, "expired")
    ended = dana.submit(page, ENTERED)

    for _ in range(2):
        continuation = dana.submit(ended, {"email": EMAIL, "password": PASSWORD})
        assert dana.submit(continuation).form().value("key") == "size"


def test_a_session_can_end_again_before_the_form_is_continued(console, dana):
    page = dana.get(f"{console.fields}/new")
    end_session(console, dana, "expired")
    page = sign_in(dana, dana.submit(page, ENTERED))
    end_session(console, dana, "expired")

    form = continued(dana, dana.submit(page))

    assert form.form().value("key") == "size"


def test_a_failed_sign_in_keeps_the_inputs_and_never_the_password(console, dana):
    page = dana.get(f"{console.fields}/new")
    end_session(console, dana, "expired")
    ended = dana.submit(page, ENTERED)

    refused = dana.submit(ended, {"email": EMAIL, "password": "not the password"})

    assert refused.status == 422
    assert "not the password" not in refused.html
    continuation = dana.submit(refused, {"email": EMAIL, "password": PASSWORD})
    assert PASSWORD not in continuation.html
    assert continuation.form().action == f"{console.fields}/new"
    assert "location" not in continuation.headers
    assert dana.submit(continuation).form().value("key") == "size"


def test_another_administrator_does_not_get_the_inputs(console, dana):
    erin = "erin@acme.example"
    console.signed_in(erin)
    page = dana.get(f"{console.fields}/new")
    end_session(console, dana, "expired")

    home = dana.follow(sign_in(dana, dana.submit(page, ENTERED), erin))

    assert "You are signed in to another account" in home.text
    assert "Größe" not in home.text
    again = dana.submit(page, ENTERED)
    assert again.status == 403
    assert "The page is out of date" in again.text
    assert "size" not in again.html


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (None, 404)])
def test_an_administrator_who_lost_the_role_does_not_get_the_form(console, dana, role, status):
    administrators = console.core.administrators
    brewery = console.core.administration.create_organization("Brewery")
    grant(administrators_of(console.core), brewery.id, EMAIL)
    console.sign_in(dana)
    account = administrators.list_administrators(console.acme.id)[0]
    page = dana.get(f"{console.fields}/new")
    administrators.end_all_sessions(account.id)
    if role is None:
        administrators.revoke(console.acme.id, account.id)
    else:
        grant(administrators_of(console.core), console.acme.id, "erin@acme.example")
        administrators.change_role(console.acme.id, account.id, role)

    form = continued(dana, dana.submit(page, ENTERED))

    assert form.status == status
    assert "Größe" not in form.html


@pytest.mark.parametrize("sender", FOREIGN_ORIGINS)
def test_another_site_can_not_choose_the_inputs(console, dana, sender):
    page = dana.get(f"{console.fields}/new")
    kept = [*page.form().inputs, ("kept", "name=Planted")]
    signed_out = console.browser()

    for browser, inputs in ((signed_out, [("name", "Planted")]), (signed_out, kept), (dana, kept)):
        response = browser.post(page.path, inputs, **FOREIGN_ORIGINS[sender])
        assert response.status in {401, 403}
        assert "Planted" not in response.html
    signed_out.get("/console/sign-in")
    form = [("email", EMAIL), ("password", PASSWORD), ("kept", "name=Planted&by=1")]
    assert signed_out.post("/console/sign-in", form).status == 403  # Without a CSRF token
    assert "Planted" not in signed_out.get("/console/sign-in?kept=name%3DPlanted").html


@pytest.mark.parametrize("size", [1_000_000, 1_100_000])
def test_a_form_that_is_too_large_is_not_kept(console, dana, size):
    page = dana.get(f"/console/o/{console.acme.id}/content")
    end_session(console, dana, "expired")

    ended = dana.submit(page, {"content": "x" * size, "target": "braze"})

    assert "The form is too large to be kept." in ended.text
    assert len(ended.html) < 10_000
    assert sign_in(dana, ended).location == page.path


def test_the_largest_form_that_is_kept_passes_the_sign_in(console, dana):
    page = dana.get(f"/console/o/{console.acme.id}/content")
    end_session(console, dana, "expired")
    content = "x" * 980_000

    form = continued(dana, dana.submit(page, {"content": content, "target": "braze"}))

    assert form.form().value("content") == content


@pytest.mark.parametrize("size", [10, 2_000_000])
def test_the_file_of_a_list_has_to_be_chosen_again(console, dana, size):
    page = dana.get(f"{console.fields}/check")
    end_session(console, dana, "expired")
    check = ("action", "check")
    options = {"decimal": "comma"}

    ended = dana.upload(page, "", b"c" * size, press=check, name="list", changes=options)

    if size < 1_000_000:
        assert "The file can't be kept: choose it again" in ended.text
        form = continued(dana, ended)
        assert "The file was not kept. Choose it again." in form.text
        assert form.form().value("decimal") == "comma"
    else:
        assert "The form is too large to be kept." in ended.text
        assert sign_in(dana, ended).location == page.path
    assert "c" * 10 not in ended.html


def test_a_sync_from_a_file_leads_back_to_the_integration(console, dana):
    integration = console.add_integration("mailchimp", "Main audience")
    page = dana.get(f"{console.settings}/integrations/{integration.id}")
    end_session(console, dana, "expired")

    ended = dana.upload(page, "/sync", b'{"fields": []}', press=("action", "sync"))

    assert "The file can't be kept: choose it again" in ended.text
    assert sign_in(dana, ended).location == page.path
