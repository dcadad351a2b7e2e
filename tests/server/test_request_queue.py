"""Which request a thread takes next."""

from __future__ import annotations

from itertools import count

import pytest
from attrs import Factory, define

from recipient_fields.entrypoints.server import limits
from recipient_fields.entrypoints.server.request_queue import RequestQueue, may_write

from .hosts import Host, eventually, host

_moments = count(1)


@define(eq=False)
class Request:
    writes: bool
    queued_at: float = Factory(lambda: float(next(_moments)))
    occupies_write: bool = False


def filled(most_writes: int, *requests: Request) -> RequestQueue:
    queue = RequestQueue(most_writes)
    for request in requests:
        queue.append(request)
    return queue


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "WRITE"])
def test_every_method_but_those_that_only_read_may_write(method: str) -> None:
    assert may_write(method)
    assert not any(map(may_write, ("GET", "HEAD", "OPTIONS")))


def test_requests_are_taken_in_the_order_in_which_they_came() -> None:
    requests = [Request(writes) for writes in (True, False, False, True, False, True)]
    queue = filled(3, *requests)
    assert len(queue) == 6
    assert [queue.popleft() for _ in requests] == requests
    assert not queue


def test_reads_overtake_a_write_that_finds_no_place() -> None:
    first, second, read = Request(True), Request(True), Request(False)
    queue = filled(1, first, second, read)
    assert queue.popleft() is first
    assert first.occupies_write
    assert queue.popleft() is read
    assert len(queue) == 1
    assert not queue
    queue.end_write()
    assert queue
    assert queue.popleft() is second


def test_what_waited_for_too_long_is_taken_without_being_counted() -> None:
    first, second, read, late = Request(True), Request(True), Request(False), Request(True)
    queue = filled(1, first, second, read, late)
    assert queue.popleft() is first
    assert sorted(queue.take_older(late.queued_at), key=lambda r: r.queued_at) == [second, read]
    assert not second.occupies_write
    queue.end_write()
    assert queue.popleft() is late


def writing(it: Host, number: int) -> None:
    """Writes that all wait, of which so many have begun."""
    for _ in range(8):
        it.connect().ask("/wait", "POST")
    eventually(lambda: it.begun == number)
    eventually(lambda: it.listener.task_dispatcher.in_flight == 8)


@pytest.mark.parametrize(("threads", "writes"), [(1, 1), (2, 1), (4, 3), (8, 7)])
def test_writes_leave_one_thread_to_reads(threads: int, writes: int) -> None:
    with host(threads) as it:
        writing(it, writes)
        if threads > 1:
            peer = it.connect()
            for _ in range(20):
                assert peer.get("/").body == b"ok"
            assert it.begun == writes + 20


def test_requests_sent_ahead_wait_for_the_write_before_them_and_keep_their_order() -> None:
    with host(threads=2) as it:
        writing(it, 1)
        ahead, reader = it.connect(), it.connect()
        for method in ("GET", "POST", "GET", "POST"):
            ahead.ask("/thread", method)
        assert ahead.answer().status == 200
        assert reader.get("/").body == b"ok"
        assert it.begun == 3
        it.release.set()
        assert [ahead.answer().status for _ in range(3)] == [200] * 3
        assert it.begun == 1 + 7 + 4 + 1


def test_a_write_that_waited_for_too_long_is_rejected_and_takes_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "QUEUE_TIMEOUT", 0.3)
    with host(threads=2) as it:
        working = it.connect()
        working.ask("/wait", "POST")
        eventually(lambda: it.begun == 1)
        waiting = [it.connect() for _ in range(3)]
        for peer in waiting:
            peer.ask("/", "POST")
        assert [peer.answer().outcome for peer in waiting] == [(503, "overloaded")] * 3
        it.release.set()
        assert working.answer().status == 200
        assert [peer.get("/", "POST").status for peer in waiting] == [200] * 3


def test_writes_that_wait_for_a_place_are_answered_before_the_host_ends() -> None:
    with host(threads=2) as it:
        peers = [it.connect() for _ in range(5)]
        for peer in peers:
            peer.ask("/wait", "POST")
        eventually(lambda: it.listener.task_dispatcher.in_flight == 5)
        it.listener.drain()
        it.release.set()
        assert [peer.answer().status for peer in peers] == [200] * 5
        eventually(lambda: it.ended)
