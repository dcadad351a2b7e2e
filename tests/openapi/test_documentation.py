"""`/openapi.json` and `/docs`, as any caller without a key gets them."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.entrypoints.http.openapi import reference_page as documentation
from recipient_fields.entrypoints.http.openapi.reference_page import PAGE_FILES

from .conftest import Caller, Service

PAGES = {"/openapi.json": "application/json", "/docs": "text/html; charset=utf-8"}
FILES = {f"/docs/{name}": media_type for name, media_type in PAGE_FILES.items()}


@pytest.fixture
def stranger(service: Service) -> Caller:
    return evolve(service.caller, key=None)


@pytest.mark.parametrize(("path", "media_type"), [*PAGES.items(), *FILES.items()])
def test_it_is_served_without_a_key_and_kept_until_it_changes(
    stranger: Caller, path: str, media_type: str
) -> None:
    answer = stranger.ask("GET", path)
    head = stranger.ask("HEAD", path)
    again = stranger.ask("GET", path, headers={"If-None-Match": answer.headers["etag"]})

    assert (answer.status_code, head.status_code, again.status_code) == (200, 200, 304)
    assert (head.content, again.content) == (b"", b"")
    for answered in (answer, head, again):
        assert answered.headers["etag"] == answer.headers["etag"]
        assert answered.headers["cache-control"] == "no-cache"
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert re.fullmatch("[0-9a-f]{32}", answered.headers["x-request-id"])
    assert answer.headers["content-type"] == media_type
    assert head.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize("path", [*PAGES, *FILES])
def test_options_reports_the_methods(stranger: Caller, path: str) -> None:
    answer = stranger.ask("OPTIONS", path)

    assert (answer.status_code, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


def test_openapi_json_is_the_document(stranger: Caller, contract: dict[str, Any]) -> None:
    assert stranger.ask("GET", "/openapi.json").json == contract


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_inline_script(stranger: Caller) -> None:
    page = stranger.ask("GET", "/docs")
    policy = dict(
        directive.split(" ", 1) for directive in page.headers["content-security-policy"].split("; ")
    )

    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "//" not in page.text.replace("<!DOCTYPE html>", "")
    assert re.findall(r"<script[^>]*>[^<]", page.text) == []


def test_the_page_s_links_are_served(stranger: Caller) -> None:
    links = re.findall(r'(?:href|src)="([^"]+)"', stranger.ask("GET", "/docs").text)

    assert {f"/{link}" for link in links} == {"/openapi.json", *FILES}


BROWSERS = [
    "text/html",
    "TEXT/HTML",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "application/xml;q=0.9, text/html;charset=utf-8;q=0.1",
]


@pytest.mark.parametrize("accept", BROWSERS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/", "/?utm_source=mail"])
def test_a_browser_that_opens_the_address_is_redirected_to_the_page(
    stranger: Caller, method: str, path: str, accept: str
) -> None:
    answer = stranger.ask(method, path, headers={"Accept": accept})

    assert (answer.status_code, answer.headers["location"]) == (302, "/docs")
    assert answer.content == b""
    assert stranger.ask("GET", "/docs", headers={"Accept": accept}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "accept"),
    [
        *(
            ("GET", "/", accept)
            for accept in (None, "", "*/*", "text/*", "application/json", "text/html;q=0")
        ),
        *(("GET", "/", accept) for accept in ("text/htmlx", "image/png", "text/html;q=x", "x")),
        *((method, "/", BROWSERS[0]) for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW")),
        *(("GET", path, BROWSERS[0]) for path in ("/x", "//", "/.", "/index.html", "/docs/")),
    ],
)
@pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")
def test_other_requests_for_the_address_are_answered_404_as_before(
    stranger: Caller, method: str, path: str, accept: str | None
) -> None:
    headers = {} if accept is None else {"Accept": accept}
    answer = stranger.ask(method, path, headers=headers)

    assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")
    assert "location" not in answer.headers


def test_the_redirection_is_not_in_the_document(contract: dict[str, Any]) -> None:
    assert "/" not in contract["paths"]


@pytest.mark.parametrize(
    "name",
    ["", "..", "index.html", "swagger-ui.css.map", "START.JS", "%2e%2e", "..%2f__init__.py", "a/b"],
)
def test_other_files_are_not_found(stranger: Caller, name: str) -> None:
    answer = stranger.ask("GET", f"/docs/{name}")

    assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/docs", "text/html", 200),
        ("/docs", "text/html,application/xhtml+xml,*/*;q=0.8", 200),
        ("/docs", "application/json", 406),
        ("/docs/swagger-ui.css", "text/css,*/*;q=0.1", 200),
        ("/openapi.json", "text/html", 406),
        ("/openapi.json", "application/json, */*", 200),
    ],
)
def test_accept_is_heeded(stranger: Caller, path: str, accept: str, status: int) -> None:
    assert stranger.ask("GET", path, headers={"Accept": accept}).status_code == status


def test_who_accepts_no_html_is_told_what_the_page_is(stranger: Caller) -> None:
    refused = stranger.ask("GET", "/docs", headers={"Accept": "application/json"})
    assert (
        refused.json["error"]["message"] == "The service sends text/html. Accept that media type."
    )


@pytest.mark.parametrize("path", PAGES)
def test_it_takes_no_parameters_and_no_other_methods(stranger: Caller, path: str) -> None:
    assert stranger.ask("GET", path, params={"version": "1"}).status_code == 400
    refused = stranger.ask("POST", path)
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_where_the_viewer_is_not_installed_the_page_says_so_and_the_rest_works(
    stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    documentation.page_file.cache_clear()
    monkeypatch.setattr(documentation, "find_spec", lambda _name: None)

    assert "recipient-fields[docs]" in stranger.ask("GET", "/docs").text
    assert stranger.ask("GET", "/docs/swagger-ui.css").status_code == 404
    assert stranger.ask("GET", "/openapi.json").status_code == 200
    documentation.page_file.cache_clear()


def test_the_viewer_s_package_is_never_imported() -> None:
    assert find_spec("swagger_ui") is not None
    program = (
        "import sys\n"
        "from recipient_fields.entrypoints.http.openapi.reference_page import page_file\n"
        "page_file('swagger-ui.css'); assert 'swagger_ui' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
