"""The request log, and what it never contains."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from ipaddress import ip_network
from typing import Any, TypeAlias

import pytest
from falcon.testing import TestClient

from recipient_fields.domain import (
    Access,
    Credential,
    OrganizationId,
    PlainKey,
    Rejection,
    RejectionReason,
    StorageUnavailable,
)
from recipient_fields.entrypoints.http.client_addresses import ClientAddresses
from recipient_fields.entrypoints.http.request_log import RequestLog
from recipient_fields.entrypoints.service.log import json_formatter, text_formatter

from .api import BATCHES, FIELDS
from .conftest import Harness

STORAGES = ("memory",)

pytestmark = pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")

Log: TypeAlias = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def log() -> Iterator[Log]:
    """Return a function that returns the lines logged so far, including debug lines."""
    ours = logging.getLogger("recipient_fields")
    level = ours.level
    ours.setLevel(logging.DEBUG)
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(json_formatter())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)
    ours.setLevel(level)


def requests(log: Log) -> list[dict[str, Any]]:
    return [line for line in log() if line["logger"] == "recipient_fields.requests"]


def test_a_request_is_one_line_with_its_key_route_and_status(api, bakery, log):
    api.get("city", x_request_id="find-me")

    (line,) = log()
    assert line.pop("timestamp").endswith("Z")
    assert 0 < line.pop("milliseconds") < 10_000
    assert line == {
        "level": "info",
        "logger": "recipient_fields.requests",
        "event": "request",
        "request_id": "find-me",
        "organization": bakery,
        "key_id": 1,
        "route": "/api/v1/recipient_fields/{id_or_key}",
        "method": "GET",
        "status": 404,
    }


def test_a_token_of_another_issuer_in_the_request_id_is_not_logged(harness, bakery, log):
    """Such a token has no form by which it could be recognized."""

    class AcceptsEveryKey:
        def validate(self, _presented: str, /) -> Credential:
            return Credential(bakery, None, Access.READ_ONLY)

    client = harness.client(validator=AcceptsEveryKey())
    client.send("GET", FIELDS, authorization="Bearer secret", x_request_id="secret")
    client.send("GET", FIELDS, authorization="Bearer secret", x_request_id="another")

    assert [line["request_id"] for line in requests(log)] == ["[API key]", "another"]


def test_the_log_and_the_response_have_the_same_request_id(api, log):
    responses = [api.list(), api.get("missing"), api.send("GET", "/nothing")]

    assert [line["request_id"] for line in log()] == [r.headers["x-request-id"] for r in responses]


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", FIELDS, ("/api/v1/recipient_fields", "GET", 200)),
        ("POST", FIELDS, ("/api/v1/recipient_fields", "POST", 415)),
        ("HEAD", f"{FIELDS}/city", ("/api/v1/recipient_fields/{id_or_key}", "HEAD", 404)),
        ("POST", BATCHES, (BATCHES, "POST", 415)),
        ("GET", "/docs/secret", ("/docs/{file}", "GET", 404)),
        ("GET", "/secret", ("unrouted", "GET", 404)),
        ("GET", f"{FIELDS}?secret=1", ("/api/v1/recipient_fields", "GET", 400)),
        ("BREW", FIELDS, ("/api/v1/recipient_fields", "other", 405)),
        ("WEBSOCKET", FIELDS, ("unrouted", "other", 400)),
    ],
)
def test_the_log_has_the_template_of_the_route_and_only_known_methods(
    api, log, method, path, expected
):
    api.send(method, path, content_type=None)

    (line,) = requests(log)
    assert (line["route"], line["method"], line["status"]) == expected
    assert "secret" not in str(line)


REASONS = ("missing", "malformed", "unknown", "expired", "revoked")


@pytest.fixture
def rejected(harness: Harness, bakery: OrganizationId) -> dict[str, tuple[str | None, int | None]]:
    """Map each reason to an `Authorization` header, and the id of its key if it has one."""
    expired = harness.issue_key(bakery, lifetime=timedelta(seconds=1))
    revoked = harness.issue_key(bakery)
    harness.administration.revoke_key(bakery, revoked.api_key.id)
    harness.clock.advance(seconds=1)
    return {
        "missing": (None, None),
        "malformed": (f"Bearer {revoked.plain.reveal()}0", None),
        "unknown": (f"Bearer {PlainKey.generate().reveal()}", None),
        "expired": (f"Bearer {expired.plain.reveal()}", expired.api_key.id),
        "revoked": (f"Bearer {revoked.plain.reveal()}", revoked.api_key.id),
    }


@pytest.mark.parametrize("reason", REASONS)
def test_the_line_of_a_401_has_its_reason_and_the_id_of_a_known_key(harness, rejected, log, reason):
    header, key_id = rejected[reason]
    harness.client().list(authorization=header)

    (line,) = requests(log)
    assert line["status"] == 401
    assert (line["reason"], line["key_id"], line["organization"]) == (reason, key_id, None)
    assert header is None or header[20:-4] not in str(log())


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Basic dTpw", "Bearer a b", "Bearer null", ["Bearer a", "Bearer b"]]
)
def test_a_header_that_holds_no_api_key_is_malformed(harness, log, header):
    harness.client().list(authorization=header)

    (line,) = requests(log)
    assert (line["status"], line["reason"]) == (401, "malformed")


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("GET", FIELDS, FIELDS),
        ("BREW", FIELDS, FIELDS),
        ("DELETE", f"{FIELDS}/secret", f"{FIELDS}/{{id_or_key}}"),
        ("GET", f"{FIELDS}/secret?secret=1", f"{FIELDS}/{{id_or_key}}"),
        ("GET", "/api/secret", "unrouted"),
        ("GET", f"{FIELDS}/secret/", "unrouted"),
        ("GET", f"{FIELDS}/a%2Fsecret", "unrouted"),
    ],
)
def test_the_line_of_a_401_has_the_route_that_a_valid_key_would_have_reached(
    harness, api, log, method, path, route
):
    harness.client().send(method, path, content_type=None)
    api.send(method, path, content_type=None)

    rejected, accepted = requests(log)
    assert (rejected["status"], rejected["route"]) == (401, route)
    assert accepted["route"] == route
    assert "secret" not in str(rejected)


def test_only_the_line_of_a_401_has_a_reason(api, reader, log):
    api.list()
    api.get("missing")
    reader.post({"name": "City", "data_type": "text"})

    assert [(line["status"], "reason" in line) for line in requests(log)] == [
        *((200, False), (404, False), (403, False))
    ]


def test_the_key_id_can_be_any_id_that_the_validator_returns(harness, log):
    class RejectsAsExpired:
        def validate(self, _presented: str, /) -> Rejection:
            return Rejection(RejectionReason.EXPIRED, "backend")

    harness.client(validator=RejectsAsExpired()).list(authorization="Bearer a-token")

    (line,) = requests(log)
    assert (line["status"], line["reason"], line["key_id"]) == (401, "expired", "backend")


def test_if_a_validator_returns_none_the_line_has_no_reason(harness, log):
    class ReturnsNone:
        def validate(self, _presented: str, /) -> None:
            return None

    response = harness.client(validator=ReturnsNone()).list(authorization="Bearer a-token")

    (line,) = requests(log)
    assert response.status_and_code == (401, "unauthorized")
    assert "reason" not in line


def test_every_line_has_the_address_of_the_client_if_that_is_configured(harness, api, log):
    without_addresses = RequestLog()
    with_addresses = RequestLog(client_addresses=ClientAddresses((ip_network("127.0.0.0/8"),)))
    for request_log in (without_addresses, with_addresses):
        get = TestClient(harness.app(request_log=request_log)).simulate_get
        key = {"Authorization": f"Bearer {api.key}"}
        for path, headers in (
            (FIELDS, {**key, "X-Forwarded-For": "203.0.113.9"}),
            (FIELDS, {"Forwarded": "for=203.0.113.9"}),
            ("/secret", {"X-Forwarded-For": f"{api.key}, unknown"}),
        ):
            get(path, headers=headers, remote_addr="127.0.0.1")

    lines = requests(log)
    assert [line.get("client_address") for line in lines] == [
        *([None] * 3),
        *("203.0.113.9", "203.0.113.9", "127.0.0.1"),
    ]
    assert ["client_address" in line for line in lines] == [False] * 3 + [True] * 3
    assert (api.key or "")[8:-8] not in str(lines)


def test_successful_probes_are_logged_at_debug_and_failed_ones_at_info(harness, log):
    def down() -> None:
        raise StorageUnavailable("down")

    client = harness.client(check=down)
    client.send("GET", "/healthz")
    client.send("GET", "/readyz")

    assert [(line["level"], line["route"]) for line in requests(log)] == [
        ("debug", "/healthz"),
        ("info", "/readyz"),
    ]


def test_a_storage_failure_is_logged_with_the_request_id(harness, api, log):
    class Down:
        def __getattr__(self, name: str):
            raise StorageUnavailable("the disk is full")

    harness.client(fields=harness.service_with(Down())).with_key(api.key).list(
        x_request_id="find-me"
    )

    warning, line = log()
    assert (warning["level"], warning["event"]) == ("warning", "request find-me: the disk is full")
    assert (line["request_id"], line["status"]) == ("find-me", 503)


class RaisesWithASecret:
    """A repository with a defect in a function whose variables contain a secret."""

    def __getattr__(self, name: str):
        secret = "a value".replace("value", "secret")
        raise ZeroDivisionError(f"of {len(secret)}")


@pytest.mark.parametrize("formatter", [json_formatter(), text_formatter(colors=False)])
def test_an_unexpected_error_is_logged_with_its_traceback_and_without_values(
    harness, api, caplog, formatter
):
    client = harness.client(fields=harness.service_with(RaisesWithASecret())).with_key(api.key)
    client.list(x_request_id="find-me")

    (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    line = formatter.format(record)
    assert "find-me" in line
    assert "Traceback (most recent call last)" in line
    assert "ZeroDivisionError: of 8" in line
    assert "a secret" not in line


def test_a_traceback_is_on_the_line_of_its_error(harness, api, log):
    harness.client(fields=harness.service_with(RaisesWithASecret())).with_key(api.key).list()

    error, line = log()
    assert error["exception"].startswith("Traceback")
    assert line["request_id"] in error["event"]


def test_a_key_is_not_logged_wherever_a_client_puts_it(api, log):
    key = api.key or ""
    api.list(x_request_id=key)
    api.list(authorization=key)
    api.list(authorization=f"Bearer {key}0")
    api.list(cookie=key, user_agent=key, referer=key)
    api.send("GET", f"{FIELDS}/{key}?key={key}")
    api.send("GET", f"/{key}")
    api.send(key.upper(), FIELDS)
    api.post({"name": key, "data_type": key})

    assert [line["event"] for line in log()] == ["request"] * 8
    assert key[8:-8] not in str(log())
    assert log()[0]["request_id"] == "[API key]"
