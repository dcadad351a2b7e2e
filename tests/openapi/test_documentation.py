"""`/openapi.json` and `/docs`, which need no API key."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
from attrs import evolve

from recipient_fields.entrypoints.http.openapi import reference_page as documentation
from recipient_fields.entrypoints.http.openapi.reference_page import PAGE_FILES
from recipient_fields.testing.examples import in_pairs

from .conftest import ApiClient, Service

PAGES = {"/openapi.json": "application/json", "/docs": "text/html; charset=utf-8"}
FILES = {f"/docs/{name}": media_type for name, media_type in PAGE_FILES.items()}


@pytest.fixture
def keyless_client(service: Service) -> ApiClient:
    return evolve(service.client, key=None)


@pytest.mark.parametrize(("path", "media_type"), [*PAGES.items(), *FILES.items()])
def test_it_needs_no_key_and_has_an_entity_tag(keyless_client, path, media_type):
    response = keyless_client.request("GET", path)
    head = keyless_client.request("HEAD", path)
    again = keyless_client.request("GET", path, headers={"If-None-Match": response.headers["etag"]})

    assert (response.status_code, head.status_code, again.status_code) == (200, 200, 304)
    assert (head.content, again.content) == (b"", b"")
    for reply in (response, head, again):
        assert reply.headers["etag"] == response.headers["etag"]
        assert reply.headers["cache-control"] == "no-cache"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert re.fullmatch("[0-9a-f]{32}", reply.headers["x-request-id"])
    assert response.headers["content-type"] == media_type
    assert head.headers["content-length"] == str(len(response.content))


@pytest.mark.parametrize("path", [*PAGES, *FILES])
def test_options_reports_the_methods(keyless_client, path):
    response = keyless_client.request("OPTIONS", path)

    assert (response.status_code, response.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


def test_openapi_json_is_the_document(keyless_client, contract):
    assert keyless_client.request("GET", "/openapi.json").json == contract


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_inline_script(keyless_client):
    page = keyless_client.request("GET", "/docs")
    policy = dict(
        directive.split(" ", 1) for directive in page.headers["content-security-policy"].split("; ")
    )

    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "//" not in page.text.replace("<!DOCTYPE html>", "")
    assert re.findall(r"<script[^>]*>[^<]", page.text) == []


def test_the_page_s_links_are_served(keyless_client):
    links = re.findall(r'(?:href|src)="([^"]+)"', keyless_client.request("GET", "/docs").text)

    assert {f"/{link}" for link in links} == {"/openapi.json", *FILES}


BROWSERS = [
    "text/html",
    "TEXT/HTML",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "application/xml;q=0.9, text/html;charset=utf-8;q=0.1",
]


@in_pairs(accept=BROWSERS, method=["GET", "HEAD"], path=["/", "/", "/?utm_source=mail"])
def test_a_browser_that_opens_the_address_is_redirected_to_the_page(
    keyless_client, method, path, accept
):
    response = keyless_client.request(method, path, headers={"Accept": accept})

    assert (response.status_code, response.headers["location"]) == (302, "/docs")
    assert response.content == b""
    assert keyless_client.request("GET", "/docs", headers={"Accept": accept}).status_code == 200


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
def test_other_requests_for_the_address_get_404(keyless_client, method, path, accept):
    headers = {} if accept is None else {"Accept": accept}
    response = keyless_client.request(method, path, headers=headers)

    assert (response.status_code, response.json["error"]["code"]) == (404, "not_found")
    assert "location" not in response.headers


def test_the_redirection_is_not_in_the_document(contract):
    assert "/" not in contract["paths"]


@pytest.mark.parametrize(
    "name",
    ["", "..", "index.html", "swagger-ui.css.map", "START.JS", "%2e%2e", "..%2f__init__.py", "a/b"],
)
def test_other_files_are_not_found(keyless_client, name):
    response = keyless_client.request("GET", f"/docs/{name}")

    assert (response.status_code, response.json["error"]["code"]) == (404, "not_found")


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
def test_the_accept_header_is_respected(keyless_client, path, accept, status):
    assert keyless_client.request("GET", path, headers={"Accept": accept}).status_code == status


def test_a_406_names_the_media_type_of_the_page(keyless_client):
    response = keyless_client.request("GET", "/docs", headers={"Accept": "application/json"})
    assert (
        response.json["error"]["message"] == "The service sends text/html. Accept that media type."
    )


@pytest.mark.parametrize("path", PAGES)
def test_it_accepts_no_parameters_and_no_other_methods(keyless_client, path):
    assert keyless_client.request("GET", path, params={"version": "1"}).status_code == 400
    response = keyless_client.request("POST", path)
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_without_the_viewer_the_page_names_the_missing_package(keyless_client, monkeypatch):
    documentation.page_file.cache_clear()
    monkeypatch.setattr(documentation, "find_spec", lambda _name: None)

    assert "recipient-fields[docs]" in keyless_client.request("GET", "/docs").text
    assert keyless_client.request("GET", "/docs/swagger-ui.css").status_code == 404
    assert keyless_client.request("GET", "/openapi.json").status_code == 200
    documentation.page_file.cache_clear()


def test_the_viewer_s_package_is_never_imported() -> None:
    assert find_spec("flask_swagger_ui") is not None
    program = (
        "import sys\n"
        "from recipient_fields.entrypoints.http.openapi.reference_page import page_file\n"
        "page_file('swagger-ui.css'); assert not {'flask', 'flask_swagger_ui'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
