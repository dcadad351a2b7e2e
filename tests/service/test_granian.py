"""`serve --server granian`: the promises that hold under Granian, and those that do not."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE

from ..support.command_line import Script
from ..support.service import FIELDS, Client, Response, Service
from ..support.waiting import TIMEOUT, eventually

pytestmark = pytest.mark.slow

GRANIAN = ("--server", "granian")
THREADS = 2
CREATE = b'{"recipient_field": {"name": "Shop", "data_type": "text"}}'


@pytest.fixture(scope="module")
def service(storage: str) -> Iterator[Service]:
    """Run a service that all tests of this module share."""
    service = Service(storage, *GRANIAN, "--threads", str(THREADS), "--log-client-address")
    try:
        yield service
    finally:
        assert service.stop() == 0


@pytest.fixture
def client(service: Service, key: str) -> Client:
    return service.client(key)


@pytest.fixture
def with_admin(start: Callable[..., Service]) -> tuple[Service, Client]:
    """Run a service for one test, and return it with a client of its admin address."""
    options = (*GRANIAN, "--admin-listen", "127.0.0.1:0", "--threads", str(THREADS))
    service = start(*options)
    address = service.wait_for(r'"admin_address": "([^"]+)"')[1]
    admin = Client(f"http://{address}")
    eventually(lambda: admin("GET", "/readyz").status == 200)
    return service, admin


@contextmanager
def blocked_writes(client: Client, file: Path, count: int) -> Iterator[list[Future[Response]]]:
    """Send `count` requests that wait for a lock on the file, until the block ends."""
    with ThreadPoolExecutor(count) as pool, closing(sqlite3.connect(file)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        yield [pool.submit(client.create, name=f"F {n}") for n in range(count)]
        connection.execute("ROLLBACK")


def exchange(
    service: Service, request: bytes, timeout: float = TIMEOUT
) -> tuple[int | None, bytes]:
    """Send these bytes; return the status of the response, if any, and what follows it."""
    url = urlsplit(service.url)
    with socket.create_connection((url.hostname, url.port), timeout=TIMEOUT) as connection:
        connection.sendall(request)
        received = b""
        with suppress(ConnectionResetError):
            while chunk := connection.recv(65_536):
                received += chunk
    head, _, rest = received.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.1 (\d{3})", head)
    return (int(status[1]) if status else None), rest


class TestRequests:
    def test_every_method_has_the_same_responses(self, client: Client) -> None:
        assert client.create(name="Shop").status == 201
        assert client.change("shop", name="Store").document["recipient_field"]["name"] == "Store"
        assert client("GET", f"{FIELDS}/shop").status == 200
        assert client("DELETE", f"{FIELDS}/shop").status == 204
        assert client("GET", f"{FIELDS}/shop").code == "not_found"
        assert client("HEAD", FIELDS).body == b""

    def test_a_missing_key_is_rejected(self, service: Service) -> None:
        rejected = service.anonymous("GET", FIELDS)

        assert (rejected.status, rejected.code) == (401, "unauthorized")

    def test_a_chunked_body_is_read(self, client: Client) -> None:
        url = urlsplit(client.url)
        with closing(HTTPConnection(url.hostname or "", url.port, timeout=TIMEOUT)) as connection:
            headers = {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json"}
            connection.request("POST", FIELDS, iter([CREATE]), headers, encode_chunked=True)
            with connection.getresponse() as response:
                assert response.status == 201

    def test_a_body_over_the_limit_is_rejected_before_it_is_read(
        self, service: Service, key: str
    ) -> None:
        head = (
            f"POST {FIELDS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {MAX_BODY_SIZE + 1}\r\n\r\n"
        )

        status, rest = exchange(service, head.encode())

        assert status == 413
        assert b'"code":"payload_too_large"' in rest

    def test_a_chunked_body_over_the_limit_is_rejected(self, client: Client) -> None:
        url = urlsplit(client.url)
        with closing(HTTPConnection(url.hostname or "", url.port, timeout=TIMEOUT)) as connection:
            headers = {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json"}
            body = iter([b" " * (MAX_BODY_SIZE + 1)])
            connection.request("POST", FIELDS, body, headers, encode_chunked=True)
            with connection.getresponse() as response:
                assert response.status == 413
                assert b'"code":"payload_too_large"' in response.read()

    def test_the_log_has_the_address_of_the_client(self, service: Service) -> None:
        service.anonymous("GET", FIELDS)

        eventually(lambda: service.requests)
        assert {line["client_address"] for line in service.requests} == {"127.0.0.1"}


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
    def test_malformed_requests_are_rejected(
        self, service: Service, request_: bytes, status: int
    ) -> None:
        assert exchange(service, request_) == (status, b"")

    def test_a_smuggled_request_is_not_executed(self, service: Service) -> None:
        smuggled = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        request = (
            b"POST /api/v1/recipient_fields HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled
        )

        status, rest = exchange(service, request)

        assert status == 401
        assert b"HTTP/1.1" not in rest

    @pytest.mark.parametrize(
        "head",
        [b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n"],
        ids=["no Host", "two Hosts"],
    )
    def test_the_number_of_host_headers_is_not_checked(self, service: Service, head: bytes) -> None:
        assert exchange(service, head + b"Connection: close\r\n\r\n")[0] == 200

    def test_a_long_request_line_is_not_checked(self, service: Service) -> None:
        line = b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

        assert exchange(service, line)[0] == 404


class TestSlowClients:
    def test_headers_have_a_deadline_of_ten_seconds(self, service: Service) -> None:
        started = time.monotonic()

        assert exchange(service, b"GET /healthz HTTP/1.1\r\nHost: a\r\n") == (None, b"")
        assert 8 < time.monotonic() - started < 20

    def test_a_slow_body_occupies_a_thread(self, service: Service, key: str) -> None:
        url = urlsplit(service.url)
        head = (
            f"POST {FIELDS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(CREATE)}\r\n\r\n"
        )
        with ExitStack() as stack:
            slow = [
                stack.enter_context(socket.create_connection((url.hostname, url.port)))
                for _ in range(THREADS)
            ]
            for connection in slow:
                connection.sendall(head.encode())
            time.sleep(0.5)
            other = stack.enter_context(socket.create_connection((url.hostname, url.port), 1))
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            with pytest.raises(TimeoutError):
                other.recv(1)
            time.sleep(1.5)  # Longer than the 2 s after which waitress rejects a request.
            for connection in slow:
                connection.close()
            other.settimeout(TIMEOUT)
            assert other.recv(15).startswith(b"HTTP/1.1 200")

    def test_clients_over_the_limit_wait(self, start: Callable[..., Service]) -> None:
        service = start(*GRANIAN, "--connections", "2")
        url = urlsplit(service.url)
        with ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(socket.create_connection((url.hostname, url.port)))
            time.sleep(0.2)
            other = stack.enter_context(socket.create_connection((url.hostname, url.port), 1))
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            with pytest.raises(TimeoutError):
                other.recv(1)
        assert service.anonymous("GET", "/healthz").status == 200


class TestShutdown:
    @pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
    def test_requests_in_flight_get_their_responses(
        self, with_admin: tuple[Service, Client], key: str, file: Path, by: signal.Signals
    ) -> None:
        service, admin = with_admin
        with blocked_writes(service.client(key), file, THREADS) as writes:
            eventually(lambda: b"_in_flight 2.0" in admin("GET", "/metrics").body)
            with ThreadPoolExecutor(1) as pool:
                status = pool.submit(service.stop, by)
                service.wait_for('"draining"')
                assert admin("GET", "/readyz").status == 503
        # On a slow machine, the storage's timeout of 2 s for the lock can pass first.
        assert {write.result().status for write in writes} <= {201, 503}
        assert status.result() == 0
        [draining] = [line for line in service.log if line["event"] == "draining"]
        assert draining["signal"] == by.name
        [ended] = [line for line in service.log if line["event"] == "ended"]
        assert ended["in_flight"] == THREADS

    def test_an_idle_connection_does_not_delay_the_shutdown(
        self, start: Callable[..., Service]
    ) -> None:
        service = start(*GRANIAN)
        url = urlsplit(service.url)
        with socket.create_connection((url.hostname, url.port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            with HTTPResponse(connection) as response:
                response.begin()
                response.read()

            assert service.stop() == 0
            assert connection.recv(1) == b""

    def test_a_second_signal_ends_the_service_at_once(
        self, start: Callable[..., Service], key: str, file: Path
    ) -> None:
        service = start(*GRANIAN)
        assert service.anonymous("GET", "/healthz").status == 200
        worker = psutil.Process(service.process_id).children()[0]
        with blocked_writes(service.client(key), file, 1) as writes:
            time.sleep(0.3)
            os.kill(service.process_id, signal.SIGTERM)
            service.wait_for('"draining"')
            assert service.stop() == -signal.SIGTERM
            worker.wait(TIMEOUT)
        assert writes[0].exception() is not None

    def test_the_worker_ends_if_the_supervisor_is_killed(
        self, start: Callable[..., Service]
    ) -> None:
        service = start(*GRANIAN)
        assert service.anonymous("GET", "/healthz").status == 200
        worker = psutil.Process(service.process_id).children()[0]

        os.kill(service.process_id, signal.SIGKILL)

        worker.wait(TIMEOUT)

    def test_the_supervisor_fails_if_the_worker_is_killed(
        self, start: Callable[..., Service]
    ) -> None:
        service = start(*GRANIAN)
        assert service.anonymous("GET", "/healthz").status == 200

        psutil.Process(service.process_id).children()[0].kill()

        assert service.wait() == 1


class TestStart:
    def test_an_address_in_use_is_reported_on_one_line(
        self, service: Service, script: Script
    ) -> None:
        address = urlsplit(service.url).netloc

        failure = script("serve", *GRANIAN, "--listen", address).failure()

        assert failure.startswith(f"Can't listen on {address}: Address already in use. ")

    def test_processes_share_an_address_with_reuse_port(
        self, start: Callable[..., Service]
    ) -> None:
        first = start(*GRANIAN, "--reuse-port")
        address = urlsplit(first.url).netloc

        second = start(*GRANIAN, "--reuse-port", RECIPIENT_FIELDS_LISTEN=address)

        assert second.url == first.url
        assert first.stop() == 0
        assert second.anonymous("GET", "/healthz").status == 200

    def test_a_storage_that_can_not_be_opened_is_reported_on_one_line(self, file: Path) -> None:
        script = Script(f"sqlite:{file}/missing/fields.db")

        run = script("serve", *GRANIAN, "--listen", "127.0.0.1:0")

        assert run.status == 1
        assert run.err.count("\n") == 1
        assert run.err.startswith("Error: ")

    def test_the_port_is_free_at_the_next_start(self, start: Callable[..., Service]) -> None:
        first = start(*GRANIAN)
        assert first.anonymous("GET", "/healthz").status == 200
        first.stop()

        second = start(*GRANIAN, RECIPIENT_FIELDS_LISTEN=urlsplit(first.url).netloc)

        assert second.url == first.url
