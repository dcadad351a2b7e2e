"""Requests that another site causes: each is rejected, and changes nothing.

The tests run for every route with a form, and for new ones too.
"""

from __future__ import annotations

import pytest

from recipient_fields.domain import RecipientField

from .browser import ORIGIN
from .conftest import EMAIL, PASSWORD, Console, open_console
from .routes import PUBLIC, paths

FOREIGN_ORIGINS: dict[str, dict[str, str | None]] = {
    "another site": {"Origin": "https://evil.example"},
    "another port": {"Origin": f"{ORIGIN}:8080"},
    "another scheme": {"Origin": "https://console.test"},
    "a prefix": {"Origin": f"{ORIGIN}.evil.example"},
    "no origin": {"Origin": "null"},
    "nothing": {"Origin": None},
    "a page of another site": {"Origin": None, "Referer": "https://evil.example/console.test"},
    "a cross-site form": {"Origin": None, "Sec-Fetch-Site": "cross-site"},
    "a subdomain": {"Origin": None, "Sec-Fetch-Site": "same-site"},
    "a cross-site form with a referer": {
        "Origin": None,
        "Sec-Fetch-Site": "cross-site",
        "Referer": f"{ORIGIN}/console",
    },
}


@pytest.fixture
def field(console: Console) -> RecipientField:
    return console.add_field(name="City")


@pytest.fixture
def forms(console: Console, field: RecipientField) -> list[str]:
    """Return the path of each form in the console."""
    ids = {"organization_id": console.acme.id, "field_id": field.id, "token": "A" * 43}
    return paths("POST", ids, default=1)


@pytest.mark.parametrize("sender", FOREIGN_ORIGINS)
def test_a_form_of_another_site_is_rejected(console, dana, field, forms, sender):
    page = dana.get(f"{console.fields}/{field.id}/delete")

    for path in forms:
        response = dana.post(path, page.form().inputs, **FOREIGN_ORIGINS[sender])
        assert response.status == 403, path
        assert "The request did not come from a page of this console" in response.text
    assert console.core.fields.list_fields(console.acme.id).fields == (field,)
    assert dana.get(console.fields).status == 200


@pytest.mark.parametrize("token", ["missing", "empty", "forged", "of another session"])
def test_a_form_without_the_token_of_the_session_is_rejected(console, dana, field, forms, token):
    other = console.signed_in("erin@acme.example").get(f"{console.fields}/new").form()
    tokens = {
        "missing": [],
        "empty": [("csrf", "")],
        "forged": [("csrf", "0" * 64)],
        "of another session": [("csrf", other.value("csrf"))],
    }
    inputs = dana.get(f"{console.fields}/{field.id}/delete").form().inputs
    inputs = [pair for pair in inputs if pair[0] != "csrf"] + tokens[token]

    for path in forms:
        response = dana.post(path, inputs)
        # Pages that work without a session are opened again.
        is_opened_again = path.startswith(PUBLIC) and response.headers.get("location") == path
        assert response.status == 403 or is_opened_again, path
    assert console.core.fields.list_fields(console.acme.id).fields == (field,)
    assert dana.get(console.fields).status == 200


def test_a_form_without_a_session_is_rejected(console, field, forms):
    page = console.signed_in().get(f"{console.fields}/{field.id}/delete")

    for path in forms:
        if not path.startswith(PUBLIC):
            response = console.browser().post(path, page.form().inputs)
            assert response.status == (303 if path == "/console/sign-out" else 401), path
            assert "City" not in response.text
    assert console.core.fields.list_fields(console.acme.id).fields == (field,)


def test_the_sign_in_form_needs_the_cookie_of_its_browser(console, dana):
    page = console.browser().get("/console/sign-in")

    response = console.browser().submit(page, {"email": EMAIL, "password": PASSWORD})

    assert response.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": ORIGIN},
        {"Origin": None, "Sec-Fetch-Site": "same-origin"},
        {"Origin": None, "Referer": f"{ORIGIN}/console/o/1/fields"},
    ],
)
def test_a_form_of_the_console_is_accepted(console, dana, field, headers):
    page = dana.get(f"{console.fields}/{field.id}/delete")

    assert dana.submit(page, headers=headers).status == 303


def test_behind_a_proxy_the_configured_origin_counts_and_not_the_host_header(clock):
    console = open_console(clock, origin="https://fields.example.com")
    browser = console.browser()
    page = browser.get(console.invite(EMAIL))

    assert browser.submit(page, {"password": PASSWORD}).status == 403  # The origin of the host
    assert (
        browser.submit(
            page, {"password": PASSWORD}, headers={"Origin": "https://fields.example.com"}
        ).status
        == 303
    )


@pytest.mark.parametrize(
    "header", ["Bearer rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA", "Basic ZGFuYTpkYW5h"]
)
def test_an_api_key_is_not_a_credential(console, header):
    issued = console.core.administration.issue_key(console.acme.id, name="Test")

    for value in (header, f"Bearer {issued.plain.reveal()}"):
        assert console.browser().get(console.fields, Authorization=value).status == 303


def test_a_second_session_cookie_of_another_application_is_not_trusted(console, dana):
    token = dana.cookies.pop("console")

    response = dana.get(console.fields, Cookie=f"console={token}; console={token}")

    assert response.status == 303
