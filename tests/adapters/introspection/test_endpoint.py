"""Introspection requests, and failures of the issuer."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import chain, repeat
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipient_fields.adapters.introspection import (
    IntrospectionKeyValidator,
    Issuer,
    basic,
    bearer,
    circuit_breaker,
)
from recipient_fields.domain import (
    Credential,
    KeyValidationUnavailable,
    PlainKey,
    Rejection,
    RejectionReason,
)

from ...support.http_server import (
    HANG,
    RESET,
    Reply,
    StubResponse,
    StubServer,
    always,
    in_turn,
    stub_server,
)
from .issuers import CLAIMS, SECRET, TOKEN, Clock, validator_at

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GOOD = StubResponse.json({"active": True, **CLAIMS})

MakeValidator = Callable[..., IntrospectionKeyValidator]


def unavailable(validator: IntrospectionKeyValidator, token: str = TOKEN) -> str:
    """Return the message of KeyValidationUnavailable. The traceback contains no secrets."""
    with pytest.raises(KeyValidationUnavailable) as error:
        validator.validate(token)
    shown = "".join(format_exception(error.value))
    assert token not in shown
    assert SECRET not in shown
    assert error.value.__cause__ is error.value.__context__ is None
    return str(error.value)


class TestIntrospectionRequests:
    def test_a_request_is_a_form_with_the_token(self, validator, issuer):
        assert isinstance(validator.validate(TOKEN), Credential)

        (request,) = issuer.requests  # The stub has checked client, form and media type.
        assert request.target == "/introspect"
        assert request.headers["accept"] == "application/json"
        assert TOKEN not in str(request.headers)

    def test_the_credentials_of_the_service_can_be_a_bearer_token(self, issuer):
        authorization = bearer("mF_9.B5f-4.1JqM")
        issuer.handler = lambda _: GOOD
        endpoint = Issuer(url=issuer.url, authorization=authorization)
        with closing(IntrospectionKeyValidator(endpoint)) as validator:
            assert isinstance(validator.validate(TOKEN), Credential)

        assert issuer.requests[0].headers["authorization"] == "Bearer mF_9.B5f-4.1JqM"
        assert issuer.requests[0].target == "/"
        assert "mF_9" not in repr(endpoint)

    def test_each_validation_sends_a_request_over_the_same_connection(self, validator, issuer):
        connections = set()
        for _ in range(5):
            assert isinstance(validator.validate(TOKEN), Credential)
            connections.add(issuer.connections)

        assert len(issuer.requests) == 5
        assert connections == {1}

    def test_an_api_key_of_the_service_is_not_sent(self, validator, issuer):
        outcome = validator.validate(PlainKey.generate().reveal())
        assert outcome == Rejection(RejectionReason.UNKNOWN)
        assert issuer.requests == []


def test_basic_credentials_are_encoded_as_in_the_rfc() -> None:
    assert basic("s6BhdRkqt3", "7Fjfp0ZBr1KtDRbnfVdmIw") == (
        "Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3"
    )


def test_an_inactive_token_is_rejected(validator, tokens):
    assert validator.validate("another-token") == Rejection(RejectionReason.UNKNOWN)
    assert tokens.introspected == ["another-token"]


def test_a_revoked_token_is_rejected_by_the_next_validation(validator, tokens):
    assert isinstance(validator.validate(TOKEN), Credential)

    del tokens.active[TOKEN]

    assert validator.validate(TOKEN) == Rejection(RejectionReason.UNKNOWN)


def test_rejected_credentials_of_the_service_raise_an_error(make_validator, tokens):
    message = unavailable(make_validator(secret="wrong"))

    assert message == "The token issuer does not accept this service's own credentials (401)."
    assert tokens.introspected == []


NO_RFC, TOO_LARGE = "not match RFC 7662", "more than 65,536 bytes"
HTML = StubResponse(200, b"<html>Sign in</html>", {"Content-Type": "text/html"})
INVALID_RESPONSES: dict[str, tuple[Reply, str]] = {
    "500": (StubResponse(500, b'{"active": true}'), "failed (500)"),
    "400": (StubResponse(400, b'{"active": true}'), "sent the status 400"),
    "403": (StubResponse(403), "does not let this service's own credentials introspect (403)"),
    "404": (StubResponse(404), "has nothing at this URL (404)"),
    "201": (StubResponse(201, GOOD.body), "sent the status 201"),
    "HTML": (HTML, NO_RFC),
    "an empty body": (StubResponse(), NO_RFC),
    "not an object": (StubResponse.json([True]), NO_RFC),
    "no active": (StubResponse.json(CLAIMS), NO_RFC),
    "active as text": (StubResponse.json({**CLAIMS, "active": "true"}), NO_RFC),
    "active as number": (StubResponse.json({**CLAIMS, "active": 1}), NO_RFC),
    "active and NaN": (StubResponse(200, b'{"active": true, "x": NaN}'), NO_RFC),
    "nested too deep": (StubResponse(200, b"[" * 60_000), NO_RFC),
    "another encoding": (StubResponse(200, '{"active": true}'.encode("utf-16")), NO_RFC),
    "a huge body": (StubResponse.json({"active": True, "x": "a" * 70_000}), TOO_LARGE),
    "an endless body": (chain([HEAD + b"\r\n"], repeat(b" " * 65_536, 10_000)), TOO_LARGE),
    "a redirect": (StubResponse(307, headers={"Location": "/elsewhere"}), "redirects to another"),
    "compressed": (StubResponse(200, b"no", {"Content-Encoding": "gzip"}), "can't be decoded"),
    "a reset": (RESET, "closed the connection"),
    "half a body": (StubResponse(200, GOOD.body[:20], content_length=500), "closed the connection"),
}
"""The other failures of the network, which have the same message for every caller, are in
`test_network`."""


@pytest.mark.parametrize(("reply", "message"), INVALID_RESPONSES.values(), ids=INVALID_RESPONSES)
def test_an_invalid_response_raises_key_validation_unavailable(validator, issuer, reply, message):
    issuer.handler = always(reply)

    assert message in unavailable(validator)
    assert len(issuer.requests) <= 2
    assert {request.path for request in issuer.requests} == {"/introspect"}


def test_an_invalid_host_raises_key_validation_unavailable(monkeypatch):
    def invalid(*_: object, **__: object) -> None:
        raise UnicodeError("label empty or too long")

    monkeypatch.setattr(socket, "getaddrinfo", invalid)

    with closing(validator_at("https://a..b.invalid")) as validator:
        assert unavailable(validator).endswith("can't be reached: its host name can't be resolved.")


@pytest.fixture
def look_up_first(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that lets each host have another address before its own, at this port."""
    look_up = socket.getaddrinfo

    def add(first: int) -> None:
        def look_up_both(host: str, port: int, **kind: Any) -> list[Any]:
            return [*look_up(host, first, **kind), *look_up(host, port, **kind)]

        monkeypatch.setattr(socket, "getaddrinfo", look_up_both)

    return add


