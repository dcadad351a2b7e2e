"""Attacks by an organization with the largest catalog, with figures: `make test-load`.

Another organization must hardly notice them, and the service must stay small.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from threading import Thread
from urllib.parse import urlsplit

import psutil
import pytest
from attrs import frozen

from recipient_fields.adapters.postgres import migrate
from recipient_fields.application import Core
from recipient_fields.domain import Access, FieldChanges, OrganizationId
from recipient_fields.entrypoints.service.selection import open_core

from ..support.fields import add_field
from ..support.network import http_status
from ..support.postgres import PostgresServer, new_database
from ..support.service import FIELDS, Client, Service
from ..support.waiting import eventually
from . import flood
from .conftest import checked, new_file
from .test_other_hosts import hosted

HISTORY = "/api/v1/recipient_field_changes"
SCHEMA = "/api/v1/recipient_schema"
CHECKS = "/api/v1/recipient_checks"

MEBIBYTE = 1024 * 1024
CLIENTS = 8
SECONDS = 6
MAX_MEDIAN = 0.050
"""Seconds in which half of the requests of another organization have a response."""
MAX_MEMORY = 384
"""The MiB of memory that no attack may reach."""
MAX_UNREAD = 32
"""The MiB of memory and disk that six clients may cost that do not read."""
UNREAD_RESPONSES = {"serve": 6, "granian": 1}
"""How many of them begin to receive a response. Granian sends one at a time to an organization."""


@frozen
class Host:
    """A running service, with a key of the attacker and a client of another organization."""

    name: str
    url: str
    process: psutil.Process
    attacker: str
    """A read-only API key of the organization with the largest catalog."""
    neighbour: Client

    def request(self, path: str, body: object = None) -> bytes:
        """Return a request of the attacker, whose connection closes after the response."""
        content = b"" if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            f"Authorization: Bearer {self.attacker}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 0

    @property
    def processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]

    def forget_peak(self) -> None:
        """Measure the peak of the memory from now on."""
        for process in self.processes:
            Path(f"/proc/{process.pid}/clear_refs").write_text("5")

    @property
    def peak(self) -> float:
        """The peak of the resident memory in MiB, the sum of all processes."""
        files = (Path(f"/proc/{process.pid}/status") for process in self.processes)
        return sum(int(re.findall(r"VmHWM:\s+(\d+)", file.read_text())[0]) for file in files) / 1024

    @property
    def memory_and_disk(self) -> float:
        """The resident memory and the temporary files of the service, in MiB."""
        memory = sum(process.memory_info().rss for process in self.processes)
        return (memory + sum(map(_temporary_bytes, self.processes))) / MEBIBYTE


def _temporary_bytes(process: psutil.Process) -> int:
    """Return the bytes of the open files that have no name."""
    size = 0
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if descriptor.readlink().name.endswith("(deleted)"):
                size += descriptor.stat().st_size
        except FileNotFoundError:
            continue
    return size


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer.create() as server:
        yield server


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the URL of a new storage."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield f"sqlite:{stack.enter_context(new_file())}"
        else:
            server: PostgresServer = request.getfixturevalue("postgres")
            url = stack.enter_context(new_database(server.url()))
            migrate(url)
            yield url


@pytest.fixture(scope="module")
def core(url: str) -> Iterator[Core]:
    core = open_core(url)
    yield core
    core.storage.close()


@pytest.fixture(scope="module")
def attacker(core: Core) -> OrganizationId:
    """Create an organization with a catalog of almost 8 MiB, and a page of history of 38 MiB."""
    organization = core.administration.create_organization("Attacker").id
    values = tuple(f"{n:0>250}" for n in range(255))
    for number in range(120):
        name = f"Field {number}"
        field = add_field(core, organization, name, allowed_values=values)
        for insertable in (False, True):
            core.fields.update_field(organization, field.id, FieldChanges(insertable=insertable))
    return organization


@pytest.fixture(scope="module")
def neighbour(core: Core) -> OrganizationId:
    """Create an organization with ten small fields."""
    organization = core.administration.create_organization("Neighbour").id
    for number in range(10):
        add_field(core, organization, f"Field {number}")
    return organization


@pytest.fixture(params=["serve", "granian"])
def host(
    request: pytest.FixtureRequest,
    url: str,
    core: Core,
    attacker: OrganizationId,
    neighbour: OrganizationId,
) -> Iterator[Host]:
    """Run a service with four threads for this test."""

    def key(organization: OrganizationId, access: Access) -> str:
        return core.administration.issue_key(organization, name="T", access=access).plain.reveal()

    keys = key(attacker, Access.READ_ONLY), key(neighbour, Access.READ_WRITE)
    with _serving(request.param, url) as (address, process):
        yield Host(request.param, address, process, keys[0], Client(address, keys[1]))


@contextmanager
def _serving(host: str, storage: str) -> Iterator[tuple[str, psutil.Process]]:
    if host == "serve":
        with checked(Service(storage, "--log-level", "error")) as service:
            yield service.url, psutil.Process(service.process_id)
        return
    before = set(psutil.Process().children())
    with hosted(host, storage, RECIPIENT_FIELDS_LOG_LEVEL="error") as port:
        eventually(lambda: http_status(port, "/readyz") == 200)
        [process] = set(psutil.Process().children()) - before
        yield f"http://127.0.0.1:{port}", process


@pytest.fixture
def report(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> Callable[[str], None]:
    def report(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{request.node.name}: {line}\n")

    return report


@contextmanager
def flooding(host: Host, request: bytes, file: Path) -> Iterator[Counter[str]]:
    """Flood the service with the request during the block; the result is complete after it."""
    file.write_bytes(request)
    results: Counter[str] = Counter()
    arguments = (str(file), *map(str, host.address), str(CLIENTS), str(SECONDS))
    command = [sys.executable, flood.__file__, *arguments]

    def run() -> None:
        results.update(json.loads(subprocess.check_output(command)))

    thread = Thread(target=run)
    thread.start()
    try:
        yield results
    finally:
        thread.join()


ALL_KEYS = ",".join(f"field_{number}" for number in range(120))
RECIPIENTS = {"recipients": [{"field_1": f"{1:0>250}", "field_2": "x" * 700} for _ in range(900)]}
ATTACKS = {
    "schemas": (SCHEMA, None),
    "uncached lists": (f"{FIELDS}?key={ALL_KEYS},no_NUMBER", None),
    "pages of history": (f"{HISTORY}?limit=1000", None),
    "checks of recipients": (CHECKS, RECIPIENTS),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_flood_delays_no_other_organization(host, attack, tmp_path, report):
    durations: dict[str, list[float]] = {"list": [], "field": [], "health": []}
    statuses: Counter[int] = Counter()
    host.forget_peak()
    with flooding(host, host.request(*ATTACKS[attack]), tmp_path / "request") as flooded:
        time.sleep(1)
        end = time.monotonic() + SECONDS - 2
        while time.monotonic() < end:
            for name, path in (
                ("list", FIELDS),
                ("field", f"{FIELDS}/field_1"),
                ("health", "/healthz"),
            ):
                began = time.perf_counter()
                statuses[host.neighbour("GET", path).status] += 1
                durations[name].append(time.perf_counter() - began)
            time.sleep(0.02)
    medians = {name: median(each) for name, each in durations.items()}
    report(
        f"responses to the attacker: {dict(flooded)}; to the other organization:"
        f" {dict(statuses)}, median in ms:"
        f" { {name: round(each * 1_000, 1) for name, each in medians.items()} };"
        f" peak of the memory: {host.peak:.0f} MiB"
    )
    assert set(statuses) == {200}
    assert max(medians.values()) <= MAX_MEDIAN
    assert set(flooded) <= {"200", "503"}
    assert flooded["200"] > 0
    assert host.peak < MAX_MEMORY


@pytest.mark.parametrize("path", [FIELDS, SCHEMA, f"{FIELDS}?sort=NUMBER"])
def test_six_clients_that_do_not_read_cost_little(host, path, report):
    sorts = ("name", "-name", "key", "-key", "created_at", "-created_at")
    attacker = Client(host.url, host.attacker)

    def is_accepted(path: str) -> bool:
        return attacker("GET", path).status == 200

    for warm in [FIELDS, *[path.replace("NUMBER", "id")] * CLIENTS]:
        # What each thread of the process keeps is no cost of the clients that do not read.
        eventually(partial(is_accepted, warm))
    host.neighbour("GET", FIELDS)
    host.forget_peak()
    before = host.memory_and_disk
    statuses: Counter[str] = Counter()
    with ExitStack() as clients:
        for sort in sorts:
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(host.address)
            client.sendall(host.request(path.replace("NUMBER", sort)))
            client.settimeout(30)
            statuses[client.recv(12)[9:].decode()] += 1
        time.sleep(1)
        cost = host.memory_and_disk - before
        began = time.perf_counter()
        assert host.neighbour("GET", FIELDS).status == 200
        seconds = time.perf_counter() - began
    report(
        f"{dict(statuses)}, {cost:.1f} MiB of memory and disk, peak {host.peak:.0f} MiB; the other"
        f" organization waits {seconds * 1_000:.1f} ms"
    )
    assert statuses["200"] == UNREAD_RESPONSES[host.name]
    assert set(statuses) <= {"200", "503"}
    assert cost <= MAX_UNREAD
    assert host.peak < MAX_MEMORY
