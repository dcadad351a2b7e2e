"""Responses while PostgreSQL is down, and the recovery.

RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS sets the duration of an outage.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

import psycopg
import pytest

from ...support.outages import OUTAGE_SECONDS, OUTAGES
from ...support.postgres import PostgresServer, execute
from ...support.waiting import eventually
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
        ("SELECT FROM organizations FOR UPDATE", {("GET", 200), ("POST", 503)}),
        # A list is read from the table only if its catalog has changed since.
        ("LOCK TABLE recipient_fields", {("GET", 200), ("GET", 503), ("POST", 503)}),
        ("LOCK TABLE api_keys", {("GET", 503), ("POST", 503)}),
    ],
    ids=["a row", "a table", "the keys"],
)
def test_a_lock_causes_503_in_time_and_leaves_no_session_waiting(
    serve: Callable[[], str], database: str, key: str, lock: str, expected: set[tuple[str, int]]
) -> None:
    with psycopg.connect(database) as locker:
        with HttpLoad(serve(), key) as load:
            locker.execute(lock.encode())
            locked = monotonic()
            sleep(3)
        eventually(lambda: not _stuck(database), within=1)
    load.require_an_outage_of_503s()
    during = {
        (response.method, response.status) for response in load.responses if response.began > locked
    }
    assert ("POST", 503) in during
    assert during <= expected
    load.require_nothing_lost()


def _stuck(database: str) -> list[tuple[object, ...]]:
    """Return the sessions of the service that wait for a lock."""
    return execute(
        database,
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'recipient-fields'"
        " AND wait_event_type = 'Lock'",
    )
