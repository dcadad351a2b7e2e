"""Cases that urllib3 and http.client alone handle wrongly."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import repeat
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import HTTPError, ProtocolError, SSLError
from urllib3.exceptions import TimeoutError as HttpTimeout
from urllib3.util import Timeout, parse_url

from recipient_fields.adapters import network

from ..support.http_server import Handler, ReceivedRequest, StubResponse, stub_server

TIMEOUT = 10
CERTIFICATE = Path(__file__).with_name("esp") / "self_signed.pem"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SLOW_RESPONSES = {
    "the status line": b"",
    "a header": HEAD + b"X-Slow: ",
    "the body": HEAD + b"Content-Length: 1000\r\n\r\n",
    "a body of no length": HEAD + b"Connection: close\r\n\r\n",
    "the size of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "a trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Slow: ",
    "a failure": b"HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n",
}
"""The beginnings of responses that a server continues slowly."""


def response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def pool_of_server(*responses: bytes) -> AbstractContextManager[HTTPConnectionPool]:
    """Run a server that sends these responses, one per request. Yield a pool of connections."""
    remaining = iter(responses)
    return pool_of_peers(lambda _: next(remaining))


@contextmanager
def pool_of_peers(reply: Callable[[int], bytes]) -> Iterator[HTTPConnectionPool]:
    """Run a server that responds to each request by the port of its client. Yield a pool."""

    def respond(peer: socket.socket, port: int) -> None:
        with peer:
            while peer.recv(65_536):
                peer.sendall(reply(port))

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    peer, address = listener.accept()
                except OSError:
                    return
                Thread(target=respond, args=(peer, address[1]), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        url = parse_url(f"http://127.0.0.1:{listener.getsockname()[1]}")
        pool = network.connection_pool(url, size=4)
        yield pool
        pool.close()
        listener.shutdown(socket.SHUT_RDWR)


def get(pool: HTTPConnectionPool, seconds: float = 5.0) -> bytes:
    with pool.urlopen(
        "GET",
        "/",
        timeout=Timeout(total=seconds),
        retries=False,
        preload_content=False,
        headers={"Host": "h"},
    ) as received:
        return received.read()


def test_a_certificate_of_another_host_is_rejected() -> None:
    trusted = ssl.create_default_context(cafile=CERTIFICATE)
    with stub_server(lambda _: StubResponse(200, b"one"), certificate=CERTIFICATE) as server:
        same, other = (
            network.connection_pool(parse_url(url), size=1, tls=trusted)
            for url in (server.url, server.url.replace("127.0.0.1", "127.1"))
        )
        assert get(same) == b"one"
        with pytest.raises(SSLError, match="Hostname mismatch"):
            get(other)
        same.close()
        other.close()
    assert len(server.requests) == 1


@contextmanager
def pool_of_stub(handler: Handler, *, secure: bool = False) -> Iterator[HTTPConnectionPool]:
    """Run a server with this handler, and yield a pool of connections."""
    certificate = CERTIFICATE if secure else None
    tls = ssl.create_default_context(cafile=CERTIFICATE) if secure else None
    with (
        stub_server(handler, certificate=certificate) as server,
        closing(network.connection_pool(parse_url(server.url), size=1, tls=tls)) as pool,
    ):
        yield pool


def slow_response(beginning: bytes) -> Iterator[bytes]:
    """Yield `beginning`, and then a byte each 20 ms for ten seconds: then the response ends."""
    yield beginning
    for _ in repeat(None, 500):
        sleep(0.02)
        yield b"0"


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "secure"])
@pytest.mark.parametrize("beginning", SLOW_RESPONSES.values(), ids=SLOW_RESPONSES)
def test_a_slow_response_times_out_at_the_deadline(beginning, secure):
    with (
        pool_of_stub(lambda _: slow_response(beginning), secure=secure) as pool,
        pytest.raises(HttpTimeout),
    ):
        get(pool, seconds=0.4)


def test_a_response_that_stops_late_does_not_extend_the_deadline() -> None:
    """If each read had a timeout of one second, the response would be read completely."""

    def late(_: ReceivedRequest) -> Iterator[bytes]:
        sleep(0.9)
        yield HEAD
        sleep(0.8)
        yield b"Content-Length: 0\r\n\r\n"

    with pool_of_stub(late) as pool, pytest.raises(HttpTimeout):
        get(pool, seconds=1.0)


def test_a_slow_response_within_the_deadline_is_read() -> None:
    def pieces(_: ReceivedRequest) -> Iterator[bytes]:
        for byte in response(b"one"):
            sleep(0.005)
            yield bytes([byte])

    with pool_of_stub(pieces) as pool:
        assert get(pool, seconds=TIMEOUT) == b"one"


def test_a_hanging_tls_handshake_times_out_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = parse_url(f"https://127.0.0.1:{silent.getsockname()[1]}")
        with closing(network.connection_pool(url, size=1)) as pool, pytest.raises(HttpTimeout):
            get(pool, seconds=0.4)


def test_informational_responses_are_skipped() -> None:
    with pool_of_server(EARLY + EARLY + response(b"one"), response(b"two")) as pool:
        assert [get(pool), get(pool)] == [b"one", b"two"]


def test_a_switch_of_protocols_is_an_error() -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
    with pool_of_server(switch, response(b"two")) as pool:
        with pytest.raises(ProtocolError):
            get(pool)
        assert get(pool) == b"two"


def test_a_forked_process_does_not_share_connections() -> None:
    """Over a shared connection, a process could receive the response to the other process."""
    with pool_of_peers(lambda port: response(str(port).encode())) as pool:
        parent_port = get(pool)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, get(pool))
            os._exit(0)
        os.waitpid(child, 0)
        child_port = os.read(reading, 100)
        os.close(reading)
        os.close(writing)
        assert get(pool) == parent_port
        assert child_port not in (parent_port, b"")


def test_an_address_of_an_unsupported_family_is_skipped(monkeypatch):
    with pool_of_server(response(b"one")) as pool:
        real = socket.getaddrinfo

        def both(*values: Any, **named: Any) -> list[Any]:
            unsupported = (socket.AF_PPPOX, socket.SOCK_STREAM, 99, "", ("::1", 1))
            return [unsupported, *real(*values, **named)]

        monkeypatch.setattr(socket, "getaddrinfo", both)
        assert get(pool) == b"one"


def test_the_number_of_hanging_lookups_is_limited(monkeypatch):
    released, started = Event(), []

    def hang(*_values: Any, **_named: Any) -> list[Any]:
        started.append(1)
        released.wait(TIMEOUT)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    pool = network.connection_pool(parse_url("http://hangs.example"), size=1)
    try:
        for _ in range(network._MAX_LOOKUPS + 3):
            with pytest.raises(HTTPError):
                get(pool, seconds=0.02)
        assert len(started) == network._MAX_LOOKUPS
    finally:
        released.set()
