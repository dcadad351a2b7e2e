"""The threads that call the application."""

from __future__ import annotations

from time import monotonic
from typing import Any

from waitress.task import ThreadedTaskDispatcher

from . import limits
from .connections import Connection
from .request_queue import RequestQueue


class Dispatcher(ThreadedTaskDispatcher):
    """Threads that respond to the requests of a `RequestQueue`.

    If there are several threads, writes leave at least one of them to reads.
    """

    queue: Any
    lock: Any
    queue_cv: Any
    active_count: int

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.queue = RequestQueue(max_writes=max(threads - 1, 1))
        self.set_thread_count(threads)

    @property
    def in_flight(self) -> int:
        """Requests that wait for a thread or have one."""
        return len(self.queue) + self.active_count

    def add_task(self, task: Any) -> None:
        """Queue a connection for its first request. Unlike Waitress, log no line if it waits."""
        task.queued_at = monotonic()
        with self.lock:
            self.queue.append(task)
            self.queue_cv.notify()

    def take_overdue(self) -> list[Connection]:
        """Remove and return the connections that have waited for too long."""
        with self.lock:
            overdue: list[Connection] = self.queue.take_older(monotonic() - limits.QUEUE_TIMEOUT)
        return overdue

    def end_write(self) -> None:
        """Let another write begin. The thread that calls this looks into the queue next."""
        with self.lock:
            self.queue.end_write()
