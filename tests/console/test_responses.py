"""Headers, static files, error pages and the log."""

from __future__ import annotations

import logging
import re
from io import StringIO
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.domain import PlainKey
from recipient_fields.entrypoints.console.app import create_console
from recipient_fields.entrypoints.console.pages import StaticFiles
from recipient_fields.entrypoints.http.request_log import DEFAULT_REQUEST_LOG, ResponseHooks
from recipient_fields.entrypoints.service.composition import create_service
from recipient_fields.entrypoints.service.log import BufferedHandler, json_formatter
from recipient_fields.entrypoints.service.settings import Settings

from .browser import Browser, browser_at
from .conftest import EMAIL, PASSWORD, open_console
from .routes import paths

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-src 'self'",
    "frame-ancestors 'none'",
}
TEMPLATES = Path(create_console.__code__.co_filename).parent / "templates"


def test_every_response_has_the_headers_for_browsers(console, dana):
    field = console.add_field()
    ids = {"organization_id": console.acme.id, "field_id": field.id}

    for path in [*paths("GET", ids, default=1), "/console/none", "/console/sign-out"]:
        headers = dana.get(path).headers
        assert set(headers["content-security-policy"].split("; ")) == POLICY
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        # With `no-referrer`, a browser would send `Origin: null`, and no form would work.
        assert headers["referrer-policy"] == "same-origin"


def test_static_files_never_change_under_their_names(console):
    page = console.browser().get("/console/sign-in")
    files = [a.get("href") or a.get("src") for tag, a in page.tags if tag in {"link", "script"}]

    assert len(files) == 3
    for path in files:
        response = console.browser().get(path or "")
        assert response.status == 200
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "set-cookie" not in response.headers
        assert console.browser().get((path or "").replace("-", "-0")).status == 404


def test_the_style_sheet_is_small_and_loads_nothing() -> None:
    files = StaticFiles.read()
    style, _ = files.contents[files.names["console.css"]]

    assert len(style) <= 27_000
    assert re.findall(rb"url\(|@import|@font-face", style) == []


def test_no_template_switches_escaping_off_or_contains_code() -> None:
    for file in TEMPLATES.rglob("*.html"):
        text = file.read_text("utf-8")
        assert re.findall(r"\|\s*safe\b|autoescape|\bstyle=|\son\w+=|javascript:", text) == []
        assert re.findall(r"<script(?! defer src=)|<style", text) == []
        assert re.findall(r"""(?:href|src)="(?:https?:)?//""", text) == []


@pytest.mark.parametrize("path", ["/console/none", "/console/o", "/console/o/1/none/"])
def test_an_unknown_path_has_an_error_page(console, dana, path):
    response = dana.get(path)

    assert response.status == 404
    assert "There is no such page" in response.text
    assert response.headers["x-request-id"] in response.text


def test_a_trailing_slash_does_not_matter(console, dana):
    assert dana.get(f"{console.fields}/").status == 200
    assert dana.get("/console/").status == 303


def test_another_method_is_rejected(console, dana):
    page = dana.get(console.fields)

    assert dana.post(console.fields, page.forms[0].inputs).status == 405


@pytest.mark.parametrize(
    ("content_type", "status"),
    [("application/json", 415), ("text/plain", 415), ("multipart/form-data; boundary=x", 400)],
)
def test_a_body_that_is_no_form_is_rejected(console, dana, content_type, status):
    page = dana.get(f"{console.fields}/new")

    response = dana.post(page.path, page.form().inputs, **{"Content-Type": content_type})

    assert response.status == status


def test_a_large_form_is_rejected(console, dana):
    page = dana.get(f"{console.fields}/new")

    assert dana.submit(page, {"name": "x" * 1_100_000}).status == 413
    assert dana.submit(page, {"allowed_value": ["x"] * 1_300}).status == 400


def test_an_outage_has_an_error_page(clock, tmp_path):
    console = open_console(clock, f"sqlite:{tmp_path / 'fields.db'}")
    browser = console.signed_in()
    page = browser.get(f"{console.fields}/new")
    console.core.storage.close()

    for response in (browser.get(console.fields), browser.submit(page, {"name": "City"})):
        assert response.status == 503
        assert response.headers["retry-after"] == "1"
        assert "The console is temporarily unavailable" in response.text
        assert "sqlite" not in response.text.lower()


