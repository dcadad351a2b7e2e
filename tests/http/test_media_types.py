"""Content-Type, Content-Encoding and Accept."""

from __future__ import annotations

import pytest

from recipient_fields.testing.examples import in_pairs

from ..support.growth import assert_grows_linearly
from .api import FIELDS, enveloped

STORAGES = ("memory",)  # These requests do not reach the storage.

BODY = enveloped({"name": "Town", "data_type": "text"})
JSON = [
    "application/json",
    "Application/JSON",
    "application/json;charset=utf-8",
    "application/json; charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json ; Charset=Utf-8",
    "application/json;",
    "application/json; charset=utf-8 ;",
    "application/json; charset=utf8",
    'application/json;charset="UTF8"',
]
NOT_JSON = [
    "",
    "text/plain",
    "text/json",
    "json",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a",
    "application/json; charset=latin-1",
    "application/json; charset=utf-16",
    "application/json; charset=utf--8",
    "application/json; charset=utf88",
    'application/json; charset="utf8',
    "application/json; charset=",
    "application/json; charset",
    "application/json; charset=iso-8859-1; charset=utf-8",
    "application/json; charset=utf-8; charset=iso-8859-1",
    "application/json; version",
    "application/json; version=1",
    "application/json; charset=utf-8; version=1",
    "application/jsonp",
    "application/json-patch+json",
    "application/problem+json",
    "application/vnd.api+json",
    "application/*",
    "*/*",
    "application/json, application/json",
    "application/json, text/plain",
    "\u00e4",
]
TARGETS = {"POST": FIELDS, "PATCH": f"{FIELDS}/city", "PUT": f"{FIELDS}/city"}
MERGE_PATCH = "application/merge-patch+json"


@in_pairs(media_type=JSON, method=list(TARGETS))
def test_a_body_must_be_json_in_utf_8(api, city, method, media_type):
    response = api.send(method, TARGETS[method], BODY, content_type=media_type)
    assert response.status in {200, 201}


@pytest.mark.parametrize("media_type", NOT_JSON)
def test_a_body_of_another_type_is_rejected(api, city, media_type):
    before = api.state()
    for method, path in TARGETS.items():
        response = api.send(method, path, BODY, content_type=media_type)
        assert response.status_and_code == (415, "unsupported_media_type")
    assert api.state() == before


@pytest.mark.parametrize("method", TARGETS)
def test_a_body_without_a_content_type_is_rejected(api, city, method):
    response = api.send(method, TARGETS[method], BODY, content_type=None)
    assert response.status_and_code == (415, "unsupported_media_type")


@in_pairs(encoding=["gzip", "identity", "br", "aws-chunked", ""], method=list(TARGETS))
def test_an_encoded_body_is_rejected(api, city, method, encoding):
    response = api.send(method, TARGETS[method], BODY, content_encoding=encoding)
    assert response.status_and_code == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "media_type", [MERGE_PATCH, MERGE_PATCH.upper(), f"{MERGE_PATCH};charset=utf-8"]
)
def test_patch_accepts_a_merge_patch(api, city, media_type):
    assert api.send("PATCH", TARGETS["PATCH"], BODY, content_type=media_type).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_other_methods_than_patch_reject_a_merge_patch(api, city, method):
    response = api.send(method, TARGETS[method], BODY, content_type=MERGE_PATCH)
    assert response.status_and_code == (415, "unsupported_media_type")


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
def test_a_request_without_a_body_needs_no_content_type(api, city, path):
    assert api.send("GET", path, content_type="text/plain").status == 200


def test_methods_without_a_body_ignore_a_body(api, city):
    strange = {"content_type": "text/plain", "content_encoding": "gzip"}
    assert api.send("GET", f"{FIELDS}/city", "hello", **strange).status == 200
    assert api.send("DELETE", f"{FIELDS}/city", "hello", **strange).status == 204


@pytest.mark.parametrize(
    ("first", "unit", "last"), [("application/json;", " ", "x"), ('a/b;c="', '\\"', "")]
)
def test_a_header_is_parsed_in_linear_time(api, first, unit, last):
    def send(header: str) -> None:
        assert api.post({"name": "City", "data_type": "text"}, content_type=header).status == 415
        assert api.send("GET", FIELDS, accept=header).status in {200, 400, 406}

    assert_grows_linearly(send, lambda size: first + unit * size + last, 100_000)


ACCEPTED = [
    None,
    "",
    "*/*",
    "application/*",
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "text/html, application/json;q=0.1",
    "text/html, */*;q=0.001",
    "application/json;q=1.0, */*;q=0",
    "application/problem+json",
    "application/json,",
    ",application/json",
    "text/html, ,application/json,\t,",
    ",",
    'text/html;title="a,b", application/json',
    'text/html;title="a\\",b", application/json',
]
NOT_ACCEPTED = [
    "text/html",
    "text/*",
    "application/xml",
    "application/json;q=0",
    "application/json;q=0.0, text/html",
    "*/*;q=0",
    "application/vnd.api+json",
    "application/json-seq",
]


@in_pairs(accept=ACCEPTED, path=[FIELDS, f"{FIELDS}/city", "/healthz", "/readyz"])
def test_a_client_that_accepts_json_gets_json(api, city, path, accept):
    assert api.send("GET", path, accept=accept).status == 200


@pytest.mark.parametrize("accept", NOT_ACCEPTED)
def test_a_client_that_does_not_accept_json_is_rejected_before_any_change(api, city, accept):
    before = api.state()
    for method in ("GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"):
        assert api.send(method, f"{FIELDS}/city", BODY, accept=accept).status == 406
    assert api.state() == before


@pytest.mark.parametrize("accept", [";;;", "application", "a/b;q=high", "a/b;q=2"])
def test_a_malformed_accept_header_is_rejected(api, accept):
    assert api.send("GET", FIELDS, accept=accept).status_and_code == (400, "invalid_parameter")


@pytest.mark.parametrize(
    "accept",
    [
        *("text/html", "*/*;q=0", "application/xml", ";;;"),
        "application/problem+json",
        "application/problem+json, application/json;q=0.5",
    ],
)
def test_errors_are_the_error_object_with_any_accept_header(api, accept):
    """`Api` requires of each error that it is the error object, as application/json."""
    assert api.with_key(None).list(accept=accept).status_and_code == (401, "unauthorized")
    assert api.send("GET", "/nothing", accept=accept).status_and_code == (404, "not_found")
    assert api.send("PATCH", FIELDS, accept=accept).status_and_code == (405, "method_not_allowed")
