"""What the service bears: figures, not only outcomes, so only on request (`make test-load`)."""

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
from . import waiting
from .load import Drip, Figures, SlowReaders, in_background, requests_at

PLAIN = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def report_line(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def report_line(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}\n")

    return report_line


@pytest.fixture
def report(report_line: Callable[[str], None]) -> Callable[[str, Figures], None]:
    def report(what: str, figures: Figures) -> None:
        told = "; ".join(
            f"{status}: {figures.rate(status):.0f}/s,"
            f" p50 {figures.percentile(50, status):.3f} s,"
            f" p99 {figures.percentile(99, status):.3f} s,"
            f" slowest {figures.slowest(status):.3f} s"
            for status in sorted(figures.latencies)
        )
        report_line(f"{what}: {told}")

    return report


@contextmanager
def waiting_host(milliseconds: int, threads: int) -> Iterator[str]:
    """A host that can carry `1000 * threads / milliseconds` requests a second, and no more."""
    process = subprocess.Popen(
        [sys.executable, str(Path(waiting.__file__)), str(milliseconds), str(threads)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield process.stderr.readline().split()[-1]
    finally:
        process.terminate()
        told = process.communicate(timeout=30)[1]
    assert (process.returncode, told) == (0, "")


def asking(key: str, path: str) -> bytes:
    lines = f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}", "", ""
    return "\r\n".join(lines).encode()


def make_much_to_list(client: Client) -> None:
    """24 fields of 250 kB, more than the system buffers of one answer."""
    values = [f"{n:0>250}" for n in range(1_000)]
    for number in range(24):
        assert client.create(name=f"Field {number}", allowed_values=values).status == 201


def test_dripping_clients_and_slow_readers_leave_others_their_answers(
    start: Callable[..., Service], key: str, report: Callable[[str, Figures], None]
) -> None:
    service = start("--log-level", "error")
    make_much_to_list(service.client(key))
    request = asking(key, f"{FIELDS}/field_missing")
    calm = requests_at(100, 5, service.url, request)
    report("nobody else", calm)
    readers = SlowReaders(service.url, 20, asking(key, FIELDS))
    drip = Drip(service.url, 450)
    time.sleep(5)  # Making 20 large answers is work, whoever reads them.
    try:
        with in_background(drip.drop, 0.5), in_background(readers.sip, 0.5):
            among = requests_at(100, 25, service.url, request)
    finally:
        drip.close()
        readers.close()
    report("among 450 dripping clients and 20 slow readers", among)
    assert drip.cut_off >= 450
    assert set(among.statuses) == {"404"}
    assert among.percentile(99, "404") <= 0.25


@pytest.mark.parametrize("kept", [True, False], ids=["kept connections", "new connections"])
def test_ten_times_the_load_is_carried_or_refused(
    report: Callable[[str, Figures], None], kept: bool
) -> None:
    with waiting_host(milliseconds=40, threads=4) as url:
        near = requests_at(90, 5, url, PLAIN, kept=kept)
        report("nine tenths of the load it can carry", near)
        over = requests_at(1_000, 20, url, PLAIN, kept=kept)
        report("ten times that load", over)
        after = requests_at(50, 3, url, PLAIN, kept=kept)
        report("afterwards", after)
    assert set(near.statuses) == {"200"}
    assert over.rate() >= 0.8 * 100
    # A kept connection can give way to a newcomer just as its client asks again.
    lost = over.statuses.total() - over.statuses["200"] - over.statuses["503"]
    assert lost <= (over.statuses.total() / 1_000 if kept else 0)
    assert over.slowest("503") <= 2.5
    assert over.slowest("200") <= 2.5
    assert set(after.statuses) == {"200"}


def test_the_service_itself_under_more_than_it_can_carry(
    start: Callable[..., Service], key: str, report: Callable[[str, Figures], None]
) -> None:
    """Here the clients take half of the processor, so that little is left to compare."""
    service = start("--log-level", "error")
    request = asking(key, f"{FIELDS}/missing")
    for rate in (250, 500, 1_000, 2_000, 4_000):
        report(f"{rate} requests a second", requests_at(rate, 6, service.url, request))
    assert service.anyone("GET", "/healthz").status == 200


def test_500_connections_need_less_than_200_mebibytes(
    start: Callable[..., Service], key: str, report_line: Callable[[str], None]
) -> None:
    service = start("--log-level", "error")
    make_much_to_list(service.client(key))
    process = psutil.Process(service.process_id)
    report_line(f"resident when idle: {process.memory_info().rss / 2**20:.0f} MiB")
    host = urlsplit(service.url)
    head = f"POST {FIELDS} HTTP/1.1\r\nHost: h\r\nContent-Length: 1048576\r\n\r\n".encode()
    readers = SlowReaders(service.url, 40, asking(key, FIELDS))
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
    report_line(f"resident with 460 unfinished bodies and 40 untaken answers: {resident:.0f} MiB")
    assert resident <= 200


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_time(
    start: Callable[..., Service], key: str, by: signal.Signals, report_line: Callable[[str], None]
) -> None:
    for kind in ("idle", "idle with 50 connections", "busy with 300 clients"):
        service = start("--log-level", "error")
        request = asking(key, f"{FIELDS}/missing")
        service.anyone("GET", "/healthz")
        with ExitStack() as open_:
            if kind.endswith("connections"):
                for _ in range(50):
                    connection = HTTPConnection(urlsplit(service.url).netloc)
                    connection.request("GET", "/healthz")
                    connection.getresponse().read()
                    open_.callback(connection.close)
            if kind.endswith("clients"):
                drip = Drip(service.url, 100)
                open_.callback(drip.close)
                open_.enter_context(in_background(drip.drop, 0.1))
                host = urlsplit(service.url)
                for _ in range(300):
                    client = socket.create_connection((host.hostname, host.port))
                    open_.enter_context(client).sendall(request)
            started = time.perf_counter()
            assert service.stop(by) == 0
            took = time.perf_counter() - started
        report_line(f"ends by {by.name} when {kind}: {took:.2f} s")
        assert took <= (20 if kind.startswith("busy") else 1)


def _connections(service: Service, port: int | None) -> int:
    connections = psutil.Process(service.process_id).net_connections("tcp")
    return sum(c.laddr.port == port and c.status == "ESTABLISHED" for c in connections)