def test_the_next_address_is_tried_if_one_refuses_connections(
    make_validator, free_port, look_up_first
):
    look_up_first(free_port)

    assert isinstance(make_validator().validate(TOKEN), Credential)


def test_the_next_address_is_tried_in_time_if_one_does_not_respond(make_validator, look_up_first):
    with ExitStack() as sockets:
        unresponsive = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # Once the queue is full, connection attempts hang.
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(unresponsive.getsockname())
        look_up_first(unresponsive.getsockname()[1])
        started = time.monotonic()

        assert isinstance(make_validator(timeout=2).validate(TOKEN), Credential)
        assert time.monotonic() - started > 0.9  # Each address has half of the time.


def test_a_certificate_in_ssl_cert_file_is_trusted(handler, monkeypatch):
    certificate = Path(__file__).parents[1] / "esp" / "self_signed.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with (
        stub_server(handler, certificate=certificate) as server,
        closing(validator_at(server.url)) as validator,
    ):
        assert isinstance(validator.validate(TOKEN), Credential)
        assert isinstance(validator.validate(TOKEN), Credential)
        assert server.connections == 1


def test_a_connection_that_the_issuer_has_closed_is_replaced(validator, issuer, tokens):
    assert isinstance(validator.validate(TOKEN), Credential)
    issuer.handler = in_turn([RESET], tokens)

    assert isinstance(validator.validate(TOKEN), Credential)


def test_an_unread_response_does_not_affect_the_next_one(validator, issuer, tokens):
    leftover = b'{"active": true, "organization_id": 666, "scope": "recipient_fields:write"}'
    issuer.handler = in_turn(
        [StubResponse(500, leftover), StubResponse(200, b" " * 70_000 + leftover)], tokens
    )

    for _ in range(2):
        unavailable(validator)

    assert validator.validate("another-token") == Rejection(RejectionReason.UNKNOWN)


