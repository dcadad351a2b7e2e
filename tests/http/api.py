"""A client of the API that checks what all responses have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import unquote
from wsgiref.util import FileWrapper

import falcon
from attrs import evolve, field, frozen
from falcon.testing import TestClient

from recipient_fields.entrypoints.http.problems import STATUSES

FIELDS = "/api/v1/recipient_fields"
BATCHES = "/api/v1/recipient_field_batches"
HISTORY = "/api/v1/recipient_field_changes"
RECIPIENT_SCHEMA = "/api/v1/recipient_schema"
RECIPIENT_CHECKS = "/api/v1/recipient_checks"
CONDITION_COMPILATIONS = "/api/v1/condition_compilations"
CONTENT_CONVERSIONS = "/api/v1/content_conversions"
CONTENT_EXPORTS = "/api/v1/content_exports"
CONTENT_PREVIEWS = "/api/v1/content_previews"
INTEGRATIONS = "/api/v1/integrations"
MEGABYTE = 1024 * 1024

Headers: TypeAlias = Iterable[tuple[str, str]]
Transport: TypeAlias = Callable[[str, str, Headers, bytes], tuple[int, Headers, bytes]]
"""Method, target, headers and body of a request; status, headers and body of the response."""

_MEMBERS = {"code", "message", "request_id", "reason", "limit", "used", "details"}
_DETAIL = {
    *("pointer", "code", "message", "line", "column"),
    *("suggestion", "existing_id", "existing_key", "reason", "limit", "used"),
}
_INTERNAL = re.compile(
    r"Traceback|\w+Error\b|\w+Exception\b|\.py\b|sqlite|memory|SELECT|INSERT INTO\b|psycopg|falcon"
    r"|waitress|attrs|recipient_fields|/home|/tmp|<class|rfk_",
    re.IGNORECASE,
)
"""Text that no message to a client contains."""
_ECHOED_NAME = re.compile(r"query parameter `.*`")
"""The part of a message that repeats a parameter's name, which the client chose."""


@frozen
class ApiResponse:
    """One response of the API."""

    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def field(self) -> dict[str, Any]:
        """The field. The document has no other member."""
        (only,) = self.json.items()
        assert only[0] == "recipient_field"
        return dict(only[1])

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The fields of a list. The document has no other member."""
        (only,) = self.json.items()
        assert only[0] == "recipient_fields"
        return list(only[1])

    @property
    def results(self) -> list[Any]:
        """The field of each result of a batch, or None. The document has no other member."""
        (only,) = self.json.items()
        assert only[0] == "results"
        assert all(result.keys() == {"recipient_field"} for result in only[1])
        return [result["recipient_field"] for result in only[1]]

    @property
    def keys(self) -> list[str]:
        return [field["key"] for field in self.fields]

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.json["error"])

    @property
    def status_and_code(self) -> tuple[int, str]:
        """The status, and the code of the error."""
        return self.status, self.error["code"]

    @property
    def status_code_and_reason(self) -> tuple[int, str, str | None]:
        """The status, and the code and the reason of the error."""
        return *self.status_and_code, self.error.get("reason")

    @property
    def violations(self) -> list[str]:
        """The details of a 422 as `pointer: code`, sorted."""
        assert self.status_and_code == (422, "validation_failed")
        return sorted(f"{detail['pointer']}: {detail['code']}" for detail in self.error["details"])

    @property
    def places(self) -> list[str]:
        """The details of a 422 for content as `line:column code`."""
        assert self.status_and_code == (422, "validation_failed")
        details = self.error["details"]
        assert {detail["pointer"] for detail in details} == {"/content"}
        return [f"{each['line']}:{each['column']} {each['code']}" for each in details]

    @property
    def messages(self) -> list[str]:
        """The messages of the error and of its details."""
        details = self.error.get("details", [])
        return [self.error["message"], *(detail["message"] for detail in details)]

    @property
    def etag(self) -> str:
        return self.headers["etag"]

    @property
    def without_request_id(self) -> object:
        """Everything that the client receives, except the request id and the date."""
        request_id = self.headers["x-request-id"]
        headers = {k: v for k, v in self.headers.items() if k not in {"x-request-id", "date"}}
        return self.status, headers, self.content.replace(request_id.encode(), b"")


@frozen
class Api:
    """A client that sends one API key.

    Keyword arguments are headers, such as `if_match="*"`. None omits a header, and a list sends it
    several times.
    """

    transport: Transport = field(repr=False)
    key: str | None = None

    def with_key(self, key: str | None) -> Api:
        return evolve(self, key=key)

    def list(self, **headers: Any) -> ApiResponse:
        return self.send("GET", FIELDS, **headers)

    def get(self, reference: object, **headers: Any) -> ApiResponse:
        return self.send("GET", f"{FIELDS}/{reference}", **headers)

    def post(self, members: object, **headers: Any) -> ApiResponse:
        return self.send("POST", FIELDS, enveloped(members), **headers)

    def patch(self, reference: object, members: object, **headers: Any) -> ApiResponse:
        return self.send("PATCH", f"{FIELDS}/{reference}", enveloped(members), **headers)

    def put(self, reference: object, members: object, **headers: Any) -> ApiResponse:
        return self.send("PUT", f"{FIELDS}/{reference}", enveloped(members), **headers)

    def delete(self, reference: object, **headers: Any) -> ApiResponse:
        return self.send("DELETE", f"{FIELDS}/{reference}", **headers)

    def apply(self, *operations: object, **members: object) -> ApiResponse:
        """Send a batch with these operations and, for example, an `if_revision`."""
        return self.send("POST", BATCHES, json.dumps({"operations": operations, **members}))

    def send(self, method: str, path: str, body: bytes | str = b"", **headers: Any) -> ApiResponse:
        """Send any request, and check the response."""
        sent = dict(_default_headers(self.key, body)) | {
            name.replace("_", "-").title(): value for name, value in headers.items()
        }
        content = body.encode("utf-8") if isinstance(body, str) else body
        status, received, data = self.transport(method, path, list(_pairs(sent)), content)
        response = ApiResponse(method, path, status, {k.lower(): v for k, v in received}, data)
        assert_contract(response, sent.get("X-Request-Id"))
        return response

    def state(self) -> tuple[str, bytes]:
        """Return the fields of the organization and the entity tag of their list."""
        listed = self.list()
        assert listed.status == 200
        return listed.etag, listed.content


def enveloped(members: object) -> str:
    """Return a request body with these members. Lone surrogates become escapes."""
    return json.dumps({"recipient_field": members})


def compact(document: object) -> bytes:
    """Return the document as JSON in UTF-8 without white space."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def falcon_transport(app: falcon.App[Any, Any]) -> Transport:
    """Return a transport that calls the application without a server, as a host with a wrapper."""
    client = TestClient(app)
    extras = {"wsgi.file_wrapper": FileWrapper}

    def transport(
        method: str, path: str, headers: Headers, body: bytes
    ) -> tuple[int, Headers, bytes]:
        result = client.simulate_request(
            method, path, headers=list(headers), body=body, extras=extras
        )
        return result.status_code, result.headers.items(), result.content

    return transport


