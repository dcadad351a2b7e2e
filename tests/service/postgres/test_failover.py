"""Failover between two servers with synchronous replication: no acknowledged write is lost.

Figures are logged: `pytest --log-cli-level=INFO`. If RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS is set, a
test also runs with more writing clients than the service has threads.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import monotonic, sleep

import psycopg
import pytest
from attrs import frozen

from recipient_fields.adapters.postgres import migrate
from recipient_fields.entrypoints.service.selection import open_core

from ...support.outages import OUTAGE_SECONDS
from ...support.postgres import PASSWORD, PostgresServer
from ...support.service import FIELDS, Client, require_statuses
from ...support.waiting import eventually
from .conftest import serving
from .load import MAX_RESPONSE_TIME, Exchange, exchange
from .writers import (
    acknowledged_since,
    all_requests,
    require_nothing_lost_or_duplicated,
    writing,
)

pytestmark = pytest.mark.slow

THREADS = 4
POOL = 8 + 2
FIRST_WRITE = 3.0
"""The maximum number of seconds from a promotion to the first write."""
CROWDS = [THREADS - 2]
"""The numbers of clients that write while the standby is stopped."""
if "RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS" in os.environ:
    CROWDS.append(3 * POOL)

_log = logging.getLogger(__name__)


@frozen
class Pair:
    """A primary, and its synchronous standby."""

    primary: PostgresServer
    standby: PostgresServer

    @property
    def url(self) -> str:
        """The URL of the server that accepts writes."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.primary, self.standby))
        return f"postgresql://postgres:{PASSWORD}@{hosts}/postgres?target_session_attrs=read-write"

    def new_keys(self, number: int) -> list[str]:
        """Return keys of that many organizations, so that no writer waits for another."""
        core = open_core(self.url)
        names = [f"Organization {n}" for n in range(number)]
        organizations = [core.administration.create_organization(name) for name in names]
        keys = [core.administration.issue_key(each.id, name="Test") for each in organizations]
        core.storage.close()
        return [key.plain.reveal() for key in keys]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        primary = PostgresServer.create()
        stack.callback(primary.remove)
        stack.callback(primary.bring_back)
        migrate(primary.url())
        standby = primary.standby()
        stack.callback(standby.remove)
        primary.require_standby()
        yield Pair(primary, standby)


@pytest.mark.parametrize("lose", [PostgresServer.kill_everything, PostgresServer.freeze])
def test_a_failover_loses_no_acknowledged_write(
    pair: Pair, lose: Callable[[PostgresServer], None]
) -> None:
    keys = pair.new_keys(THREADS)
    with serving(pair.url) as url:
        with writing([Client(url, key) for key in keys]) as writers:
            # On one machine, a standby receives everything that a killed primary has sent.
            pair.primary.hold_replication_back()
            sleep(0.3)
            lose(pair.primary)
            lost = monotonic()
            pair.standby.promote()
            promoted = monotonic()
            eventually(lambda: acknowledged_since(lost, writers), within=FIRST_WRITE)
            sleep(1)
        require_nothing_lost_or_duplicated(writers)

    requests = all_requests(writers)
    first = acknowledged_since(lost, writers)[0].ended
    _log.info(
        "%s: first write %.2f s after the promotion and %.2f s after the loss;"
        " of %d requests, %d received 503 and %d received 409; the slowest took %.2f s;"
        " %d fields acknowledged, 0 lost",
        *(lose.__name__, first - promoted, first - lost, len(requests)),
        *(sum(each.status == status for each in requests) for status in (503, 409)),
        max(each.seconds for each in requests),
        sum(len(writer.acknowledged) for writer in writers),
    )


@pytest.mark.parametrize("crowd", CROWDS)
def test_a_primary_without_its_standby_serves_reads_and_is_not_exhausted(
    pair: Pair, crowd: int
) -> None:
    *keys, key = pair.new_keys(crowd + 1)
    with serving(pair.url) as url:
        reader = Client(url, key)
        reader.fields()
        with writing([Client(url, key) for key in keys]) as writers:
            pair.standby.stop("immediate")
            gone = monotonic()
            stuck, reads = sample_without_standby(
                pair.primary, reader, until=gone + 3 + OUTAGE_SECONDS
            )
            returning = monotonic()
            pair.standby.start()
            eventually(pair.primary.has_standby, within=10)
            back = monotonic()
            eventually(lambda: acknowledged_since(back, writers), within=1.5)
        require_nothing_lost_or_duplicated(writers)

    during = [each for each in all_requests(writers) if gone < each.ended < returning]
    _log.info(
        "%d writers: slowest response %.2f s, slowest read %.2f s, at most %d sessions stuck",
        *(crowd, max(each.seconds for each in during), max(each.seconds for each in reads)),
        max(stuck),
    )
    require_statuses(during, 503, 409)
    require_statuses(reads, 200)
    assert max(each.seconds for each in reads) < 1
    assert 0 < max(stuck) <= POOL


def sample_without_standby(
    primary: PostgresServer, reader: Client, *, until: float
) -> tuple[list[int], list[Exchange]]:
    """Return samples of the number of waiting sessions, and reads at the same time."""
    stuck, reads = [], []
    with psycopg.connect(primary.url(), autocommit=True) as connection:
        while monotonic() < until:
            reads.append(exchange("read", lambda: reader("GET", FIELDS)))
            waiting = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'recipient-fields'"
                " AND wait_event_type IN ('IPC', 'Lock')"
            )
            stuck.append(len(waiting.fetchall()))
            sleep(0.05)
    return stuck, reads


def test_recording_the_use_of_a_key_does_not_exceed_the_response_time(pair: Pair) -> None:
    """Recording the use of the key is a write, so it also waits for the standby."""
    (key,) = pair.new_keys(1)
    with serving(pair.url) as url:
        pair.standby.stop("immediate")
        began = monotonic()
        response = Client(url, key).create(name="City")
        seconds = monotonic() - began
        _log.info("503 after %.2f s", seconds)
        assert response.status == 503
        assert seconds < MAX_RESPONSE_TIME
