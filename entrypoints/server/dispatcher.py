"""The requests that wait for a thread, and the threads that call the application."""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Any, Protocol

from waitress.task import ThreadedTaskDispatcher

from . import limits
from .connections import Connection


class QueuedRequest(Protocol):
    """A request that waits for a thread."""

    queued_at: float
    """When it began to wait, as a `monotonic()` time."""
    occupies_write: bool
    """Whether it counts as one of the writes in progress, since it was taken out of the queue."""

    @property
    def writes(self) -> bool:
        """Whether it may change something."""


class RequestQueue:
    """Requests in the order in which they came, with a limit to the writes in progress at once.

    A write can wait for a lock of the storage, for a second and longer. If writes could occupy all
    threads, one organization whose row is locked would keep the others from reading. A write
    beyond `max_writes` stays in the queue, and reads overtake it.

    The caller holds the dispatcher's lock whenever it uses the queue. The queue is true if a
    request can be taken; its length is the number of all that wait. Waitress' dispatcher uses
    these members of a `deque`.
    """

    def __init__(self, max_writes: int) -> None:
        self._max_writes = max_writes
        self._writes_in_progress = 0
        self._reads: deque[QueuedRequest] = deque()
        self._writes: deque[QueuedRequest] = deque()

    def __len__(self) -> int:
        return len(self._reads) + len(self._writes)

    def __bool__(self) -> bool:
        return bool(self._reads) or self._has_place_for_write

    def append(self, request: QueuedRequest) -> None:
        """Add a request behind all others."""
        (self._writes if request.writes else self._reads).append(request)

    def popleft(self) -> QueuedRequest:
        """Take the request that has waited longest, of those that can be taken."""
        if not self._has_place_for_write:
            return self._reads.popleft()
        if self._reads and self._reads[0].queued_at <= self._writes[0].queued_at:
            return self._reads.popleft()
        self._writes_in_progress += 1
        self._writes[0].occupies_write = True
        return self._writes.popleft()

    def end_write(self) -> None:
        """Free the place of a write that was taken and has ended."""
        self._writes_in_progress -= 1

    def take_older(self, than: float) -> list[QueuedRequest]:
        """Take all requests that were queued before that time, without counting them as writes."""
        taken = []
        for waiting in (self._reads, self._writes):
            while waiting and waiting[0].queued_at < than:
                taken.append(waiting.popleft())
        return taken

    @property
    def _has_place_for_write(self) -> bool:
        return bool(self._writes) and self._writes_in_progress < self._max_writes


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