class TestCircuitBreaker:
    """After three consecutive timeouts, one attempt per second is allowed."""

    @pytest.fixture
    def validator(self, make_validator: MakeValidator) -> IntrospectionKeyValidator:
        return make_validator(timeout=0.4)

    @pytest.fixture
    def now(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """Return the time of the circuit breaker in seconds, which only the tests change."""
        now = [1_000.0]
        monkeypatch.setattr(circuit_breaker, "monotonic", lambda: now[0])
        return now

    def open_circuit(self, validator: IntrospectionKeyValidator, issuer: StubServer) -> None:
        issuer.handler = lambda _: HANG
        for _ in range(3):
            assert "in time" in unavailable(validator)
        issuer.requests.clear()

    def test_no_requests_are_sent_during_the_pause(self, validator, issuer, now):
        self.open_circuit(validator, issuer)
        now[0] += 0.999

        for _ in range(50):
            assert "has not responded recently" in unavailable(validator)

        assert issuer.requests == []

    def test_one_request_at_a_time_is_sent_after_the_pause(self, validator, issuer, now):
        self.open_circuit(validator, issuer)
        now[0] += 1

        with ThreadPoolExecutor(8) as pool:
            messages = list(pool.map(lambda _: unavailable(validator), range(8)))

        assert len(issuer.requests) == 1
        assert sorted("recently" in message for message in messages) == [False] + [True] * 7

    def test_any_response_closes_the_circuit(self, validator, issuer, tokens, now):
        self.open_circuit(validator, issuer)
        issuer.handler = in_turn([StubResponse(500)], tokens)
        now[0] += 1

        assert "failed (500)" in unavailable(validator)
        assert all(isinstance(validator.validate(TOKEN), Credential) for _ in range(3))

    def test_a_malformed_token_is_rejected_while_the_circuit_is_open(self, validator, issuer):
        self.open_circuit(validator, issuer)

        assert validator.validate("no token") == Rejection(RejectionReason.MALFORMED)


def test_error_responses_do_not_open_the_circuit(validator, issuer):
    """Otherwise, a client could open it with tokens that cause errors at the issuer."""
    issuer.handler = lambda request: StubResponse(500) if b"invalid" in request.body else GOOD

    for _ in range(10):
        assert "failed (500)" in unavailable(validator, "invalid")

    assert isinstance(validator.validate(TOKEN), Credential)


def test_no_log_or_error_contains_a_token_or_a_secret(make_validator, issuer, caplog):
    caplog.set_level(logging.DEBUG)
    echo = TOKEN.encode()
    replies: list[Reply] = [
        GOOD,
        StubResponse.json({"active": True, "organization_id": TOKEN, "scope": TOKEN}),
        StubResponse.json({"active": True, **CLAIMS, "client_id": TOKEN}),
        StubResponse.json({"active": TOKEN}),
        StubResponse(200, echo),
        StubResponse(401, echo, {"WWW-Authenticate": TOKEN}),
        StubResponse(302, headers={"Location": f"/?{TOKEN}"}),
        StubResponse(500, echo),
        [echo + b"\r\n\r\n"],
        [HEAD + echo + b"\r\n\r\n"],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + echo + b"\r\n"],
        [HEAD + b"Content-Length: " + echo + b"\r\n\r\n"],
    ]
    shown = []
    for reply in replies:
        issuer.handler = always(reply)
        validator = make_validator()
        try:
            validator.validate(TOKEN)
        except KeyValidationUnavailable as error:
            shown.append("".join(format_exception(error)))
        shown.append(repr(validator))

    assert len(shown) > len(replies)
    output = caplog.text + "".join(shown)
    assert TOKEN not in output.replace("%3D", "=")
    assert SECRET not in output
    assert basic("fields & co", SECRET) not in output


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_response_is_read_or_raises_an_error(data):
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(GOOD.body) + GOOD.body
    at = data.draw(st.integers(0, len(whole) - 1), label="at")
    damage = data.draw(st.binary(max_size=3), label="damage")
    with (
        stub_server(lambda _: [whole[:at] + damage + whole[at + 1 :]]) as server,
        closing(validator_at(server.url, timeout=0.5)) as validator,
    ):
        message = ""
        try:
            validator.validate(TOKEN)
        except KeyValidationUnavailable as error:
            message = str(error)
    assert message.isprintable()


def test_the_deadline_does_not_depend_on_the_clock(make_validator):
    clock = Clock()
    clock.advance(10**9)

    assert isinstance(make_validator(clock=clock).validate(TOKEN), Credential)
