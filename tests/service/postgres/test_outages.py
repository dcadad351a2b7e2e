"""Responses while PostgreSQL is down, and the recovery.

RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS sets the duration of an outage.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import psycopg
import pytest

from recipient_fields.domain import Organization

from ...support.outages import OUTAGE_SECONDS, OUTAGES
from ...support.postgres import PostgresServer, execute
from ...support.service import FIELDS, Client, Service, require_statuses
from ...support.waiting import eventually
from ..conftest import checked
from .load import MAX_RESPONSE_TIME, HttpLoad

pytestmark = pytest.mark.slow


def freeze(server: PostgresServer) -> None:
    server.freeze()
    sleep(MAX_RESPONSE_TIME + OUTAGE_SECONDS)
    server.thaw()


@pytest.mark.parametrize(
    "break_and_mend",
    [*OUTAGES, freeze],
)
def test_clients_get_503_with_retry_after_and_lose_nothing(
    server: PostgresServer,
    serve: Callable[[], str],
    key: str,
    break_and_mend: Callable[[PostgresServer], None],
) -> None:
    with HttpLoad(serve(), key) as load:
        break_and_mend(server)
        eventually(server.accepts, within=10)
        accepting = monotonic()
        sleep(2.5)
    load.require_an_outage_of_503s(within=1.2)
    load.require_service_since(accepting)
    load.require_nothing_lost()


@pytest.mark.parametrize(
    ("lock", "expected"),
    [
        ("SELECT FROM organizations FOR UPDATE", {"GET": [200], "POST": [503]}),
        # A list is read from the table only if its catalog has changed since.
        ("LOCK TABLE recipient_fields", {"GET": [200, 503], "POST": [503]}),
        ("LOCK TABLE api_keys", {"GET": [503], "POST": [503]}),
    ],
    ids=["a row", "a table", "the keys"],
)
def test_a_lock_causes_503_in_time_and_leaves_no_session_waiting(
    serve: Callable[[], str], database: str, key: str, lock: str, expected: dict[str, list[int]]
) -> None:
    with psycopg.connect(database) as locker:
        with HttpLoad(serve(), key) as load:
            locker.execute(lock.encode())
            locked = monotonic()
            sleep(3)
        eventually(lambda: not _stuck(database), within=1)
    load.require_an_outage_of_503s()
    during = [each for each in load.exchanges if each.began > locked]
    for method, statuses in expected.items():
        require_statuses((each for each in during if each.kind == method), *statuses)
    assert ("POST", 503) in {(each.kind, each.status) for each in during}
    load.require_nothing_lost()


def admin_of(service: Service) -> Client:
    address = service.wait_for(r'"admin_address": "([^"]+)"')[1]
    return Client(f"http://{address}")


def test_the_metrics_show_an_outage_without_requests(server: PostgresServer, database: str) -> None:
    with checked(Service(database, "--admin-listen", "127.0.0.1:0")) as service:
        admin = admin_of(service)

        def gauges() -> dict[str, str]:
            lines = admin("GET", "/metrics").body.decode().splitlines()
            return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

        eventually(lambda: gauges()["recipient_fields_ready"] == "1.0")
        server.stop()
        try:
            eventually(lambda: gauges()["recipient_fields_ready"] == "0.0", within=3)
            sleep(3)
            during = gauges()
        finally:
            server.start()
        eventually(lambda: gauges()["recipient_fields_ready"] == "1.0")

    assert during["recipient_fields_ready"] == "0.0"
    assert during['recipient_fields_pool{state="waiting"}'] == "0.0"


def test_calls_that_wait_for_a_connection_are_counted(
    database: str, key: str, acme: Organization
) -> None:
    """One transaction has the only connection of requests; readiness checks use the spare one."""
    options = ("--admin-listen", "127.0.0.1:0", "--threads", "8")
    with (
        psycopg.connect(database) as locker,
        checked(Service(f"{database}?pool_size=1", *options)) as service,
        ThreadPoolExecutor(6) as threads,
    ):
        admin = admin_of(service)
        client = service.client(key)
        client.fields()
        locker.execute("LOCK TABLE api_keys")
        responses = [threads.submit(client, "GET", FIELDS) for _ in range(6)]

        def waiting() -> float:
            page = admin("GET", "/metrics").body.decode()
            return float(page.partition('recipient_fields_pool{state="waiting"} ')[2].split()[0])

        eventually(lambda: waiting() > 0)
        locker.rollback()
        require_statuses((response.result() for response in responses), 200, 503)
        eventually(lambda: waiting() == 0)


def _stuck(database: str) -> list[tuple[object, ...]]:
    """Return the sessions of the service that wait for a lock."""
    return execute(
        database,
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'recipient-fields'"
        " AND wait_event_type = 'Lock'",
    )
