"""The threads that call the application."""

from __future__ import annotations

import pytest

from .hosts import eventually, host


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_requests_are_processed_at_once_than_there_are_threads(threads: int) -> None:
    with host(threads=threads) as it:
        waiting = [it.working() for _ in range(threads)]
        queued = it.connect()
        queued.ask("/")
        eventually(lambda: it.listener.task_dispatcher.in_flight == threads + 1)
        rejected = it.connect()
        rejected.send("nonsense\r\n\r\n")
        it.release.set()
        assert {peer.answer().body for peer in (*waiting, queued)} == {b"ok"}
        assert rejected.answer().status == 400
        assert it.begun == threads + 1


def test_a_request_that_waits_leaves_the_other_threads_to_others() -> None:
    with host(threads=2) as it:
        waiting = it.working()
        assert it.connect().get("/").body == b"ok"
        it.release.set()
        assert waiting.answer().body == b"ok"
