"""Signing in and out, sessions, and links."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from recipient_fields.domain import Role

from ...support.administrators import administrators_of, cheap_hasher
from ..browser import Browser, browser_at
from ..conftest import EMAIL, PASSWORD, open_console


def test_an_invitation_sets_a_password_and_signs_in(console):
    browser = console.browser()
    page = browser.get(console.invite(EMAIL))
    assert f"Acme invites {EMAIL} to its recipient fields, with the role admin." in page.text

    home = browser.follow(browser.submit(page, {"password": PASSWORD}))

    assert home.path == console.fields
    assert "You have accepted the invitation." in home.text
    assert console.sign_in(console.browser()).location == "/console"


def test_an_invitation_to_another_organization_requires_the_password_of_the_account(console, dana):
    brewery = console.core.administration.create_organization("Brewery")
    link = console.invite(EMAIL, Role.VIEWER, brewery.id)
    fields = f"/console/o/{brewery.id}/fields"
    assert dana.get(fields).status == 404
    other = console.browser()

    page = dana.get(link)
    assert f"Brewery invites {EMAIL} to its recipient fields, with the role viewer." in page.text
    assert f"You are signed in as {EMAIL}." in page.text
    refused = dana.submit(page, {"password": "another long password"})
    assert refused.status == 422
    assert "This email address has an account with another password." in refused.text
    assert dana.get(fields).status == 404
    for path, inputs in (("reset", {"password": PASSWORD}), ("sign in", {})):
        administrators = console.core.administrators
        (account,) = administrators.list_administrators(console.acme.id)
        used = (
            administrators.reset(EMAIL)
            if path == "reset"
            else administrators.create_sign_in_link(account.id)
        )
        other.submit(other.get(f"/console/links/{used.token.reveal()}"), inputs)
        assert other.get(console.fields).status == 200
        assert other.get(fields).status == 404

    third = console.browser()
    third.submit(third.get(link), {"password": PASSWORD})
    assert third.get(fields).status == 200
    assert other.get(console.fields).status == 303


def test_attempts_to_accept_an_invitation_are_throttled(console, dana):
    brewery = console.core.administration.create_organization("Brewery")
    browser = console.browser()
    page = browser.get(console.invite(EMAIL, Role.VIEWER, brewery.id))

    statuses = [
        browser.submit(page, {"password": "another long password"}).status for _ in range(6)
    ]

    assert statuses == [*[422] * 5, 429]


def test_a_link_that_resets_a_password_sets_another_one(console, dana):
    reset = console.core.administrators.reset(EMAIL)
    browser = console.browser()
    page = browser.get(f"/console/links/{reset.token.reveal()}")

    refused = browser.submit(page, {"password": "short"})
    assert refused.status == 422
    assert "The password was not set" in refused.text
    home = browser.follow(browser.submit(refused, {"password": "another long password"}))
    assert home.path == console.fields
    assert "Your password was set." in home.text
    assert browser.get(f"/console/links/{reset.token.reveal()}").status == 303
    assert dana.get(console.fields).status == 303


def test_opening_a_link_does_not_use_it(console):
    link = console.invite(EMAIL)
    for _ in range(2):
        assert console.browser().get(link).status == 200

    browser = console.browser()

    assert browser.submit(browser.get(link), {"password": PASSWORD}).status == 303


def test_a_link_works_once(console):
    link = console.invite(EMAIL)
    first, second = console.browser(), console.browser()
    page = second.get(link)
    first.submit(first.get(link), {"password": PASSWORD})

    again = second.follow(second.submit(page, {"password": "another long password"}))

    assert again.path == "/console/sign-in"
    assert "The link was used already or has expired." in again.text
    assert second.get(link).status == 410
    assert console.sign_in(console.browser()).status == 303


def test_a_link_expires(console):
    link = console.invite(EMAIL)
    console.clock.advance(hours=24)

    assert console.browser().get(link).status == 410


@pytest.mark.parametrize("token", ["xyz0", "A" * 43, "%00", "{{7*7}}"])
@pytest.mark.parametrize("kind", ["links", "invitations"])
def test_an_unknown_link_looks_like_a_used_one(console, kind, token):
    response = console.browser().get(f"/console/{kind}/{token}")

    assert response.status == 410
    assert token not in response.html


@pytest.mark.parametrize("password", ["short", EMAIL, " " * 12])
def test_a_weak_password_is_explained_and_keeps_the_link(console, password):
    browser, link = console.browser(), console.invite(EMAIL)

    refused = browser.submit(browser.get(link), {"password": password})

    assert refused.status == 422
    assert "The invitation was not accepted" in refused.text
    assert browser.submit(refused, {"password": PASSWORD}).status == 303


@pytest.mark.parametrize(
    ("email", "password"),
    [
        (EMAIL, "passwordpassword"),
        (EMAIL, "password1234"),
        (EMAIL, "administrator"),
        (EMAIL, "QWERTY123456"),
        (EMAIL, "Dana@Acme.example1"),
        ("dana@" + "department." * 22 + "example", "dana@" + "department." * 22 + "example1"),
        (EMAIL, "a" * 1_024),
    ],
)
def test_a_password_that_is_easy_to_guess_is_rejected_with_what_to_do(console, email, password):
    browser = console.browser()

    refused = browser.submit(browser.get(console.invite(email)), {"password": password})

    assert refused.status == 422
    message = "This password is easy to guess. Choose another one, for example four random words."
    assert message in refused.text
    assert browser.submit(refused, {"password": PASSWORD}).status == 303


def test_a_password_can_have_1024_characters(console):
    browser, password = console.browser(), f"{PASSWORD} staple".ljust(1_024, "🐎")

    browser.submit(browser.get(console.invite(EMAIL)), {"password": password})

    assert console.sign_in(console.browser(), password).status == 303
    assert console.sign_in(console.browser(), password[:-1]).status == 422


def test_a_stored_password_stays_valid_even_if_it_is_easy_to_guess(console, dana):
    (account,) = console.core.administrators.list_administrators(console.acme.id)
    assert account.password_hash is not None
    weak = cheap_hasher().hash("passwordpassword")
    stored = administrators_of(console.core)
    stored.replace_password_hash(account.id, account.password_hash, weak)

    assert console.sign_in(console.browser(), "passwordpassword").status == 303


def test_a_sign_in_link_signs_in_once(console, dana):
    account = console.core.administrators.list_administrators(console.acme.id)[0]
    token = console.core.administrators.create_sign_in_link(account.id).token
    browser, link = console.browser(), f"/console/links/{token.reveal()}"

    page = browser.get(link)

    assert browser.follow(browser.submit(page)).path == console.fields
    assert browser.follow(browser.submit(page)).path == console.fields
    assert console.browser().get(link).status == 410
    assert dana.get(console.fields).status == 200


def test_signing_in_leads_back_to_the_page_that_was_wanted(console, dana):
    wanted = f"{console.fields}?q=a%26b&origin=manual"
    browser = console.browser()
    page = browser.follow(browser.get(wanted))

    signed_in = browser.submit(page, {"email": EMAIL, "password": PASSWORD})

    assert signed_in.location == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/console//../../evil",
        "/console/\\evil.example",
        "/consolevil",
        "javascript:alert(1)",
        "/console/\r\nSet-Cookie: a=b",
        "/",
        "/console/../../x",
        "/console/..",
        "/console/./organizations",
        "/console/%2e%2e/x",
        "/console/.%2E/x",
        "/console/..%2f..%2fx",
        "/console//organizations",
        "/console/organizations//",
        "/console/\t../x",
        "/console/organizations\n",
        "/console/organizations?\rSet-Cookie: a=b",
        '/console/organizations?"',
        "/console/organizations?\\",
        "/console/organizations?#x",
        "/console/organizations#x",
    ],
)
def test_signing_in_leads_to_no_address_outside_the_console(console, dana, wanted):
    browser = console.browser()
    page = browser.get("/console/sign-in")
    form = {"email": EMAIL, "password": PASSWORD, "next": wanted}

    signed_in = browser.submit(page, form)
    opened_again = browser.get(f"/console/sign-in?{urlencode({'next': wanted})}")

    assert [signed_in.location, opened_again.location] == ["/console"] * 2


@pytest.mark.parametrize(
    ("email", "password"),
    [(EMAIL, "wrong password"), ("missing@acme.example", PASSWORD), ("<script>", "x"), ("", "")],
)
def test_all_failed_attempts_look_alike(console, dana, email, password):
    refused = console.sign_in(console.browser(), password, email)

    assert refused.status == 422
    message = "The email address or the password is not correct. Check both and try again."
    assert message in refused.text
    assert refused.form().value("email") == email
    assert refused.form().value("password") == ""


def test_too_many_attempts_are_rejected_with_the_time_to_wait(console, dana):
    browser = console.browser()
    for _ in range(5):
        assert console.sign_in(browser, "wrong password").status == 422

    throttled = console.sign_in(browser)

    assert throttled.status == 429
    assert int(throttled.headers["retry-after"]) <= 15 * 60
    assert "Too many sign-in attempts. Try again in 15 minutes." in throttled.text


def test_a_stranger_does_not_lock_the_account_for_its_owner_elsewhere(console, dana):
    stranger = browser_at("198.51.100.1", console.app)
    statuses = [console.sign_in(stranger, "wrong password").status for _ in range(6)]

    assert statuses == [422] * 5 + [429]
    assert console.sign_in(console.browser()).status == 303
    assert console.sign_in(stranger).status == 429


def test_an_attack_from_many_addresses_is_throttled_and_a_link_still_works(console, dana):
    def guess(number: int) -> int:
        attacker = browser_at(f"198.51.100.{number}", console.app)
        return console.sign_in(attacker, "wrong password").status

    for attempt in range(100):
        assert guess(attempt // 5) == 422
        if attempt == 50:  # A success of the owner permits no more attempts.
            assert console.sign_in(console.browser()).status == 303
    assert guess(99) == 429
    browser = console.browser()
    assert console.sign_in(browser).status == 429
    reset = console.core.administrators.reset(EMAIL)

    page = browser.get(f"/console/links/{reset.token.reveal()}")

    assert browser.submit(page, {"password": PASSWORD}).status == 303
    assert console.sign_in(console.browser()).status == 303


def test_a_link_that_sets_a_password_permits_attempts_from_its_address_again(console, dana):
    for _ in range(6):
        throttled = console.sign_in(console.browser(), "wrong password")
    reset = console.core.administrators.reset(EMAIL)
    browser = console.browser()

    browser.submit(browser.get(f"/console/links/{reset.token.reveal()}"), {"password": PASSWORD})

    assert throttled.status == 429
    assert console.sign_in(console.browser()).status == 303


def test_signing_out_ends_the_session_for_every_copy_of_its_cookie(console, dana):
    stolen = Browser(console.app, dict(dana.cookies))
    page = dana.get(console.fields)

    out = dana.post("/console/sign-out", page.forms[0].inputs)

    assert out.location == "/console/sign-in"
    assert "console" not in dana.cookies
    assert stolen.get(console.fields).status == 303
    assert stolen.submit(page, {}).location == "/console/sign-in"
    assert stolen.post(f"{console.fields}/new", page.form().inputs).status == 401


@pytest.mark.parametrize("minutes", [30, 12 * 60])
def test_a_session_ends(console, dana, minutes):
    page = dana.get(f"{console.fields}/new")
    console.clock.advance(minutes=minutes)

    posted = dana.submit(page, {"name": "City"})

    assert posted.status == 401
    assert "Your session has ended" in posted.text
    assert dana.get(console.fields).location.startswith("/console/sign-in?next=")
    assert console.core.fields.list_fields(console.acme.id).fields == ()


def test_signing_in_again_ends_the_previous_session_of_the_browser(console, dana):
    previous = Browser(console.app, dict(dana.cookies))
    account = console.core.administrators.list_administrators(console.acme.id)[0]
    token = console.core.administrators.create_sign_in_link(account.id).token

    dana.submit(dana.get(f"/console/links/{token.reveal()}"))

    assert dana.get(console.fields).status == 200
    assert previous.get(console.fields).status == 303


def test_a_revoked_administrator_is_signed_out_with_the_next_request(console, dana):
    account = console.core.administrators.list_administrators(console.acme.id)[0]

    console.core.administrators.revoke(console.acme.id, account.id)

    assert dana.get(console.fields).status == 303
    assert console.sign_in(console.browser()).status == 422


def test_cookies_are_for_this_host_and_no_script(console):
    browser = console.browser()
    page = browser.get(console.invite(EMAIL))

    response = browser.submit(page, {"password": PASSWORD})

    cookie = response.headers["set-cookie"].lower()
    for attribute in ("httponly", "samesite=strict", "path=/"):
        assert attribute in cookie
    assert "domain" not in cookie


def test_over_https_cookies_are_secure(clock):
    console = open_console(clock, origin="https://fields.example.com")
    browser = console.browser()
    browser.headers["Origin"] = "https://fields.example.com"
    page = browser.get(console.invite(EMAIL))

    response = browser.submit(
        page, {"password": PASSWORD}, headers={"Origin": "https://fields.example.com"}
    )

    assert response.status == 303
    assert "secure" in response.headers["set-cookie"].lower()
    assert [name for name in browser.cookies if not name.startswith("__Host-")] == []


def test_an_administrator_of_two_organizations_chooses_one(console, dana):
    brewery = console.core.administration.create_organization("Brewery")
    dana.submit(dana.get(console.invite(EMAIL, Role.ADMIN, brewery.id)), {"password": PASSWORD})

    page = dana.open("/console")

    assert page.path == "/console/organizations"
    assert dana.get(page.links["Brewery"]).status == 200
