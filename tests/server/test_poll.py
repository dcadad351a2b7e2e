"""The thread that polls: whom it looks at, who wakes it, and that it forgets nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest

from recipient_fields.entrypoints.server import listener
from recipient_fields.entrypoints.server.connections import ApplicationTask, Connection

from .hosts import TIMEOUT, Host, eventually, host

LATER = 60.0
"""Seconds to the next time when everything is looked over: longer than any of these tests."""
REQUESTS = 30


@pytest.fixture
def it(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host that does what something has happened for, and nothing else."""
    with host(connections=100) as it:
        it.connect().get("/")
        monkeypatch.setattr(listener, "TICK_SECONDS", LATER)
        it.connect().get("/")  # It has begun to wait for so long.
        eventually(lambda: it.listener._next_check > 0)
        yield it
        monkeypatch.undo()
        it.connect()


@contextmanager
def counted(owner: Any, method: str) -> Iterator[list[object]]:
    """How often the method is called in the block."""
    calls: list[object] = []
    original = getattr(owner, method)

    def call(*values: Any) -> Any:
        calls.append(values)
        return original(*values)

    with patch.object(owner, method, call):
        yield calls


def test_idle_connections_cost_the_others_nothing(it: Host) -> None:
    asking = it.connect()
    idle = [it.connect() for _ in range(60)]
    eventually(lambda: it.has_connections(2 + 1 + len(idle)))
    asking.get("/")

    with counted(Connection, "readable") as looks:
        for _ in range(REQUESTS):
            asking.get("/")

    assert REQUESTS <= len(looks) <= 5 * REQUESTS


def test_a_request_is_answered_without_waking_the_thread_that_polls(it: Host) -> None:
    asking = it.connect()
    asking.get("/")

    with counted(it.listener, "attend_to") as wakes:
        for _ in range(REQUESTS):
            asking.get("/")

    assert len(wakes) <= 1, "a worker may be late once, but not always"


def test_what_came_during_an_answer_is_answered_next(it: Host) -> None:
    """The socket told in vain that it can be read, and was not asked again until then."""
    peer = it.working()
    for _ in range(3):
        peer.ask("/")
    it.release.set()

    assert [peer.answer().status for _ in range(4)] == [200] * 4
    assert peer.get("/").status == 200


def test_the_next_request_is_read_before_the_worker_is_back_from_sending(
    it: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, go_on = Event(), Event()

    def finish(task: ApplicationTask) -> None:
        sent.set()
        assert go_on.wait(TIMEOUT)

    peer = it.connect()
    peer.get("/")
    eventually(lambda: not it.listener.task_dispatcher.in_flight)
    with monkeypatch.context() as slowed:
        slowed.setattr(ApplicationTask, "finish", finish)
        assert peer.get("/").body == b"ok"
        assert sent.wait(TIMEOUT)
        peer.ask("/")
        [busy] = [c for c in it.listener.active_channels.values() if c.requests]
        eventually(lambda: len(busy.requests) == 2)
        go_on.set()
        assert peer.answer().body == b"ok"


def test_a_client_that_leaves_during_an_answer_is_noticed_after_it(it: Host) -> None:
    before = len(it.listener.active_channels)
    peer = it.working()
    peer.close()
    it.release.set()

    eventually(lambda: it.has_connections(before))