def assert_contract(response: ApiResponse, request_id: object = None) -> None:
    """Fail if the response lacks what the contract requires of every response."""
    headers = response.headers
    protected = unquote(response.path).startswith("/api/")
    fresh = protected and response.method in {"GET", "HEAD"} and response.status in {200, 304}
    assert headers["cache-control"] == ("private, no-cache" if fresh else "no-store")
    assert headers["x-content-type-options"] == "nosniff"
    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", headers["x-request-id"])
    if isinstance(request_id, str) and re.fullmatch("[A-Za-z0-9._-]{1,64}", request_id):
        assert headers["x-request-id"] == request_id
    if protected:
        assert headers["vary"] == "Authorization, Accept"
    if response.status in {204, 304}:
        assert response.content == b""
        assert "content-type" not in headers
        return
    schema = response.path.startswith(RECIPIENT_SCHEMA) and response.status == 200
    assert headers["content-type"] == f"application/{'schema+' if schema else ''}json"
    if response.method == "HEAD":
        assert response.content == b""
    elif response.status >= 400:
        _assert_error_contract(response)


def _assert_error_contract(response: ApiResponse) -> None:
    (name,) = response.json
    assert name == "error"
    assert response.content == compact(response.json)
    error = response.error
    assert {"code", "message", "request_id"} <= error.keys() <= _MEMBERS
    assert error["request_id"] == response.headers["x-request-id"]
    assert STATUSES[error["code"]] == response.status
    details = error.get("details", [])
    assert all({"pointer", "code", "message"} <= detail.keys() <= _DETAIL for detail in details)
    for message in response.messages:
        assert message.strip()
        assert not _INTERNAL.search(_ECHOED_NAME.sub("", message)), message
    for status, header in _REQUIRED_HEADERS.items():
        if response.status == status:
            assert response.headers[header]


_REQUIRED_HEADERS = {
    HTTPStatus.UNAUTHORIZED: "www-authenticate",
    HTTPStatus.METHOD_NOT_ALLOWED: "allow",
    HTTPStatus.SERVICE_UNAVAILABLE: "retry-after",
}


def _default_headers(key: str | None, body: bytes | str) -> Iterable[tuple[str, str]]:
    if key is not None:
        yield "Authorization", f"Bearer {key}"
    if body:
        yield "Content-Type", "application/json"


def _pairs(headers: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in headers.items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        yield from ((name, one) for one in values)
