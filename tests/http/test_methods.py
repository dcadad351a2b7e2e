"""What all resources have in common: methods, and the requests that each of them rejects."""

from __future__ import annotations

import json

import pytest
from falcon import testing

from recipient_fields.testing.examples import in_pairs

from .api import (
    BATCHES,
    CONDITION_COMPILATIONS,
    CONTENT_CONVERSIONS,
    CONTENT_EXPORTS,
    CONTENT_PREVIEWS,
    FIELDS,
    HISTORY,
    INTEGRATIONS,
    RECIPIENT_CHECKS,
    RECIPIENT_SCHEMA,
    ApiResponse,
    assert_contract,
)

STORAGES = ("memory",)  # These requests do not reach the storage.

READS = {
    FIELDS: "GET, HEAD, OPTIONS, POST",
    f"{FIELDS}/city": "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
    f"{FIELDS}/city/changes": "GET, HEAD, OPTIONS",
    f"{FIELDS}/city/codes": "GET, HEAD, OPTIONS",
    HISTORY: "GET, HEAD, OPTIONS",
    INTEGRATIONS: "GET, HEAD, OPTIONS",
    RECIPIENT_SCHEMA: "GET, HEAD, OPTIONS",
}
"""The methods of each resource that is read, and needs no parameter."""
ALLOWED = {
    **READS,
    **dict.fromkeys((f"{FIELDS}/missing", f"{FIELDS}/1"), READS[f"{FIELDS}/city"]),
    **dict.fromkeys(("/api/v1/merge_tags", "/healthz", "/readyz"), "GET, HEAD, OPTIONS"),
    **dict.fromkeys((f"{FIELDS}/1/restore", BATCHES, RECIPIENT_CHECKS), "OPTIONS, POST"),
    **dict.fromkeys((CONDITION_COMPILATIONS, CONTENT_CONVERSIONS), "OPTIONS, POST"),
    **dict.fromkeys((CONTENT_EXPORTS, CONTENT_PREVIEWS), "OPTIONS, POST"),
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE")
UNKNOWN_KEY = "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"
each_read = pytest.mark.parametrize("path", READS)


@pytest.mark.parametrize("path", ALLOWED)
def test_options_lists_the_methods(api, path):
    response = api.send("OPTIONS", path)
    assert (response.status, response.headers["allow"]) == (204, ALLOWED[path])


@pytest.mark.parametrize("path", ALLOWED)
def test_a_method_that_the_resource_does_not_have_is_rejected(api, city, path):
    before = api.state()
    for method in set(METHODS) - set(ALLOWED[path].split(", ")):
        response = api.send(method, path, "{}" if method in {"POST", "PUT", "PATCH"} else "")
        assert response.status_and_code == (405, "method_not_allowed")
        assert response.headers["allow"] == ALLOWED[path]
    assert api.state() == before


@in_pairs(path=ALLOWED.keys(), method=["BREW", "PROPFIND", "get", "CONNECT", "QUERY", "__init__"])
def test_an_unknown_method_is_rejected_in_the_same_way(harness, api, method, path):
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


@pytest.mark.parametrize("path", [*READS, "/healthz", "/readyz"])
def test_head_has_the_headers_of_get_and_no_body(api, city, path):
    got, head = (api.send(method, path, x_request_id="one") for method in ("GET", "HEAD"))
    assert (head.status, head.headers, head.content) == (200, got.headers, b"")


@pytest.mark.parametrize(
    "path", ["/nothing", f"{FIELDS}/missing", f"{FIELDS}?a=1", "/api/v1/a", f"{FIELDS}/1/restore"]
)
def test_head_is_rejected_if_get_is(api, path):
    got, head = (api.send(method, path, x_request_id="one") for method in ("GET", "HEAD"))
    assert (head.status, head.headers) == (got.status, got.headers)


@each_read
def test_a_current_entity_tag_gets_304(api, city, path):
    etag = api.send("GET", path).etag
    for form in ("{}", "W/{}", '"a", {}', '{},W/"b"', '"a" ,\t{}', "*"):
        for method in ("GET", "HEAD"):
            response = api.send(method, path, if_none_match=form.format(etag))
            assert (response.status, response.etag) == (304, etag)
    assert api.send("GET", path, if_none_match="a").status_and_code == (400, "invalid_parameter")


@each_read
def test_a_read_needs_a_key_and_accepts_its_own_parameters_and_media_type_only(api, city, path):
    for key in (None, UNKNOWN_KEY):
        for method in ("GET", "OPTIONS"):
            response = api.with_key(key).send(method, path)
            assert response.status_and_code == (401, "unauthorized")
    for query in ("?esp=braze", "?unknown=1"):
        assert api.send("GET", path + query).status_and_code == (400, "invalid_parameter")
    assert api.send("GET", path, accept="text/html").status_and_code == (406, "not_acceptable")
    assert api.send("GET", f"{path}/").status_and_code == (404, "not_found")


@pytest.mark.parametrize("header", ["x_http_method_override", "x_http_method", "x_method_override"])
def test_a_method_can_not_be_overridden(api, city, header):
    assert api.send("GET", f"{FIELDS}/city", **{header: "DELETE"}).status == 200
    assert api.list().fields == [city]


def test_there_is_no_cors(api):
    for method in ("GET", "OPTIONS"):
        response = api.send(
            method, FIELDS, origin="https://example.com", access_control_request_method="GET"
        )
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_liveness_and_readiness_need_no_key_and_reveal_no_secret(harness):
    for path in ("/healthz", "/readyz"):
        response = harness.client().send("GET", path)
        assert response.status == 200
        assert json.loads(response.content).keys() == {"status"}
