"""Each failure of the network has the same message for every caller, and the same retries."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import repeat
from pathlib import Path
from threading import Event
from time import sleep

import pytest
from attrs import frozen

from recipient_fields.adapters.client import RecipientFieldsClient, RetryPolicy
from recipient_fields.adapters.esp import Limits, MailchimpFieldSource
from recipient_fields.adapters.introspection import IntrospectionKeyValidator, Issuer, basic
from recipient_fields.domain import FieldKey, OrganizationId
from recipient_fields.domain.integrations import EspRefused, EspUnavailable

from ..support.http_server import RESET, Reply, StubResponse, StubServer, always, stub_server
from ..support.network import free_port

ENOUGH, SHORT = 10.0, 0.4
"""Seconds for a request: issuers have at most 3."""
CERTIFICATE = Path(__file__).parent / "esp" / "self_signed.pem"


@frozen
class Caller:
    """A caller of another service.

    `call` sends a request that can be repeated to a URL, within a number of seconds.
    """

    subject: str
    call: Callable[[str, float], object]
    attempts: int = 2


def read_a_field(url: str, seconds: float) -> object:
    policy = RetryPolicy(deadline=seconds, attempts=2, backoff=0.001)
    with RecipientFieldsClient(
        url, keys={OrganizationId(1): "rfk_1"}, retry_policy=policy
    ) as client:
        return client.get_field(OrganizationId(1), FieldKey("city"))


def list_fields(url: str, seconds: float) -> object:
    limits = Limits(read_timeout=seconds, run_timeout=20, attempts=2, backoff=0.001)
    source = MailchimpFieldSource(api_key="key-us1", list_id="1", url=url, limits=limits)
    return list(source.fields())


def introspect(url: str, seconds: float) -> object:
    timeout = min(seconds, 3)
    issuer = Issuer(url=f"{url}/introspect", authorization=basic("a", "b"), timeout=timeout)
    with closing(IntrospectionKeyValidator(issuer)) as validator:
        return validator.validate("token")


CALLERS = {
    "client": Caller("The service", read_a_field),
    "connector": Caller("Mailchimp", list_fields),
    "issuer": Caller("The token issuer", introspect, attempts=1),
}


@pytest.fixture(params=list(CALLERS.values()), ids=list(CALLERS))
def caller(request: pytest.FixtureRequest) -> Caller:
    each: Caller = request.param
    return each


def message(caller: Caller, url: str, seconds: float = ENOUGH) -> str:
    """Return the message of the error, which begins with the name of the server."""
    with pytest.raises(Exception) as error:  # noqa: PT011 (each caller has its own class)
        caller.call(url, seconds)
    assert error.value.__cause__ is None
    assert str(error.value).startswith(caller.subject)
    return str(error.value)


def slow_body() -> Iterator[bytes]:
    """Yield a response that ends after ten seconds."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    for _ in repeat(None, 500):
        sleep(0.02)
        yield b" "


def rate_limit(**headers: str) -> StubResponse:
    return StubResponse(429, b"", headers)


CLOSED = "closed the connection before the end of its response"
LIMITED = "limits the rate of requests (429)"
REPLIES: dict[str, tuple[Callable[[], Reply], str]] = {
    "reset": (lambda: RESET, CLOSED),
    "half a body": (lambda: StubResponse(200, b"{", content_length=100), CLOSED),
    "not HTTP": (lambda: [b"SSH-2.0\r\n"], CLOSED),
    "undecodable": (
        lambda: StubResponse(200, b"not gzip", {"Content-Encoding": "gzip"}),
        "sent a response that can't be decoded",
    ),
    "429 without a delay": (rate_limit, LIMITED),
    "429 with a delay": (lambda: rate_limit(**{"Retry-After": "0"}), LIMITED),
    "429 with a delay beyond the deadline": (lambda: rate_limit(**{"Retry-After": "30"}), LIMITED),
    "500": (lambda: StubResponse(500), "failed (500)"),
    "503": (lambda: StubResponse(503), "failed (503)"),
    "a redirect": (
        lambda: StubResponse(307, b"", {"Location": "/elsewhere"}),
        "redirects to another address (307), which is not followed",
    ),
}
NOT_RETRIED = {"429 with a delay beyond the deadline", "a redirect"}


@pytest.fixture
def server() -> Iterator[StubServer]:
    with stub_server(always(StubResponse())) as server:
        yield server


@pytest.mark.parametrize("name", REPLIES)
def test_a_response_that_fails(caller, server, name):
    reply, sentence = REPLIES[name]
    server.handler = lambda _: reply()

    assert sentence in message(caller, server.url)
    closes = sentence.startswith("closed")
    client_retries_500 = caller.subject != "The service" or name != "500"
    retried = name not in NOT_RETRIED and client_retries_500
    attempts = 2 if closes else caller.attempts
    assert len(server.requests) == (attempts if retried else 1)


def test_a_slow_body(caller, server):
    server.handler = lambda _: slow_body()

    assert "did not respond in time" in message(caller, server.url, SHORT)


def test_a_refused_connection(caller):
    said = message(caller, f"http://127.0.0.1:{free_port()}")
    assert "can't be reached: no connection can be opened" in said


def test_a_host_name_that_does_not_exist(caller, monkeypatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    said = message(caller, "https://other.example")
    assert "can't be reached: its host name can't be resolved" in said


def test_a_name_resolution_that_hangs(caller, monkeypatch):
    released = Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(10) and [])
    try:
        said = message(caller, "https://other.example", SHORT)
    finally:
        released.set()

    assert "can't be reached: the connection timed out" in said


def test_a_certificate_that_is_not_trusted(caller):
    with stub_server(always(StubResponse()), certificate=CERTIFICATE) as server:
        said = message(caller, server.url)
    assert "can't be reached: its TLS certificate or protocol is not accepted" in said
    assert server.requests == []


def test_a_connector_is_refused_by_what_a_retry_can_not_mend() -> None:
    with (
        stub_server(always(StubResponse()), certificate=CERTIFICATE) as server,
        pytest.raises(EspRefused),
    ):
        list_fields(server.url, ENOUGH)
    with pytest.raises(EspUnavailable):
        list_fields(f"http://127.0.0.1:{free_port()}", ENOUGH)
