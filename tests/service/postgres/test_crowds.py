"""More clients than threads while PostgreSQL fails: other requests get responses in time.

Figures are logged: `pytest --log-cli-level=INFO`. RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS says how
long an outage lasts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from itertools import count
from threading import Event, Thread
from time import monotonic, sleep
from urllib.parse import urlsplit

import psycopg
import pytest

from recipient_fields.application import Core
from recipient_fields.domain import Organization

from ...support.outages import OUTAGE_SECONDS
from ...support.postgres import PostgresServer
from ...support.service import FIELDS, Service, require_statuses
from ..conftest import checked
from .conftest import MANY_FIELDS
from .load import MAX_RESPONSE_TIME, Exchange, exchange, send

pytestmark = pytest.mark.slow

THREADS = 4
CLIENTS = 40
PAUSE = 0.25
"""Seconds between two requests of one client, so that forty leave the machine half idle."""
KNOWN = 1.2
"""Seconds after which an outage is known. No 503 takes longer."""
RECOVERY = 1.5
WRITERS = 8

LIVENESS, MISTYPED_KEY, READINESS, LIST = "/healthz", "mistyped key", "/readyz", "list"
READ, WRITE = "read", "write"

_log = logging.getLogger(__name__)


class Crowd:
    """Clients that repeat their requests until the block ends, each over its own connection."""

    def __init__(self, url: str) -> None:
        self.exchanges: list[Exchange] = []
        self._address = urlsplit(url).netloc
        self._ending = Event()
        self._numbers = count(1)
        self._threads: list[Thread] = []

    def add(
        self, kind: str, path: str, key: str | None = None, *, method: str = "GET", number: int = 1
    ) -> None:
        """Add clients. With POST they create fields."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._threads += [
            Thread(target=self._repeat, args=(kind, method, path, headers)) for _ in range(number)
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ending.set()
            for thread in self._threads:
                thread.join()

    def between(self, begin: float, end: float, *kinds: str) -> list[Exchange]:
        """Return the requests of these kinds, or of all, that began in that time."""
        return [
            each
            for each in self.exchanges
            if begin <= each.began < end and (not kinds or each.kind in kinds)
        ]

    def _repeat(self, kind: str, method: str, path: str, headers: Mapping[str, str]) -> None:
        connection = HTTPConnection(self._address, timeout=20)
        while not self._ending.is_set():
            key = f"city_{next(self._numbers)}"
            request = partial(send, connection, method, path, headers, key)
            self.exchanges.append(exchange(kind, request))
            sleep(PAUSE)
        connection.close()


