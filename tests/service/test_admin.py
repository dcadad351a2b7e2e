"""Probes and metrics at the admin address."""

from __future__ import annotations

import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from statistics import median
from urllib.parse import urlsplit

import pytest

from recipient_fields.application import Core, IssuedKey
from recipient_fields.domain import OrganizationId

from ..support.command_line import Script
from ..support.service import FIELDS, Client, Response, Service, require_statuses
from ..support.waiting import eventually
from .conftest import Start

pytestmark = pytest.mark.slow

PATHS = ("/healthz", "/readyz", "/metrics")
EXPIRY = "recipient_fields_api_key_earliest_expiry_timestamp_seconds"
THREADS = 2
AT_ONCE_SECONDS = 0.1


@pytest.fixture
def service(start: Start) -> Service:
    """Start a service with an admin address."""
    return start("--admin-listen", "127.0.0.1:0", "--threads", str(THREADS))


@pytest.fixture
def admin(service: Service) -> Client:
    """Return a client of the admin address, once the service is ready."""
    address = service.wait_for(r'"admin_address": "([^"]+)"')[1]
    client = Client(f"http://{address}")
    eventually(lambda: client("GET", "/readyz").status == 200)
    return client


@contextmanager
def all_workers_busy(
    service: Service, admin: Client, key: str, file: Path
) -> Iterator[list[Future[Response]]]:
    """Block every worker with a lock on the file until the end of the block."""
    with (
        ThreadPoolExecutor(THREADS) as pool,
        closing(sqlite3.connect(file, isolation_level=None)) as connection,
    ):
        connection.execute("BEGIN IMMEDIATE")
        client = service.client(key)
        writes = [pool.submit(client.create, name=f"F {n}") for n in range(THREADS)]
        eventually(lambda: metric(admin, "requests_in_flight") == THREADS)
        yield writes
        connection.execute("ROLLBACK")


def metric(admin: Client, name: str) -> float:
    lines = admin("GET", "/metrics").body.decode().splitlines()
    (line,) = [line for line in lines if line.startswith(f"recipient_fields_{name} ")]
    return float(line.split()[1])


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def test_the_admin_address_requires_no_key(admin: Client) -> None:
    responses = [admin("GET", path) for path in PATHS]

    assert [response.status for response in responses] == [200] * 3
    assert [response.document for response in responses[:2]] == [
        {"status": "ok"},
        {"status": "ready"},
    ]
    assert [admin("HEAD", path).status for path in PATHS] == [200] * 3


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nothing", (404, "not_found")),
        ("GET", FIELDS, (404, "not_found")),
        ("POST", "/metrics", (405, "method_not_allowed")),
        ("GET", "/metrics?x=1", (400, "invalid_parameter")),
    ],
)
def test_errors_have_the_codes_of_the_api(
    admin: Client, method: str, path: str, expected: tuple[int, str]
) -> None:
    response = admin(method, path)

    assert (response.status, response.code) == expected


def test_malformed_http_has_the_error_code_of_the_api(admin: Client) -> None:
    assert admin.send_bytes(b"GET /healthz\r\n\r\n").code == "malformed_request"


def test_the_public_address_serves_probes_but_no_metrics(service: Service, admin: Client) -> None:
    assert [service.anonymous("GET", path).status for path in PATHS] == [200, 200, 404]


def test_the_metrics_count_requests_and_key_validations(
    service: Service, admin: Client, key: str
) -> None:
    service.client(key)("GET", FIELDS)
    service.anonymous("GET", FIELDS)

    page = admin("GET", "/metrics").body.decode()
    of_route = f'recipient_fields_requests_total{{method="GET",route="{FIELDS}",status="200"}} 1.0'
    assert of_route in page
    assert 'recipient_fields_key_validations_total{result="valid"} 1.0' in page


