"""Responses while the network between the service and PostgreSQL fails.

RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS says how long an outage lasts.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from time import monotonic, sleep
from urllib.parse import urlsplit

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import Organization

from ...support.outages import OUTAGE_SECONDS
from ...support.postgres import PostgresServer
from ...support.service import FIELDS, Client, Response
from ...support.waiting import eventually
from .conftest import serving
from .load import HttpLoad
from .proxy import Proxy

pytestmark = pytest.mark.slow

NOTICED = 1.2
"""Seconds after which an outage is known."""
QUICK = 0.5
"""Seconds that a rejection takes at most from then on."""


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    with Proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def url(proxy: Proxy, database: str) -> Iterator[str]:
    """Start a service that reaches the database through the proxy, and return its URL."""
    port = str(urlsplit(database).port)
    with serving(database.replace(f":{port}/", f":{proxy.port}/")) as url:
        yield url


def test_responses_are_in_time_when_the_network_drops_every_packet(
    proxy: Proxy, url: str, key: str
) -> None:
    with HttpLoad(url, key) as load:
        with proxy.dropping_packets():
            lost = monotonic()
            with pytest.raises(TimeoutError):
                socket.create_connection(("127.0.0.1", proxy.port), timeout=0.5)
            sleep(NOTICED + OUTAGE_SECONDS)
            back = monotonic()
        sleep(2.5)
    load.require_an_outage_of_503s(within=NOTICED)
    load.require_quick_refusals_between(lost + NOTICED, back - QUICK, within=QUICK)
    load.require_service_since(back)
    load.require_nothing_lost()


def test_a_reset_connection_fails_at_most_the_requests_in_flight(
    proxy: Proxy, url: str, key: str
) -> None:
    with HttpLoad(url, key) as load:
        for _ in range(3):
            proxy.cut()
            sleep(0.3)
        cut = monotonic()
        sleep(2)
    load.require_an_outage_of_503s()
    load.require_service_since(cut)
    load.require_nothing_lost()


def test_a_slow_network_fails_no_request(proxy: Proxy, url: str, key: str) -> None:
    with HttpLoad(url, key) as load:
        proxy.latency = 0.1  # There and back: 200 ms.
        slow = monotonic()
        sleep(3)
        proxy.latency = 0.0
    load.require_service_since(slow - 1.5)
    assert 0.2 < max(each.seconds for each in load.exchanges) < 2
    load.require_nothing_lost()


def test_a_key_revoked_during_a_network_outage_is_rejected_after_it(
    proxy: Proxy, url: str, core: Core, acme: Organization, key: str
) -> None:
    client = Client(url, key)
    client.fields()
    (stored,) = core.administration.list_keys(acme.id)
    with proxy.dropping_packets():
        core.administration.revoke_key(acme.id, stored.id)
        began = monotonic()
        while monotonic() < began + OUTAGE_SECONDS:
            response = client("GET", FIELDS)
            assert (response.status, response.code) == (503, "api_key_validation_unavailable")

    def accepted() -> Response | None:
        response = client("GET", FIELDS)
        return response if response.status != 503 else None

    assert eventually(accepted, within=5).status == 401