def figures(exchanges: list[Exchange]) -> tuple[int, float, float, float]:
    """Return their number, median, 95th percentile and maximum in seconds."""
    seconds = sorted(each.seconds for each in exchanges)
    return len(seconds), seconds[len(seconds) // 2], seconds[len(seconds) * 95 // 100], seconds[-1]


def stop(server: PostgresServer) -> None:
    server.stop("immediate")


@pytest.fixture
def service(database: str) -> Iterator[Service]:
    with checked(Service(database, "--threads", str(THREADS), *MANY_FIELDS)) as service:
        yield service


@pytest.mark.parametrize(
    ("fail", "recover"),
    [(stop, PostgresServer.start), (PostgresServer.freeze, PostgresServer.thaw)],
    ids=["stopped", "frozen"],
)
def test_an_outage_is_detected_within_a_second_and_requests_are_then_rejected_at_once(
    server: PostgresServer,
    service: Service,
    key: str,
    fail: Callable[[PostgresServer], None],
    recover: Callable[[PostgresServer], None],
) -> None:
    crowd = Crowd(service.url)
    crowd.add(LIST, FIELDS, key, number=CLIENTS)
    crowd.add(LIVENESS, LIVENESS)
    crowd.add(MISTYPED_KEY, FIELDS, "rfk_mistyped")
    crowd.add(READINESS, READINESS)
    with crowd.running():
        sleep(1)
        began = monotonic()
        fail(server)
        sleep(KNOWN + OUTAGE_SECONDS)
        ending = monotonic()
        recover(server)
        recovered = monotonic()
        sleep(RECOVERY + 1)

    during = (began + KNOWN, ending - KNOWN)
    for name, exchanges in {
        "before": crowd.between(0, began - 0.1),
        "lists, until it is known": crowd.between(began, began + KNOWN, LIST),
        "the rest, until it is known": crowd.between(
            began, began + KNOWN, LIVENESS, MISTYPED_KEY, READINESS
        ),
        "lists, once it is known": crowd.between(*during, LIST),
        "liveness, once it is known": crowd.between(*during, LIVENESS),
        "a mistyped key, once it is known": crowd.between(*during, MISTYPED_KEY),
        "readiness, once it is known": crowd.between(*during, READINESS),
    }.items():
        _log.info("%s: %d, median %.3f s, p95 %.3f s, longest %.3f s", name, *figures(exchanges))
    successes = [each for each in crowd.between(ending, ending + 9, LIST) if each.status == 200]
    first = min(each.began + each.seconds for each in successes) - recovered
    _log.info("first success %.2f s after the return", first)

    require_statuses(crowd.between(0, began - 0.1, LIST), 200)
    assert max(each.seconds for each in crowd.exchanges if each.status == 503) < 1.2
    require_statuses(crowd.between(*during, LIST, READINESS), 503)
    require_statuses(crowd.between(*during, LIVENESS), 200)
    require_statuses(crowd.between(*during, MISTYPED_KEY), 401)
    _, median, _, _ = figures(crowd.between(*during, LIVENESS, MISTYPED_KEY))
    assert median < 0.05
    _, _, _, longest = figures(crowd.between(*during, READINESS))
    assert longest < 0.5
    require_statuses(crowd.between(recovered + RECOVERY, monotonic(), LIST, READINESS), 200)
    require_two_lines(service)


def require_two_lines(service: Service) -> None:
    """Check that the log has one line for the start of the outage and one for its end.

    Beyond that it warns of requests that failed before the outage was known, and of nothing else.
    """
    warnings = [line for line in service.log if line["level"] not in {"info", "debug"}]
    begin, end = (line for line in warnings if line["logger"].endswith("circuit_breaker"))
    others = [line for line in warnings if line not in (begin, end)]
    assert {line["logger"] for line in others} <= {"recipient_fields.entrypoints.http.app"}
    assert len(others) <= THREADS
    failed = {
        line["request_id"]
        for line in service.requests
        if line["status"] == 503 and line["route"] != READINESS
    }
    known_later = {each for each in failed if any(each in line["event"] for line in others)}
    assert end["rejected"] == len(failed - known_later)
    assert end["seconds"] == pytest.approx(KNOWN + OUTAGE_SECONDS, abs=2)
    assert "psycopg.pool" not in service.stderr


@pytest.fixture
def others_key(core: Core) -> str:
    """Create a key of another organization."""
    other = core.administration.create_organization("Other")
    return core.administration.issue_key(other.id, name="Test").plain.reveal()


def test_a_locked_organization_delays_no_read_of_another(
    service: Service, database: str, acme: Organization, key: str, others_key: str
) -> None:
    assert service.client(others_key).create(name="City").status == 201
    crowd = Crowd(service.url)
    crowd.add(WRITE, FIELDS, key, method="POST", number=WRITERS)
    for path in (FIELDS, f"{FIELDS}/city", f"{FIELDS}?q=city"):
        crowd.add(READ, path, others_key)
    with crowd.running():
        sleep(1)
        with psycopg.connect(database) as locker:
            locker.execute("SELECT FROM organizations WHERE id = %s FOR UPDATE", (acme.id,))
            locked = monotonic()
            sleep(3 + OUTAGE_SECONDS)
            unlocked = monotonic()
        sleep(RECOVERY)

    reads, writes = (crowd.between(locked, unlocked - 1, kind) for kind in (READ, WRITE))
    _log.info("reads: %d, median %.3f s, p95 %.3f s, longest %.3f s", *figures(reads))
    _log.info("writes: %d, median %.3f s, p95 %.3f s, longest %.3f s", *figures(writes))
    require_statuses(reads, 200)
    require_statuses(writes, 201, 503)
    assert 503 in {each.status for each in writes}
    _, median, _, _ = figures(reads)
    assert median < 0.05
    assert max(each.seconds for each in writes) < MAX_RESPONSE_TIME
    late = unlocked + RECOVERY - 0.5, monotonic()
    require_statuses(crowd.between(*late, READ), 200)
    require_statuses(crowd.between(*late, WRITE), 201)
