"""The log of a running service."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId, PlainKey

from ..support.service import FIELDS, Client, Service, require_statuses
from ..support.waiting import eventually
from .conftest import Start
from .test_lifetime import terminal_output

pytestmark = pytest.mark.slow


def test_a_request_is_logged_as_json_without_a_terminal(service: Service, key: str) -> None:
    service.client(key)("GET", FIELDS, **{"X-Request-Id": "find-me"})

    service.wait_for(r'"request_id": "find-me"')
    (line,) = [line for line in service.requests if line["request_id"] == "find-me"]
    assert (line["route"], line["method"], line["status"]) == (FIELDS, "GET", 200)


def test_a_request_that_the_server_rejects_is_logged(service: Service) -> None:
    response = service.anonymous.send_bytes(b"GET / HTTP/1.1\r\n\r\n")

    service.wait_for(response.headers["X-Request-Id"])
    (line,) = [x for x in service.requests if x["request_id"] == response.headers["X-Request-Id"]]
    assert (line["route"], line["method"], line["status"]) == ("unrouted", "GET", 400)


def test_a_request_id_equal_to_the_key_is_redacted_in_the_log_of_a_malformed_request(
    tmp_path: Path,
) -> None:
    service, token = Service(f"sqlite:{tmp_path / 'fields.db'}"), b"token-of-a-host"
    malformed = [
        b"Authorization: Bearer %b\r\nX : a\r\n\r\n",
        b"Authorization: x\r\nAuthorization: Bearer %b\r\nX : a\r\n\r\n",
        b"X : a\r\nAuthorization: Bearer %b\r\n\r\n",
    ]
    for rest in malformed:
        sent = b"GET / HTTP/1.1\r\nX-Request-Id: %b\r\n" % token + rest % token
        assert service.anonymous.send_bytes(sent).headers["X-Request-Id"] == token.decode()

    assert service.stop() == 0
    assert [line["request_id"] for line in service.requests] == ["[API key]"] * len(malformed)


def test_only_the_log_contains_the_reason_of_a_401(
    service: Service, core: Core, acme: OrganizationId, key: str
) -> None:
    expired = core.administration.issue_key(acme, name="E", lifetime=timedelta(seconds=1))
    revoked = core.administration.issue_key(acme, name="R")
    core.administration.revoke_key(acme, revoked.api_key.id)
    keys = {
        "malformed": key[:-1],
        "unknown": PlainKey.generate().reveal(),
        "expired": expired.plain.reveal(),
        "revoked": revoked.plain.reveal(),
    }
    time.sleep(1)
    sent = {"X-Request-Id": "rejected"}
    responses = [service.client(key)("GET", f"{FIELDS}/city", **sent) for key in keys.values()]

    require_statuses(responses, 401)
    malformed, unknown, *ended = responses
    assert malformed.body == unknown.body
    fixed = [[p for p in a.headers.items() if p[0] != "Date"] for a in (malformed, unknown)]
    assert fixed[0] == fixed[1]
    # Those who present a complete key may know when it ended, but not its id.
    assert [b"The API key " in response.body for response in ended] == [True, True]
    eventually(lambda: service.stderr.count('"request_id": "rejected"') == len(keys))
    lines = [line for line in service.requests if line["request_id"] == "rejected"]
    assert [(line["reason"], line["key_id"]) for line in lines] == [
        *(("malformed", None), ("unknown", None)),
        *(("expired", expired.api_key.id), ("revoked", revoked.api_key.id)),
    ]
    assert {line["route"] for line in lines} == {f"{FIELDS}/{{id_or_key}}"}
    assert [key for key in keys.values() if key[12:-4] in service.stderr] == []


TRUSTING = ("--log-client-address", "--trusted-proxies", "127.0.0.0/8, 10.0.0.0/8")


def test_the_client_address_is_the_one_behind_the_trusted_proxies(start: Start, key: str) -> None:
    service = start(*TRUSTING)
    client = service.client(key)
    client("GET", FIELDS, **{"X-Forwarded-For": "192.0.2.66, 203.0.113.9, 10.0.0.1"})
    client("GET", FIELDS, Forwarded='for="[2001:db8::1]:4711"')
    client("GET", "/nothing", **{"X-Forwarded-For": key})
    service.anonymous("GET", FIELDS, **{"X-Forwarded-For": "203.0.113.9"})
    service.stop()

    assert [(line["status"], line["client_address"]) for line in service.requests] == [
        *((200, "203.0.113.9"), (200, "2001:db8::1"), (404, "127.0.0.1"), (401, "203.0.113.9"))
    ]


def test_a_rejected_request_has_the_client_address_if_its_headers_were_read(start: Start) -> None:
    service = start(*TRUSTING)
    host = "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.9\r\n"
    service.anonymous.send_bytes(f"{host}Transfer-Encoding: gzip\r\n\r\n".encode())
    service.anonymous.send_bytes(f"{host}X : a\r\n\r\n".encode())
    service.stop()

    assert [(line["status"], line["client_address"]) for line in service.requests] == [
        *((501, "203.0.113.9"), (400, "127.0.0.1"))
    ]


def test_without_trusted_proxies_the_client_address_is_that_of_the_peer(
    start: Start, key: str
) -> None:
    service = start(RECIPIENT_FIELDS_LOG_CLIENT_ADDRESS="true")
    service.client(key)("GET", FIELDS, **{"X-Forwarded-For": "203.0.113.9"})
    service.stop()

    assert [line["client_address"] for line in service.requests] == ["127.0.0.1"]


def test_client_addresses_are_not_logged_by_default(start: Start, key: str) -> None:
    service = start("--trusted-proxies", "127.0.0.1")
    service.client(key)("GET", FIELDS, **{"X-Forwarded-For": "203.0.113.9"})
    service.stop()

    assert "client_address" not in service.stderr
    assert "203.0.113.9" not in service.stderr


def test_the_admin_address_logs_client_addresses(start: Start) -> None:
    service = start(*TRUSTING, "--admin-listen", "127.0.0.1:0")
    admin = Client("http://" + service.wait_for(r'"admin_address": "([^"]+)"')[1])
    admin("GET", "/nothing", **{"X-Forwarded-For": "203.0.113.9"})
    admin.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
    service.stop()

    assert [(line["status"], line["client_address"]) for line in service.requests] == [
        *((404, "203.0.113.9"), (400, "127.0.0.1"))
    ]


@pytest.mark.parametrize("level", ["warning", "error"])
def test_requests_are_not_logged_at_higher_levels(start: Start, key: str, level: str) -> None:
    service = start("--log-level", level)
    service.client(key)("GET", FIELDS)

    assert service.stop() == 0
    assert service.requests == []


def test_probes_are_logged_only_at_level_debug(start: Start) -> None:
    usual, debugged = start(), start(RECIPIENT_FIELDS_LOG_LEVEL="debug")
    for service in (usual, debugged):
        service.anonymous("GET", "/healthz")
        service.stop()

    assert usual.requests == []
    assert [line["route"] for line in debugged.requests] == ["/healthz"]


def test_the_log_can_be_readable_text(start: Start, key: str) -> None:
    service = start("--log-format", "text")
    service.client(key)("GET", FIELDS)

    service.wait_for(r"\[info +\] request .* route=/api/v1/recipient_fields .*status=200\n")
    assert service.log == []


@pytest.mark.parametrize(("style", "readable"), [("auto", True), ("json", False)])
def test_the_log_at_a_terminal_is_readable_text_by_default(style: str, *, readable: bool) -> None:
    output = terminal_output("--log-format", style)

    assert ('{"timestamp"' in output) is not readable
    assert ("\x1b[" in output) is readable