def test_an_unexpected_error_has_a_page_and_a_log_line_with_the_same_id(console, dana, caplog):
    missing: Any = None
    broken = evolve(console.core, fields=missing)
    app = create_console(
        broken,
        origin=None,
        client_address=lambda req: req.remote_addr,
        open_source=missing,
        open_recipients=missing,
    )

    response = Browser(app, dana.cookies).get(console.fields)

    assert response.status == 500
    assert "NoneType" not in response.html
    assert f"request {response.headers['x-request-id']} failed" in caplog.text


def test_a_client_chooses_no_request_id(console):
    response = console.browser().get("/console/sign-in", **{"X-Request-Id": "chosen"})

    assert response.headers["x-request-id"] != "chosen"


def test_the_log_names_the_administrator_and_no_secret(clock, caplog):
    hooks = ResponseHooks((DEFAULT_REQUEST_LOG,))
    console = open_console(clock, hooks=hooks)
    caplog.set_level(logging.DEBUG)
    browser = console.browser()
    link = console.invite(EMAIL)
    page = browser.get(link)
    browser.submit(page, {"password": "short"})
    browser.follow(browser.submit(page, {"password": PASSWORD}))
    console.sign_in(console.browser(), "wrong password")
    browser.get(f"{console.fields}?q=search")
    browser.post(console.fields, [])

    facts = [record.facts for record in caplog.records if hasattr(record, "facts")]
    lines = [each for each in facts if "route" in each]
    assert lines[0]["route"] == "/console/invitations/{token}"
    assert {"administrator": 1, "organization": console.acme.id, "status": 200}.items() <= (
        next(each for each in lines if each["route"].endswith("fields"))
    ).items()
    logged = f"{caplog.text} {facts}"
    secrets = (link.rpartition("/")[2], PASSWORD, "wrong password", "search")
    for secret in (*secrets, *browser.cookies.values(), page.form().value("csrf")):
        assert secret not in logged


def test_the_service_mounts_the_console_only_if_it_is_on() -> None:
    on, off = _service(console=True), _service(console=False)

    assert off.get("/console").status == off.get("/console/sign-in").status == 404
    assert off.get("/", Accept="text/html").location == "/docs"
    assert on.get("/console").location == "/console/sign-in"
    assert on.get("/", Accept="text/html").location == "/console"
    assert on.get("/").status == 404
    assert on.get("/healthz").status == 200
    assert on.get("/consolevil").status == 404
    assert "default-src" not in on.get("/consolevil").headers.get("content-security-policy", "")


def test_a_proxy_that_is_not_trusted_causes_one_warning(caplog):
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    trusted = (ip_network("192.0.2.0/24"),)
    behind_proxy = browser_at("192.0.2.1", _service(console=True, trusted_proxies=trusted).app)
    behind_proxy.get("/console/sign-in", **forwarded)
    browser = browser_at("192.0.2.1", _service(console=True).app)
    browser.get("/console/sign-in")
    assert caplog.messages == []

    for _ in range(3):
        browser.get("/console/sign-in", **forwarded)

    [message] = caplog.messages
    assert "came from 192.0.2.1, which is not in --trusted-proxies" in message


def test_the_session_cookie_is_not_a_credential_for_the_api(console, dana):
    api = _service(console=True)
    api.cookies = dict(dana.cookies)

    assert api.get("/api/v1/recipient_fields").status == 401
    token = next(iter(dana.cookies.values()))
    assert api.get("/api/v1/recipient_fields", Authorization=f"Bearer {token}").status == 401
    assert PlainKey.parse(token) is None


def _service(*, console: bool, **options: Any) -> Browser:
    handler = BufferedHandler(StringIO(), json_formatter())
    settings = Settings(storage="memory:", console=console, **options)
    service = create_service(settings, {}, handler)
    return Browser(service.application)


def test_the_page_of_an_unknown_path_keeps_the_administrator_signed_in(console, dana):
    assert "Sign out" in dana.get("/console/none").text
    assert "Sign out" not in console.browser().get("/console/none").text
