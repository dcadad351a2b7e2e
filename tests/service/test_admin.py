"""Probes and metrics at an address of their own."""

from __future__ import annotations

import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from statistics import median
from urllib.parse import urlsplit

import pytest

from ..support.command_line import Script
from ..support.service import FIELDS, Answer, Client, Service
from ..support.waiting import eventually

PATHS = ("/healthz", "/readyz", "/metrics")
THREADS = 2
AT_ONCE_SECONDS = 0.1


@pytest.fixture
def service(start: Callable[..., Service]) -> Service:
    """A service that answers operators, too."""
    return start("--admin-listen", "127.0.0.1:0", "--threads", str(THREADS))


@pytest.fixture
def operator(service: Service) -> Client:
    """A client where the probes are, once the service is ready."""
    address = service.tells(r'"admin_address": "([^"]+)"')[1]
    client = Client(f"http://{address}")
    eventually(lambda: client("GET", "/readyz").status == 200)
    return client


@contextmanager
def all_workers_busy(
    service: Service, operator: Client, key: str, file: Path
) -> Iterator[list[Future[Answer]]]:
    """Every worker waits for a lock on the file, until the block ends."""
    with (
        ThreadPoolExecutor(THREADS) as pool,
        closing(sqlite3.connect(file, isolation_level=None)) as connection,
    ):
        connection.execute("BEGIN IMMEDIATE")
        client = service.client(key)
        writes = [pool.submit(client.create, name=f"F {n}") for n in range(THREADS)]
        eventually(lambda: metric(operator, "requests_in_flight") == THREADS)
        yield writes
        connection.execute("ROLLBACK")


def metric(operator: Client, name: str) -> float:
    lines = operator("GET", "/metrics").body.decode().splitlines()
    (line,) = [line for line in lines if line.startswith(f"recipient_fields_{name} ")]
    return float(line.split()[1])


def seconds(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def test_operators_are_answered_without_a_key(operator: Client) -> None:
    answers = [operator("GET", path) for path in PATHS]

    assert [answer.status for answer in answers] == [200] * 3
    assert [answer.document for answer in answers[:2]] == [{"status": "ok"}, {"status": "ready"}]
    assert [operator("HEAD", path).status for path in PATHS] == [200] * 3


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nothing", (404, "not_found")),
        ("GET", FIELDS, (404, "not_found")),
        ("POST", "/metrics", (405, "method_not_allowed")),
        ("GET", "/metrics?x=1", (400, "invalid_parameter")),
    ],
)
def test_what_is_not_there_is_refused_as_everywhere(
    operator: Client, method: str, path: str, expected: tuple[int, str]
) -> None:
    answer = operator(method, path)

    assert (answer.status, answer.code) == expected


def test_what_is_no_http_is_refused_as_everywhere(operator: Client) -> None:
    assert operator.refused(b"GET /healthz\r\n\r\n").code == "malformed_request"


def test_the_service_itself_answers_probes_and_no_metrics(
    service: Service, operator: Client
) -> None:
    assert [service.anyone("GET", path).status for path in PATHS] == [200, 200, 404]


def test_requests_are_measured(service: Service, operator: Client, key: str) -> None:
    service.client(key)("GET", FIELDS)
    service.anyone("GET", FIELDS)

    told = operator("GET", "/metrics").body.decode()
    of_route = f'recipient_fields_requests_total{{method="GET",route="{FIELDS}",status="200"}} 1.0'
    assert of_route in told
    assert 'recipient_fields_key_validations_total{result="valid"} 1.0' in told


def test_the_metrics_include_the_versions_and_the_resources_of_the_process(
    service: Service, operator: Client
) -> None:
    page = operator("GET", "/metrics").body.decode()
    samples = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))

    labels = f'python="{python_version()}",version="{version("recipient-fields")}"'
    assert samples[f"recipient_fields_build_info{{{labels}}}"] == "1.0"
    assert float(samples["process_resident_memory_bytes"]) > 1_000_000
    assert float(samples["process_cpu_seconds_total"]) > 0
    assert 0 < float(samples["process_open_fds"]) < float(samples["process_max_fds"])
    started = float(samples["process_start_time_seconds"])
    assert 0 <= time.time() - started < 3_600


def test_there_are_no_created_series(service: Service, operator: Client, key: str) -> None:
    service.client(key)("GET", FIELDS)
    page = operator("GET", "/metrics").body.decode()

    assert "recipient_fields_request_seconds_bucket" in page
    assert "_created" not in page


def test_operators_are_answered_at_once_while_every_worker_is_busy(
    service: Service, operator: Client, key: str, file: Path
) -> None:
    with all_workers_busy(service, operator, key, file) as writes:
        waits = {
            path: median(seconds(partial(operator, "GET", path)) for _ in range(9))
            for path in PATHS
        }
        assert not any(write.done() for write in writes)

    assert max(waits.values()) <= AT_ONCE_SECONDS
    assert {write.result().status for write in writes} == {201}


def test_a_service_that_drains_is_not_ready_before_it_ends(
    service: Service, operator: Client, key: str, file: Path
) -> None:
    with ThreadPoolExecutor(1) as pool, all_workers_busy(service, operator, key, file) as writes:
        stopped = pool.submit(service.stop, signal.SIGTERM)
        eventually(lambda: operator("GET", "/readyz").status == 503)
        assert operator("GET", "/readyz").code == "service_unavailable"
        assert operator("GET", "/healthz").status == 200
        assert not any(write.done() for write in writes)

    assert {write.result().status for write in writes} == {201}
    assert stopped.result() == 0


def test_clients_that_say_nothing_or_too_little_keep_nobody_out(
    service: Service, operator: Client
) -> None:
    host = urlsplit(operator.url)
    with ExitStack() as stack:
        for number in range(120):
            silent = socket.create_connection((host.hostname, host.port))
            stack.enter_context(silent)
            silent.sendall(b"GET /healthz HTTP/1.1\r\n"[: number % 20])

        eventually(lambda: operator("GET", "/healthz").status == 200)


def test_whoever_is_connected_holds_nothing_up(service: Service, operator: Client) -> None:
    host = urlsplit(operator.url)
    with socket.create_connection((host.hostname, host.port)) as silent:
        silent.sendall(b"GET /metrics HT")

        assert seconds(service.stop) < 2
        assert service.stop() == 0


def test_an_address_that_is_taken_is_one_clear_line(operator: Client, script: Script) -> None:
    taken = urlsplit(operator.url).netloc

    told = script("serve", "--listen", "127.0.0.1:0", "--admin-listen", taken).failure()

    assert told == f"Can't listen on {taken}: Address already in use. Change --admin-listen."
