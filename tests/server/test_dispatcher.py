"""The threads that call the application."""

from __future__ import annotations

import pytest

from ..support.waiting import eventually
from .servers import running_server


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_requests_are_processed_at_once_than_there_are_threads(threads):
    with running_server(threads=threads) as server:
        waiting = [server.working() for _ in range(threads)]
        queued = server.connect()
        queued.send_request("/")
        eventually(lambda: server.listener.task_dispatcher.in_flight == threads + 1)
        rejected = server.connect()
        rejected.send("nonsense\r\n\r\n")
        server.release.set()
        assert {client.response().body for client in (*waiting, queued)} == {b"ok"}
        assert rejected.response().status == 400
        assert server.begun == threads + 1


def test_a_request_that_blocks_its_thread_does_not_delay_other_threads() -> None:
    with running_server(threads=2) as server:
        waiting = server.working()
        assert server.connect().get("/").body == b"ok"
        server.release.set()
        assert waiting.response().body == b"ok"
