"""The promises that hold under Granian, as *Other WSGI servers* starts it, and others."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from recipient_fields.application import Core
from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE

from ..support.fields import add_field
from ..support.network import http_status
from ..support.service import FIELDS, Client, Response, require_statuses
from ..support.waiting import TIMEOUT, eventually
from .test_other_hosts import hosted

pytestmark = pytest.mark.slow

THREADS = 4
"""The number in the command."""
CREATE = b'{"recipient_field": {"name": "Shop", "data_type": "text"}}'


@pytest.fixture(scope="module")
def port(storage: str) -> Iterator[int]:
    """Run the command, for all tests of this module, and return its port."""
    with hosted("granian", storage) as port:
        eventually(lambda: http_status(port, "/readyz") == 200)
        yield port


@pytest.fixture
def client(port: int, key: str) -> Client:
    return Client(f"http://127.0.0.1:{port}", key)


def exchange(port: int, request: bytes) -> tuple[int | None, bytes]:
    """Send these bytes; return the status of the response, if any, and what follows it."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as connection:
        connection.sendall(request)
        received = b""
        with suppress(ConnectionResetError):
            while chunk := connection.recv(65_536):
                received += chunk
    head, _, rest = received.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.1 (\d{3})", head)
    return (int(status[1]) if status else None), rest


