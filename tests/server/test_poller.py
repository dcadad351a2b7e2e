"""With epoll, the poll loop ignores idle connections. It misses no event."""

from __future__ import annotations

import select
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from recipient_fields.entrypoints.server.connections import Connection

from ..support.waiting import eventually
from .servers import RunningServer, running_server

REQUESTS = 30


@pytest.fixture(params=["epoll", "Waitress' own loop"])
def server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunningServer]:
    """Run a server that relies on events: its periodic check is too late for the tests."""
    if request.param != "epoll":
        monkeypatch.delattr(select, "epoll")
    with running_server(connections=100) as server:
        assert server.connect().get("/").body == b"ok"
        checked_in_time = server.listener.tick
        server.listener.tick = 60.0
        assert server.connect().get("/").body == b"ok"
        yield server
        server.listener.tick = checked_in_time
        server.connect().get("/")


@pytest.mark.parametrize("server", ["epoll"], indirect=True)
def test_idle_connections_cost_no_calls(server):
    requesting = server.connect()
    idle = [server.connect() for _ in range(60)]
    eventually(lambda: server.has_connections(2 + 1 + len(idle)))
    requesting.get("/")

    with patch.object(Connection, "readable", autospec=True, return_value=True) as readable:
        for _ in range(REQUESTS):
            requesting.get("/")

    assert REQUESTS <= readable.call_count <= 5 * REQUESTS


def test_a_request_that_arrives_during_a_response_comes_next(server):
    client = server.working()
    for _ in range(3):
        client.send_request("/")
    server.release.set()

    assert [client.response().status for _ in range(4)] == [200] * 4
    assert client.get("/").status == 200


def test_a_large_response_continues_when_the_client_receives(server):
    client = server.connect(receives=4096)
    for _ in range(2):
        client.send_request("/large/5000000")
    assert [len(client.response().body) for _ in range(2)] == [5_000_000] * 2
    assert client.get("/").body == b"ok"


def test_a_disconnection_during_a_response_is_detected_after_it(server):
    before = len(server.listener.active_channels)
    client = server.working()
    client.close()
    server.release.set()

    eventually(lambda: server.has_connections(before))
