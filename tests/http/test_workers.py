"""Who answers, and who polls meanwhile."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from unittest.mock import Mock

import pytest

from recipient_fields.entrypoints.server import workers
from recipient_fields.entrypoints.server.workers import Workers

from .hosts import HANGS, eventually, host


@pytest.fixture
def seldom_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a second to find out that the thread that leads is away."""
    monkeypatch.setattr(workers, "_LOOK_SECONDS", 1)


@pytest.mark.usefixtures("seldom_looked")
def test_whoever_polls_also_answers() -> None:
    with host(threads=4) as it:
        peers = [it.connect() for _ in range(5)]
        assert len({peer.get("/thread").body for _ in range(10) for peer in peers}) == 1


def test_another_thread_polls_while_an_answer_takes_long() -> None:
    with host(threads=2) as it:
        waiting = it.working("/wait")
        assert it.connect().get("/").body == b"ok"
        it.release.set()
        assert waiting.answer().body == b"ok"


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_wait_at_once_than_there_are_threads_and_connections_are_still_polled(
    threads: int,
) -> None:
    with host(threads=threads) as it:
        waiting = [it.working() for _ in range(threads)]
        queued = it.connect()
        queued.ask("/")
        eventually(lambda: it.listener.task_dispatcher.in_flight == threads + 1)
        refused = it.connect()
        refused.send("nonsense\r\n\r\n")
        it.release.set()
        assert {peer.answer().body for peer in (*waiting, queued)} == {b"ok"}
        assert refused.answer().status == 400
        assert it.begun == threads + 1


class Task:
    """A request that takes a while, or fails, and may ask for another to be answered."""

    queued_at = 0.0
    writes = False

    def __init__(self, office: Office, more: int) -> None:
        self._office = office
        self._more = more

    def service(self) -> None:
        office = self._office
        with office.lock:
            office.at_once += 1
            office.most = max(office.most, office.at_once)
        kind = random.randrange(4)
        if kind <= 1:
            time.sleep(0.002)
        with office.lock:
            office.at_once -= 1
            office.answered += 1
        if self._more:
            office.workers.add_task(Task(office, self._more - 1))
        if kind == 2:
            raise SystemExit("a defect")


class Office:
    """Workers, and turns that bring them tasks."""

    def __init__(self, threads: int) -> None:
        self.lock = Lock()
        self.turning = Lock()
        self.added = self.answered = self.at_once = self.most = 0
        self.overlapped = False
        """Were two turns under way at once?"""
        self.workers = Workers(self.turn, threads)

    def turn(self, _seconds: float = 0) -> None:
        if not self.turning.acquire(blocking=False):
            self.overlapped = True
            return
        for _ in range(random.randrange(4)):
            self.added += 3
            self.workers.add_task(Task(self, 2))
        time.sleep(0.0005)
        self.turning.release()


@contextmanager
def leading(workers: Workers) -> Iterator[None]:
    """Some thread leads while the block runs; from then on the caller does."""
    ended = Event()
    thread = Thread(target=workers.lead_until, args=(ended.is_set,))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(HANGS)
        assert not thread.is_alive()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_everything_is_answered_once_and_one_polls_at_a_time(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(Workers, "logger", Mock())
    for _ in range(5):  # Each ends at another moment.
        office = Office(threads)
        with leading(office.workers):
            time.sleep(0.1)
        for _ in range(2):
            office.turn()
            time.sleep(0.005)
            eventually(lambda: not office.workers.in_flight)  # noqa: B023 (called at once)
        assert office.answered == office.added > 0
        assert office.most <= threads
        assert not office.overlapped
        office.workers.shutdown()
        assert not office.workers.threads


@pytest.mark.usefixtures("seldom_looked")
def test_whoever_has_lent_the_lead_does_not_get_it_back_in_the_end() -> None:
    begun, release = Event(), Event()

    def service() -> None:
        begun.set()
        assert release.wait(HANGS)

    turns = Mock()
    answering = Workers(turns, 1)
    answering.add_task(Mock(service=service, writes=False))
    with leading(answering):
        assert begun.wait(HANGS)
    turns.reset_mock()
    release.set()
    eventually(lambda: not answering.in_flight)
    answering.shutdown()
    assert not turns.called


def test_nobody_waits_for_more_while_something_is_to_be_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "_AWAY_SECONDS", 0)
    with host() as it:
        peer = it.connect()
        began = time.monotonic()
        peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 30)
        assert [peer.answer().body for _ in range(30)] == [b"ok"] * 30
        assert time.monotonic() - began < 1


def test_a_turn_that_fails_ends_the_host() -> None:
    failing = Workers(Mock(side_effect=OSError("the system polls no more")), 1)
    with pytest.raises(OSError, match="polls no more"):
        failing.lead_until(lambda: False)
    failing.shutdown()