def send_chunked(client: Client, body: bytes) -> tuple[int, bytes]:
    """Create a field with a chunked body, and return the status and the body of the response."""
    url = urlsplit(client.url)
    with closing(HTTPConnection(url.hostname or "", url.port, timeout=TIMEOUT)) as connection:
        headers = {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json"}
        connection.request("POST", FIELDS, iter([body]), headers, encode_chunked=True)
        with connection.getresponse() as response:
            return response.status, response.read()


def add_large_organization(core: Core) -> str:
    """Create an organization with a list of 4 MB, and return its API key."""
    organization = core.administration.create_organization("Large").id
    values = tuple(f"{n:0>250}" for n in range(250))
    for number in range(64):
        add_field(core, organization, f"F {number}", allowed_values=values)
    return core.administration.issue_key(organization, name="T").plain.reveal()


@pytest.fixture(scope="module")
def large_keys(core: Core) -> list[str]:
    """Create three organizations with large lists, and return their keys."""
    return [add_large_organization(core) for _ in range(3)]


def accepted(client: Client) -> Response | None:
    """Return the list of this client, or None if no slot is free."""
    response = client("GET", FIELDS)
    return response if response.status == 200 else None


@contextmanager
def unread(port: int, key: str) -> Iterator[None]:
    """Receive only the beginning of the list during the block."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(TIMEOUT)
        client.connect(("127.0.0.1", port))
        head = f"GET {FIELDS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(12) == b"HTTP/1.1 200"
        yield


class TestRequests:
    def test_every_method_has_the_same_responses(self, client: Client) -> None:
        assert client.create(name="Shop").status == 201
        assert client.change("shop", name="Store").document["recipient_field"]["name"] == "Store"
        assert client("GET", f"{FIELDS}/shop").status == 200
        assert client("DELETE", f"{FIELDS}/shop").status == 204
        assert client("GET", f"{FIELDS}/shop").code == "not_found"
        assert client("HEAD", FIELDS).body == b""

    def test_a_chunked_body_is_read(self, client: Client) -> None:
        assert send_chunked(client, CREATE)[0] == 201

    def test_a_chunked_body_over_the_limit_is_rejected(self, client: Client) -> None:
        status, body = send_chunked(client, b" " * (MAX_BODY_SIZE + 1))

        assert status == 413
        assert b'"code":"payload_too_large"' in body

    def test_a_body_over_the_limit_is_rejected_before_it_is_read(self, port: int, key: str) -> None:
        head = (
            f"POST {FIELDS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {MAX_BODY_SIZE + 1}\r\n\r\n"
        )

        status, rest = exchange(port, head.encode())

        assert status == 413
        assert b'"code":"payload_too_large"' in rest


class TestRequestParsing:
    """Granian rejects these requests without the error object and without a log line."""

    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (b"\0\1\r\n\r\n", 400),
            (b"GET /healthz HTTP/3.1\r\nHost: a\r\n\r\n", 400),
            (b"GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", 400),
            (b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
            (
                b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                400,
            ),
            (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
            (b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 431),
        ],
    )
    def test_malformed_requests_are_rejected(self, port: int, request_: bytes, status: int) -> None:
        assert exchange(port, request_) == (status, b"")

    def test_a_smuggled_request_is_not_executed(self, port: int) -> None:
        smuggled = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        request = (
            b"POST /api/v1/recipient_fields HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled
        )

        status, rest = exchange(port, request)

        assert status == 401
        assert b"HTTP/1.1" not in rest

    @pytest.mark.parametrize(
        "head",
        [b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n"],
        ids=["no Host", "two Hosts"],
    )
    def test_the_number_of_host_headers_is_not_checked(self, port: int, head: bytes) -> None:
        assert exchange(port, head + b"\r\n")[0] == 200

    def test_a_long_request_line_is_not_checked(self, port: int) -> None:
        line = b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"

        assert exchange(port, line)[0] == 404


class TestSlowClients:
    def test_headers_have_a_deadline_of_ten_seconds(self, port: int) -> None:
        started = time.monotonic()

        assert exchange(port, b"GET /healthz HTTP/1.1\r\nHost: a\r\n") == (None, b"")
        assert 8 < time.monotonic() - started < 20

    def test_a_slow_body_occupies_a_thread(self, port: int, key: str) -> None:
        head = (
            f"POST {FIELDS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(CREATE)}\r\n\r\n"
        )
        with ExitStack() as stack:
            slow = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                for _ in range(THREADS)
            ]
            for connection in slow:
                connection.sendall(head.encode())
            time.sleep(0.5)
            other = stack.enter_context(socket.create_connection(("127.0.0.1", port), 1))
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            with pytest.raises(TimeoutError):
                other.recv(1)
            time.sleep(1.5)  # Longer than the 2 s after which `serve` rejects a request.
            for connection in slow:
                connection.close()
            other.settimeout(TIMEOUT)
            assert other.recv(15).startswith(b"HTTP/1.1 200")


class TestLargeResponses:
    """A client that does not read one occupies a slot and a thread until it disconnects.

    A slot becomes free shortly after the client has received the response.
    """

    def test_clients_that_read_receive_all_of_them(self, port: int, large_keys: list[str]) -> None:
        client = Client(f"http://127.0.0.1:{port}", large_keys[0])
        for _ in range(20):
            response = eventually(lambda: accepted(client))
            assert len(json.loads(response.body)["recipient_fields"]) == 64

    def test_one_organization_occupies_one_slot_until_its_client_disconnects(
        self, port: int, large_keys: list[str], client: Client
    ) -> None:
        large, other, _ = (Client(f"http://127.0.0.1:{port}", key) for key in large_keys)
        with unread(port, large_keys[0]):
            for _ in range(5):
                assert large("GET", FIELDS).code == "overloaded"
                eventually(lambda: accepted(other))
            assert large("GET", f"{FIELDS}/f_1").status == 200
        eventually(lambda: accepted(large))

    def test_two_organizations_can_occupy_all_slots_but_not_all_threads(
        self, port: int, large_keys: list[str], client: Client
    ) -> None:
        third = Client(f"http://127.0.0.1:{port}", large_keys[2])
        with unread(port, large_keys[0]), unread(port, large_keys[1]):
            assert third("GET", FIELDS).code == "overloaded"
            assert client("GET", FIELDS).status == 200
        eventually(lambda: accepted(third))


def test_sigterm_completes_the_requests_in_flight(storage: str, key: str, file: Path) -> None:
    with (
        ThreadPoolExecutor(THREADS + 1) as pool,
        closing(sqlite3.connect(file, isolation_level=None)) as connection,
        ExitStack() as host,
    ):
        port = host.enter_context(hosted("granian", storage))
        eventually(lambda: http_status(port, "/readyz") == 200)
        writer = Client(f"http://127.0.0.1:{port}", key)
        connection.execute("BEGIN IMMEDIATE")
        writes = [pool.submit(writer.create, name=f"F {n}") for n in range(THREADS)]
        time.sleep(0.5)
        stopped = pool.submit(host.close)
        time.sleep(0.5)
        connection.execute("ROLLBACK")
        stopped.result()
        # On a slow machine, the storage's timeout of 2 s for the lock can pass first.
        require_statuses((write.result() for write in writes), 201, 503)
