"""The shutdown of the service."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ..support.command_line import SCRIPT, Script, environment_with
from ..support.service import FIELDS, Service
from ..support.waiting import TIMEOUT
from .conftest import Start

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_service_ends_at_once_with_status_0(start: Start, by: signal.Signals) -> None:
    service = start()
    service.anonymous("GET", "/healthz")

    assert service.stop(by) == 0
    assert service.stderr.count("\n") == 3  # The lines are listening, draining and ended.


def test_the_service_ignores_sighup(start: Start) -> None:
    service = start()
    service.anonymous("GET", "/healthz")
    os.kill(service.process_id, signal.SIGHUP)

    assert service.anonymous("GET", "/healthz").status == 200
    assert service.stop() == 0
    assert [line["event"] for line in service.log][-2:] == ["draining", "ended"]


def test_sigint_ends_the_service_even_if_the_shell_ignores_it(start: Start) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # As a shell does for a command with `&`.
    try:
        service = start()
    finally:
        signal.signal(signal.SIGINT, before)

    service.anonymous("GET", "/healthz")
    assert service.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_open_connections_do_not_delay_the_shutdown(start: Start, by: signal.Signals) -> None:
    service = start()
    host = urlsplit(service.url)
    connection = HTTPConnection(host.hostname or "", host.port, timeout=TIMEOUT)
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    with socket.create_connection((host.hostname, host.port)) as silent:
        silent.sendall(b"GET /healthz HT")

        assert service.stop(by) == 0

    connection.close()


def test_every_received_request_gets_a_response(start: Start, key: str) -> None:
    service = start()
    request = f"GET {FIELDS} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    host = urlsplit(service.url)
    connections = [socket.create_connection((host.hostname, host.port)) for _ in range(40)]
    for connection in connections:
        connection.sendall(request)
    connections += [socket.create_connection((host.hostname, host.port)) for _ in range(40)]

    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(service.stop)
        for connection in connections[40:]:
            connection.sendall(request)
        for connection in connections:
            with HTTPResponse(connection) as response:
                response.begin()
                assert response.status == 200
                assert response.read()
            connection.close()
        assert status.result() == 0


def test_an_unread_log_does_not_delay_the_shutdown() -> None:
    """A pipe holds 64 KiB, about 300 lines; the queue of the log holds 1,000 lines."""
    command = [SCRIPT, "--storage", "memory:", "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, env=environment_with({}), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        found = re.search(rb"listening on http://([^\s:]+):(\d+)", process.stderr.readline())
        assert found is not None
        with socket.create_connection(
            (found[1].decode(), int(found[2])), timeout=TIMEOUT
        ) as connection:
            for _ in range(900):
                connection.sendall(b"GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n")
                assert connection.recv(65_536)
        process.terminate()
        try:
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_a_second_signal_ends_the_service_at_once(start: Start) -> None:
    service = start()
    host = urlsplit(service.url)
    with socket.create_connection((host.hostname, host.port)) as silent:
        silent.sendall(b"GET /healthz HT")
        service.anonymous("GET", "/healthz")
        os.kill(service.process_id, signal.SIGTERM)
        service.wait_for('"draining"')

        assert service.stop() == -signal.SIGTERM


def test_the_service_is_not_ready_after_the_signal(start: Start) -> None:
    service = start()
    host = urlsplit(service.url)
    connection = HTTPConnection(host.hostname or "", host.port, timeout=TIMEOUT)
    connection.request("GET", "/readyz")
    assert connection.getresponse().read() == b'{"status":"ready"}'

    os.kill(service.process_id, signal.SIGTERM)
    service.wait_for('"draining"')

    connection.request("GET", "/readyz")
    response = connection.getresponse()
    assert (response.status, response.getheader("Connection")) == (503, "close")
    assert json.loads(response.read())["error"]["code"] == "service_unavailable"
    connection.close()


def test_more_connections_than_open_files_are_reported_on_one_line(script: Script) -> None:
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limit * 3 + 350

    message = script("serve", "--listen", "127.0.0.1:0", "--connections", limit).failure()

    assert message == (
        f"{limit} connections can need {needed} open files, and the limit is {limit}. "
        "Raise it (ulimit -n), or choose fewer with --connections."
    )


def test_a_service_that_is_stopped_during_the_start_ends_with_status_0(
    start: Start, tmp_path: Path
) -> None:
    service = start("--demo", url=f"sqlite:{tmp_path / 'fields.db'}", shows_secrets=True)

    service.wait_for("listening on")
    assert service.stop() == 0


def test_stored_data_is_available_after_a_restart(start: Start, key: str) -> None:
    service = start()
    created = service.client(key).create(name="Shop")
    service.stop()

    assert start().client(key)("GET", f"{FIELDS}/shop").body == created.body


def test_the_port_is_free_at_once(start: Start) -> None:
    service = start()
    service.anonymous("GET", "/healthz")
    address = urlsplit(service.url).netloc
    service.stop()

    assert start(RECIPIENT_FIELDS_LISTEN=address).url == service.url


def test_a_client_that_resets_the_connection_causes_no_message(service: Service, key: str) -> None:
    host = urlsplit(service.url)
    for request in (
        f"GET {FIELDS} HTTP/1.1\r\nAuthorization: Bearer {key}\r\n\r\n",
        f"POST {FIELDS} HTTP/1.1\r\nContent-Length: 100\r\n\r\n{{",
        "GET /heal",
    ):
        with socket.create_connection((host.hostname, host.port)) as connection:
            # Closing with a linger of zero resets the connection.
            linger = bytes([1, 0, 0, 0, 0, 0, 0, 0])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sendall(request.encode())

    assert service.client(key)("GET", FIELDS).status == 200
    assert service.stop() == 0
    assert service.messages == []
    assert {line["event"] for line in service.log} - {"request"} == {
        *(f"listening on {service.url}", "draining", "ended")
    }
