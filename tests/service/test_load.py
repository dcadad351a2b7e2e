"""The behavior of the service under load, with figures: `make test-load`."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from ..support.service import FIELDS, Client, Service
from ..support.waiting import eventually
from . import slow_server
from .load import Figures, SlowReaders, SlowSenders, in_background, send_at_rate

PLAIN = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def report_line(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def report_line(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}\n")

    return report_line


@pytest.fixture
def report(report_line: Callable[[str], None]) -> Callable[[str, Figures], None]:
    def report(title: str, figures: Figures) -> None:
        results = "; ".join(
            f"{status}: {figures.rate(status):.0f}/s,"
            f" p50 {figures.percentile(50, status):.3f} s,"
            f" p99 {figures.percentile(99, status):.3f} s,"
            f" slowest {figures.slowest(status):.3f} s"
            for status in sorted(figures.latencies)
        )
        report_line(f"{title}: {results}")

    return report


@contextmanager
def slow_server_url(milliseconds: int, threads: int) -> Iterator[str]:
    """Run a server with a capacity of `1000 * threads / milliseconds` requests per second."""
    process = subprocess.Popen(
        [sys.executable, str(Path(slow_server.__file__)), str(milliseconds), str(threads)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield process.stderr.readline().split()[-1]
    finally:
        process.terminate()
        stderr = process.communicate(timeout=30)[1]
    assert (process.returncode, stderr) == (0, "")


def get_request(key: str, path: str) -> bytes:
    lines = f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}", "", ""
    return "\r\n".join(lines).encode()


def create_large_list(client: Client) -> None:
    """Create 96 fields of 63 kB, so that the list exceeds the socket buffers."""
    values = [f"{n:0>250}" for n in range(250)]
    for number in range(96):
        assert client.create(name=f"Field {number}", allowed_values=values).status == 201


def test_slow_clients_do_not_delay_other_clients(start, key, report):
    service = start("--log-level", "error")
    create_large_list(service.client(key))
    request = get_request(key, f"{FIELDS}/field_missing")
    unloaded = send_at_rate(100, 5, service.url, request)
    report("without other clients", unloaded)
    readers = SlowReaders(service.url, 20, get_request(key, FIELDS))
    senders = SlowSenders(service.url, 450)
    time.sleep(5)  # The creation of 20 large responses takes CPU time.
    try:
        with in_background(senders.send_bytes, 0.5), in_background(readers.read_some, 0.5):
            loaded = send_at_rate(100, 25, service.url, request)
    finally:
        senders.close()
        readers.close()
    report("with 450 slow senders and 20 slow readers", loaded)
    assert senders.closed >= 450
    assert set(loaded.statuses) == {"404"}
    assert loaded.percentile(99, "404") <= 0.25


@pytest.mark.parametrize("keep_alive", [True, False], ids=["keep-alive", "new connections"])
def test_ten_times_the_capacity_is_served_or_rejected(report, keep_alive):
    with slow_server_url(milliseconds=40, threads=4) as url:
        near = send_at_rate(90, 5, url, PLAIN, keep_alive=keep_alive)
        report("nine tenths of the capacity", near)
        over = send_at_rate(1_000, 20, url, PLAIN, keep_alive=keep_alive)
        report("ten times the capacity", over)
        after = send_at_rate(50, 3, url, PLAIN, keep_alive=keep_alive)
        report("afterwards", after)
    assert set(near.statuses) == {"200"}
    assert over.rate() >= 0.8 * 100
    # The service can close an idle connection while its client sends the next request.
    lost = over.statuses.total() - over.statuses["200"] - over.statuses["503"]
    assert lost <= (over.statuses.total() / 1_000 if keep_alive else 0)
    assert over.slowest("503") <= 2.5
    assert over.slowest("200") <= 2.5
    assert set(after.statuses) == {"200"}


def test_the_service_survives_overload(start, key, report):
    """There are no limits for the figures, because the clients use half of the CPU."""
    service = start("--log-level", "error")
    request = get_request(key, f"{FIELDS}/missing")
    for rate in (250, 500, 1_000, 2_000, 4_000):
        report(f"{rate} requests per second", send_at_rate(rate, 6, service.url, request))
    assert service.anonymous("GET", "/healthz").status == 200


def test_500_connections_use_at_most_200_mebibytes(start, key, report_line):
    service = start("--log-level", "error")
    create_large_list(service.client(key))
    process = psutil.Process(service.process_id)
    report_line(f"resident when idle: {process.memory_info().rss / 2**20:.0f} MiB")
    host = urlsplit(service.url)
    head = f"POST {FIELDS} HTTP/1.1\r\nHost: h\r\nContent-Length: 1048576\r\n\r\n".encode()
    readers = SlowReaders(service.url, 40, get_request(key, FIELDS))
    with ExitStack() as senders:
        for _ in range(460):
            sender = socket.create_connection((host.hostname, host.port))
            senders.enter_context(sender).sendall(head + b" " * 600_000)
        try:
            eventually(lambda: _connections(service, host.port) >= 495)
            time.sleep(1)
            resident = process.memory_info().rss / 2**20
        finally:
            readers.close()
    report_line(f"resident with 460 unfinished bodies and 40 unread responses: {resident:.0f} MiB")
    assert resident <= 200


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_the_service_ends_in_time(start, key, by, report_line):
    for kind in ("idle", "idle with 50 connections", "busy with 300 clients"):
        service = start("--log-level", "error")
        request = get_request(key, f"{FIELDS}/missing")
        service.anonymous("GET", "/healthz")
        with ExitStack() as open_:
            if kind.endswith("connections"):
                for _ in range(50):
                    connection = HTTPConnection(urlsplit(service.url).netloc)
                    connection.request("GET", "/healthz")
                    connection.getresponse().read()
                    open_.callback(connection.close)
            if kind.endswith("clients"):
                senders = SlowSenders(service.url, 100)
                open_.callback(senders.close)
                open_.enter_context(in_background(senders.send_bytes, 0.1))
                host = urlsplit(service.url)
                for _ in range(300):
                    client = socket.create_connection((host.hostname, host.port))
                    open_.enter_context(client).sendall(request)
            started = time.perf_counter()
            assert service.stop(by) == 0
            took = time.perf_counter() - started
        report_line(f"ended by {by.name} when {kind}: {took:.2f} s")
        assert took <= (20 if kind.startswith("busy") else 1)


def _connections(service: Service, port: int | None) -> int:
    connections = psutil.Process(service.process_id).net_connections("tcp")
    return sum(c.laddr.port == port and c.status == "ESTABLISHED" for c in connections)
