"""The order in which threads take requests."""

from __future__ import annotations

from itertools import count

import pytest
from attrs import Factory, define

from recipient_fields.entrypoints.server.connections import Kind
from recipient_fields.entrypoints.server.dispatcher import RequestQueue

from ..support.waiting import eventually
from .servers import RunningServer, running_server

_moments = count(1)


READ, WRITE, COMPUTATION = Kind


@define(eq=False)
class Request:
    kind: Kind
    queued_at: float = Factory(lambda: float(next(_moments)))
    counted_as: Kind | None = None


def filled(max_others: int, *requests: Request, max_computations: int = 1) -> RequestQueue:
    queue = RequestQueue(max_others, max_computations)
    for request in requests:
        queue.append(request)
    return queue


def test_requests_leave_the_queue_in_the_order_of_arrival() -> None:
    kinds = (WRITE, READ, COMPUTATION, READ, WRITE, READ)
    requests = [Request(kind) for kind in kinds]
    queue = filled(3, *requests)
    assert len(queue) == 6
    assert [queue.popleft() for _ in requests] == requests
    assert not queue


def test_reads_overtake_a_write_above_the_limit() -> None:
    first, second, read = Request(WRITE), Request(WRITE), Request(READ)
    queue = filled(1, first, second, read)
    assert queue.popleft() is first
    assert first.counted_as is WRITE
    assert queue.popleft() is read
    assert len(queue) == 1
    assert not queue
    queue.end(WRITE)
    assert queue
    assert queue.popleft() is second


def test_reads_and_writes_overtake_a_computation_above_the_limit() -> None:
    first, second, write, read = map(Request, (COMPUTATION, COMPUTATION, WRITE, READ))
    queue = filled(3, first, second, write, read)
    assert [queue.popleft() for _ in range(3)] == [first, write, read]
    assert not queue
    queue.end(WRITE)
    assert not queue
    queue.end(COMPUTATION)
    assert queue.popleft() is second


def test_writes_and_computations_together_leave_threads_to_reads() -> None:
    write, computation, late, read = map(Request, (WRITE, COMPUTATION, WRITE, READ))
    queue = filled(2, write, computation, late, read)
    assert [queue.popleft() for _ in range(3)] == [write, computation, read]
    assert not queue
    queue.end(COMPUTATION)
    assert queue.popleft() is late


def test_overdue_writes_are_removed_without_being_counted() -> None:
    first, second, read, late = map(Request, (WRITE, WRITE, READ, WRITE))
    queue = filled(1, first, second, read, late)
    assert queue.popleft() is first
    assert sorted(queue.take_older(late.queued_at), key=lambda r: r.queued_at) == [second, read]
    assert second.counted_as is None
    queue.end(WRITE)
    assert queue.popleft() is late


@pytest.mark.parametrize(
    ("method", "path", "begun"),
    [
        *((method, "/wait", 3) for method in ("POST", "PUT", "PATCH", "DELETE", "WRITE")),
        ("POST", "/wait/compute", 1),
        ("POST", "/wait/%63ompute", 1),
        *((method, "/wait/compute", 4) for method in ("GET", "HEAD", "OPTIONS")),
    ],
)
def test_methods_and_paths_say_how_many_requests_are_in_progress(method, path, begun):
    with running_server(threads=4) as server:
        for _ in range(5):
            server.connect().send_request(path, method)
        eventually(lambda: server.begun == begun)
        eventually(lambda: server.listener.task_dispatcher.in_flight == 5)
        assert server.begun == begun


def test_another_client_writes_while_computations_wait() -> None:
    with running_server(threads=4) as server:
        computing = [server.connect() for _ in range(5)]
        for client in computing:
            client.send_request("/wait/compute", "POST")
        eventually(lambda: server.begun == 1)
        writer = server.connect()
        assert [writer.get("/", "PUT").status for _ in range(20)] == [200] * 20
        assert server.begun == 21
        server.release.set()
        assert [client.response().status for client in computing] == [200] * 5


def send_writes(server: RunningServer, begun: int) -> None:
    """Send eight writes that wait, and expect that `begun` of them begin."""
    for _ in range(8):
        server.connect().send_request("/wait", "POST")
    eventually(lambda: server.begun == begun)
    eventually(lambda: server.listener.task_dispatcher.in_flight == 8)


@pytest.mark.parametrize(("threads", "writes"), [(1, 1), (2, 1), (4, 3), (8, 7)])
def test_writes_leave_one_thread_to_reads(threads, writes):
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


def test_a_write_that_waits_too_long_is_rejected_and_not_counted() -> None:
    with running_server(threads=2, QUEUE_TIMEOUT=0.3) as server:
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
