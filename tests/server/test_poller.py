"""The loop that polls: it asks no idle connection, and misses no event."""

from __future__ import annotations

import select
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from recipient_fields.entrypoints.server import listener
from recipient_fields.entrypoints.server.connections import Connection

from .hosts import Host, eventually, host

REQUESTS = 30


@pytest.fixture(params=["epoll", "Waitress' own loop"])
def it(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A server that relies on events, as its periodic check of the connections is too far away."""
    if request.param != "epoll":
        monkeypatch.delattr(select, "epoll")
    with host(connections=100) as it:
        assert it.connect().get("/").body == b"ok"
        monkeypatch.setattr(listener, "_TICK", 60.0)
        assert it.connect().get("/").body == b"ok"
        yield it
        monkeypatch.undo()
        it.connect().get("/")


@pytest.mark.parametrize("it", ["epoll"], indirect=True)
def test_idle_connections_are_not_asked_what_they_wait_for(it: Host) -> None:
    requesting = it.connect()
    idle = [it.connect() for _ in range(60)]
    eventually(lambda: it.has_connections(2 + 1 + len(idle)))
    requesting.get("/")

    with patch.object(Connection, "readable", autospec=True, return_value=True) as readable:
        for _ in range(REQUESTS):
            requesting.get("/")

    assert REQUESTS <= readable.call_count <= 5 * REQUESTS


def test_a_request_that_arrives_during_a_response_comes_next(it: Host) -> None:
    peer = it.working()
    for _ in range(3):
        peer.ask("/")
    it.release.set()

    assert [peer.answer().status for _ in range(4)] == [200] * 4
    assert peer.get("/").status == 200


def test_a_large_response_is_sent_on_when_the_client_receives(it: Host) -> None:
    peer = it.connect(receives=4096)
    for _ in range(2):
        peer.ask("/large/5000000")
    assert [len(peer.answer().body) for _ in range(2)] == [5_000_000] * 2
    assert peer.get("/").body == b"ok"


def test_a_client_that_leaves_during_a_response_is_noticed_after_it(it: Host) -> None:
    before = len(it.listener.active_channels)
    peer = it.working()
    peer.close()
    it.release.set()

    eventually(lambda: it.has_connections(before))
