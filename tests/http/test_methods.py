"""The methods of each resource, and responses to other methods."""

from __future__ import annotations

import json

import pytest
from falcon import testing

from .api import BATCHES, FIELDS, HISTORY, Api, ApiResponse, assert_contract
from .conftest import Harness

STORAGES = ("memory",)  # These requests do not reach the storage.

ALLOWED = {
    FIELDS: "GET, HEAD, OPTIONS, POST",
    f"{FIELDS}/city": "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
    f"{FIELDS}/missing": "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
    f"{FIELDS}/1": "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
    f"{FIELDS}/1/changes": "GET, HEAD, OPTIONS",
    f"{FIELDS}/1/restore": "OPTIONS, POST",
    BATCHES: "OPTIONS, POST",
    HISTORY: "GET, HEAD, OPTIONS",
    "/healthz": "GET, HEAD, OPTIONS",
    "/readyz": "GET, HEAD, OPTIONS",
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
REFUSED = [
    (m, path)
    for path, allow in ALLOWED.items()
    for m in METHODS
    if m not in (*allow.split(", "), "HEAD")
]


@pytest.mark.parametrize("path", ALLOWED)
def test_options_lists_the_methods(api: Api, path: str):
    response = api.send("OPTIONS", path)
    assert (response.status, response.headers["allow"]) == (204, ALLOWED[path])


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
def test_options_needs_a_key(harness: Harness, path: str):
    assert harness.client().send("OPTIONS", path).status_and_code == (401, "unauthorized")


@pytest.mark.parametrize(("method", "path"), REFUSED)
def test_a_method_that_the_resource_does_not_have_is_rejected(
    api: Api, city, method: str, path: str
):
    before = api.state()
    response = api.send(method, path, "{}" if method in {"POST", "PUT", "PATCH"} else "")
    assert response.status_and_code == (405, "method_not_allowed")
    assert response.headers["allow"] == ALLOWED[path]
    assert api.state() == before


@pytest.mark.parametrize("path", ALLOWED)
@pytest.mark.parametrize("method", ["BREW", "PROPFIND", "get", "CONNECT", "QUERY", "__init__"])
def test_an_unknown_method_is_rejected_in_the_same_way(
    harness: Harness, api: Api, method: str, path: str
):
    # The validator of the test client warns about unknown methods.
    environ = testing.create_environ(path, headers={"Authorization": f"Bearer {api.key}"})
    environ["REQUEST_METHOD"] = method
    started = testing.StartResponseMock()
    content = b"".join(harness.app()(environ, started))
    assert started.status is not None
    response = ApiResponse(method, path, int(started.status[:3]), started.headers_dict, content)
    assert_contract(response)
    assert response.status_and_code == (405, "method_not_allowed")
    assert response.headers["allow"] == ALLOWED[path]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", FIELDS, f"{FIELDS}/city"])
def test_head_has_the_headers_of_get_and_no_body(api: Api, city, path: str):
    got, head = api.send("GET", path), api.send("HEAD", path)
    assert (head.status, head.content) == (got.status, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize(
    "path", ["/nothing", f"{FIELDS}/missing", f"{FIELDS}?a=1", "/api/v1/a", f"{FIELDS}/1/restore"]
)
def test_head_is_rejected_if_get_is(api: Api, path: str):
    got, head = (api.send(method, path, x_request_id="one") for method in ("GET", "HEAD"))
    assert (head.status, head.headers) == (got.status, got.headers)


@pytest.mark.parametrize("header", ["x_http_method_override", "x_http_method", "x_method_override"])
def test_a_method_can_not_be_overridden(api: Api, city, header: str):
    assert api.send("GET", f"{FIELDS}/city", **{header: "DELETE"}).status == 200
    assert api.list().fields == [city]


def test_there_is_no_cors(api: Api):
    for method in ("GET", "OPTIONS"):
        response = api.send(
            method, FIELDS, origin="https://example.com", access_control_request_method="GET"
        )
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_liveness_and_readiness_need_no_key_and_reveal_no_secret(harness: Harness):
    for path in ("/healthz", "/readyz"):
        response = harness.client().send("GET", path)
        assert response.status == 200
        assert json.loads(response.content).keys() == {"status"}