def test_the_metrics_include_the_versions_and_the_resources_of_the_process(
    service: Service, admin: Client
) -> None:
    page = admin("GET", "/metrics").body.decode()
    samples = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))

    labels = f'python="{python_version()}",version="{version("recipient-fields")}"'
    assert samples[f"recipient_fields_build_info{{{labels}}}"] == "1.0"
    assert float(samples["process_resident_memory_bytes"]) > 1_000_000
    assert float(samples["process_cpu_seconds_total"]) > 0
    assert 0 < float(samples["process_open_fds"]) < float(samples["process_max_fds"])
    started = float(samples["process_start_time_seconds"])
    assert 0 <= time.time() - started < 3_600


def test_the_metrics_name_the_key_that_expires_first_until_its_client_replaces_it(
    service: Service, admin: Client, core: Core, acme: OrganizationId
) -> None:
    def issue(days: int | None) -> IssuedKey:
        lifetime = None if days is None else timedelta(days=days)
        return core.administration.issue_key(acme, name="Tests", lifetime=lifetime)

    def exported() -> dict[str, float]:
        lines = admin("GET", "/metrics").body.decode().splitlines()
        found = [line.rsplit(" ", 1) for line in lines if line.startswith(EXPIRY)]
        return {labels.removeprefix(EXPIRY): float(value) for labels, value in found}

    assert exported() == {}
    first, others = issue(10), [issue(1), issue(20), issue(None)]
    for each in (*others[1:], first):
        service.client(each.plain.reveal()).fields()

    assert first.api_key.expires_at is not None
    labels = f'{{key_id="{first.api_key.id}",organization="{acme}"}}'
    assert exported() == {labels: pytest.approx(first.api_key.expires_at.timestamp())}

    core.administration.revoke_key(acme, first.api_key.id)
    assert service.client(first.plain.reveal())("GET", FIELDS).status == 401
    assert list(exported()) == [f'{{key_id="{others[1].api_key.id}",organization="{acme}"}}']


def test_there_are_no_created_series(service: Service, admin: Client, key: str) -> None:
    service.client(key)("GET", FIELDS)
    page = admin("GET", "/metrics").body.decode()

    assert "recipient_fields_request_seconds_bucket" in page
    assert "_created" not in page


def test_the_admin_address_responds_at_once_while_every_worker_is_busy(
    service: Service, admin: Client, key: str, file: Path
) -> None:
    with all_workers_busy(service, admin, key, file) as writes:
        durations = {
            path: median(seconds(partial(admin, "GET", path)) for _ in range(9)) for path in PATHS
        }
        assert not any(write.done() for write in writes)

    assert max(durations.values()) <= AT_ONCE_SECONDS
    require_statuses((write.result() for write in writes), 201)


def test_a_draining_service_is_not_ready(
    service: Service, admin: Client, key: str, file: Path
) -> None:
    with ThreadPoolExecutor(1) as pool, all_workers_busy(service, admin, key, file) as writes:
        stopped = pool.submit(service.stop, signal.SIGTERM)
        eventually(lambda: admin("GET", "/readyz").status == 503)
        assert admin("GET", "/readyz").code == "service_unavailable"
        assert admin("GET", "/healthz").status == 200
        assert not any(write.done() for write in writes)

    require_statuses((write.result() for write in writes), 201)
    assert stopped.result() == 0


def test_clients_that_send_incomplete_requests_block_no_other_client(
    service: Service, admin: Client
) -> None:
    host = urlsplit(admin.url)
    with ExitStack() as stack:
        for number in range(120):
            silent = socket.create_connection((host.hostname, host.port))
            stack.enter_context(silent)
            silent.sendall(b"GET /healthz HTTP/1.1\r\n"[: number % 20])

        eventually(lambda: admin("GET", "/healthz").status == 200)


def test_an_idle_connection_to_the_admin_address_does_not_delay_the_end(
    service: Service, admin: Client
) -> None:
    host = urlsplit(admin.url)
    with socket.create_connection((host.hostname, host.port)) as silent:
        silent.sendall(b"GET /metrics HT")

        assert seconds(service.stop) < 2
        assert service.stop() == 0


def test_an_admin_address_in_use_is_reported_on_one_line(admin: Client, script: Script) -> None:
    taken = urlsplit(admin.url).netloc

    message = script("serve", "--listen", "127.0.0.1:0", "--admin-listen", taken).failure()

    assert message.startswith(f"Can't listen on {taken}: Address already in use. ")
