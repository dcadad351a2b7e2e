"""The order in which threads take requests."""

from __future__ import annotations

from itertools import count

import pytest
from attrs import Factory, define

from recipient_fields.entrypoints.server import limits
from recipient_fields.entrypoints.server.connections import may_write
from recipient_fields.entrypoints.server.dispatcher import RequestQueue

from ..support.waiting import eventually
from .servers import RunningServer, running_server

_moments = count(1)


@define(eq=False)
class Request:
    writes: bool
    queued_at: float = Factory(lambda: float(next(_moments)))
    occupies_write: bool = False


def filled(max_writes: int, *requests: Request) -> RequestQueue:
    queue = RequestQueue(max_writes)
    for request in requests:
        queue.append(request)
    return queue


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "WRITE"])
def test_every_method_except_get_head_and_options_may_write(method: str) -> None:
    assert may_write(method)
    assert not any(map(may_write, ("GET", "HEAD", "OPTIONS")))


def test_requests_leave_the_queue_in_the_order_of_arrival() -> None:
    requests = [Request(writes) for writes in (True, False, False, True, False, True)]
    queue = filled(3, *requests)
    assert len(queue) == 6
    assert [queue.popleft() for _ in requests] == requests
    assert not queue


def test_reads_overtake_a_write_above_the_limit() -> None:
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


def test_overdue_writes_are_removed_without_being_counted() -> None:
    first, second, read, late = Request(True), Request(True), Request(False), Request(True)
    queue = filled(1, first, second, read, late)
    assert queue.popleft() is first
    assert sorted(queue.take_older(late.queued_at), key=lambda r: r.queued_at) == [second, read]
    assert not second.occupies_write
    queue.end_write()
    assert queue.popleft() is late


def send_writes(server: RunningServer, begun: int) -> None:
    """Send eight writes that wait, and expect that `begun` of them begin."""
    for _ in range(8):
        server.connect().send_request("/wait", "POST")
    eventually(lambda: server.begun == begun)
    eventually(lambda: server.listener.task_dispatcher.in_flight == 8)


@pytest.mark.parametrize(("threads", "writes"), [(1, 1), (2, 1), (4, 3), (8, 7)])
def test_writes_leave_one_thread_to_reads(threads: int, writes: int) -> None:
    with running_server(threads) as server:
        send_writes(server, writes)
        if threads > 1:
            client = server.connect()
            for _ in range(20):
                assert client.get("/").body == b"ok"
            assert server.begun == writes + 20


def test_pipelined_requests_wait_for_the_write_before_them() -> None:
    with running_server(threads=2) as server:
        send_writes(server, 1)
        ahead, reader = server.connect(), server.connect()
        for method in ("GET", "POST", "GET", "POST"):
            ahead.send_request("/thread", method)
        assert ahead.response().status == 200
        assert reader.get("/").body == b"ok"
        assert server.begun == 3
        server.release.set()
        assert [ahead.response().status for _ in range(3)] == [200] * 3
        assert server.begun == 1 + 7 + 4 + 1


def test_a_write_that_waits_too_long_is_rejected_and_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "QUEUE_TIMEOUT", 0.3)
    with running_server(threads=2) as server:
        working = server.connect()
        working.send_request("/wait", "POST")
        eventually(lambda: server.begun == 1)
        waiting = [server.connect() for _ in range(3)]
        for client in waiting:
            client.send_request("/", "POST")
        assert [client.response().outcome for client in waiting] == [(503, "overloaded")] * 3
        server.release.set()
        assert working.response().status == 200
        assert [client.get("/", "POST").status for client in waiting] == [200] * 3


def test_a_draining_server_responds_to_writes_above_the_limit() -> None:
    with running_server(threads=2) as server:
        clients = [server.connect() for _ in range(5)]
        for client in clients:
            client.send_request("/wait", "POST")
        eventually(lambda: server.listener.task_dispatcher.in_flight == 5)
        server.listener.drain()
        server.release.set()
        assert [client.response().status for client in clients] == [200] * 5
        eventually(lambda: server.ended)
