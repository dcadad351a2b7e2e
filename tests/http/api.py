"""A client of the service; it holds every answer to what all answers have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import unquote

import falcon
from attrs import evolve, field, frozen
from falcon.testing import TestClient

from recipient_fields.entrypoints.http.problems import STATUSES

FIELDS = "/api/v1/recipient_fields"
MEGABYTE = 1024 * 1024

Headers: TypeAlias = Iterable[tuple[str, str]]
Transport: TypeAlias = Callable[[str, str, Headers, bytes], tuple[int, Headers, bytes]]
"""Method, target, headers and body of a request; status, headers and body of its answer."""

_MEMBERS = {"code", "message", "request_id", "reason", "details"}
_DETAIL = {"pointer", "code", "message", "suggestion", "existing_id"}
_INTERNAL = re.compile(
    r"Traceback|\w+Error\b|\w+Exception\b|\.py\b|sqlite|memory|SELECT|INSERT\b|psycopg|falcon"
    r"|waitress|attrs|recipient_fields|/home|/tmp|<class|rfk_",
    re.IGNORECASE,
)
"""What no sentence to a client speaks of."""
_ECHOED_NAME = re.compile(r"query parameter `.*`")
"""The part of a message that repeats a parameter's name, which the client chose."""


@frozen
class Answer:
    """One answer of the service."""

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
        """The one field, which must be all there is."""
        (only,) = self.json.items()
        assert only[0] == "recipient_field"
        return dict(only[1])

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The fields of a list, which must be all there is."""
        (only,) = self.json.items()
        assert only[0] == "recipient_fields"
        return list(only[1])

    @property
    def keys(self) -> list[str]:
        return [field["key"] for field in self.fields]

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.json["error"])

    @property
    def outcome(self) -> tuple[int, str]:
        """The status and the error's code."""
        return self.status, self.error["code"]

    @property
    def refusal(self) -> tuple[int, str, str | None]:
        """The status, the error's code and its reason."""
        return *self.outcome, self.error.get("reason")

    @property
    def violations(self) -> list[str]:
        """The details of a 422 as `pointer: code`, sorted."""
        assert self.outcome == (422, "validation_failed")
        return sorted(f"{told['pointer']}: {told['code']}" for told in self.error["details"])

    @property
    def sentences(self) -> list[str]:
        """Every sentence of an error."""
        details = self.error.get("details", [])
        return [self.error["message"], *(told["message"] for told in details)]

    @property
    def etag(self) -> str:
        return self.headers["etag"]

    @property
    def told(self) -> object:
        """All that the client gets to see, bar the request's id."""
        name = self.headers["x-request-id"]
        headers = {k: v for k, v in self.headers.items() if k not in {"x-request-id", "date"}}
        return self.status, headers, self.content.replace(name.encode(), b"")


@frozen
class Api:
    """The service as the bearer of one key sees it.

    Keywords are headers: `if_match="*"`; None leaves one out, and a list sends it several times.
    """

    transport: Transport = field(repr=False)
    key: str | None = None

    def bearing(self, key: str | None) -> Api:
        return evolve(self, key=key)

    def list(self, **headers: Any) -> Answer:
        return self.send("GET", FIELDS, **headers)

    def get(self, reference: object, **headers: Any) -> Answer:
        return self.send("GET", f"{FIELDS}/{reference}", **headers)

    def post(self, members: object, **headers: Any) -> Answer:
        return self.send("POST", FIELDS, enveloped(members), **headers)

    def patch(self, reference: object, members: object, **headers: Any) -> Answer:
        return self.send("PATCH", f"{FIELDS}/{reference}", enveloped(members), **headers)

    def put(self, reference: object, members: object, **headers: Any) -> Answer:
        return self.send("PUT", f"{FIELDS}/{reference}", enveloped(members), **headers)

    def delete(self, reference: object, **headers: Any) -> Answer:
        return self.send("DELETE", f"{FIELDS}/{reference}", **headers)

    def send(self, method: str, path: str, body: bytes | str = b"", **headers: Any) -> Answer:
        """Any request at all."""
        sent = dict(_usual(self.key, body)) | {
            name.replace("_", "-").title(): value for name, value in headers.items()
        }
        content = body.encode("utf-8") if isinstance(body, str) else body
        status, received, answered = self.transport(method, path, list(_pairs(sent)), content)
        answer = Answer(method, path, status, {k.lower(): v for k, v in received}, answered)
        hold_to_the_contract(answer, sent.get("X-Request-Id"))
        return answer

    def state(self) -> object:
        """All that is stored of the organization, to the version."""
        listed = self.list()
        assert listed.status == 200
        return listed.etag, listed.content


def enveloped(members: object) -> str:
    """The request body of these members; lone surrogates become escapes."""
    return json.dumps({"recipient_field": members})


def compact(document: object) -> bytes:
    """The document as JSON in UTF-8 without spaces between its parts."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def through_falcon(app: falcon.App[Any, Any]) -> Transport:
    """Requests to the application without a server, checked by wsgiref's validator."""
    client = TestClient(app)

    def transport(
        method: str, path: str, headers: Headers, body: bytes
    ) -> tuple[int, Headers, bytes]:
        result = client.simulate_request(method, path, headers=list(headers), body=body)
        return result.status_code, result.headers.items(), result.content

    return transport


def hold_to_the_contract(answer: Answer, request_id: object = None) -> None:
    """AssertionError where the answer lacks what every answer of its kind has."""
    headers = answer.headers
    protected = unquote(answer.path).startswith("/api/")
    fresh = protected and answer.method in {"GET", "HEAD"} and answer.status in {200, 304}
    assert headers["cache-control"] == ("private, no-cache" if fresh else "no-store")
    assert headers["x-content-type-options"] == "nosniff"
    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", headers["x-request-id"])
    if isinstance(request_id, str) and re.fullmatch("[A-Za-z0-9._-]{1,64}", request_id):
        assert headers["x-request-id"] == request_id
    if protected:
        assert headers["vary"] == "Authorization, Accept"
    if answer.status in {204, 304}:
        assert answer.content == b""
        assert "content-type" not in headers
        return
    assert headers["content-type"] == "application/json"
    if answer.method == "HEAD":
        assert answer.content == b""
    elif answer.status >= 400:
        _hold_error(answer)


def _hold_error(answer: Answer) -> None:
    (name,) = answer.json
    assert name == "error"
    assert answer.content == compact(answer.json)
    error = answer.error
    assert {"code", "message", "request_id"} <= error.keys() <= _MEMBERS
    assert error["request_id"] == answer.headers["x-request-id"]
    assert STATUSES[error["code"]] == answer.status
    details = error.get("details", [])
    assert all({"pointer", "code", "message"} <= told.keys() <= _DETAIL for told in details)
    for sentence in answer.sentences:
        assert sentence.strip()
        assert not _INTERNAL.search(_ECHOED_NAME.sub("", sentence)), sentence
    for status, header in _COMPANIONS.items():
        if answer.status == status:
            assert answer.headers[header]


_COMPANIONS = {
    HTTPStatus.UNAUTHORIZED: "www-authenticate",
    HTTPStatus.METHOD_NOT_ALLOWED: "allow",
    HTTPStatus.SERVICE_UNAVAILABLE: "retry-after",
}


def _usual(key: str | None, body: bytes | str) -> Iterable[tuple[str, str]]:
    if key is not None:
        yield "Authorization", f"Bearer {key}"
    if body:
        yield "Content-Type", "application/json"


def _pairs(headers: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in headers.items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        yield from ((name, one) for one in values)
