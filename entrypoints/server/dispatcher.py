"""The requests that wait for a thread, and the threads that call the application."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from operator import attrgetter
from time import monotonic
from typing import Any, Protocol

from waitress.task import ThreadedTaskDispatcher

from . import limits
from .connections import Connection, Kind


class QueuedRequest(Protocol):
    """A request that waits for a thread."""

    queued_at: float
    """When it began to wait, as a `monotonic()` time."""
    counted_as: Kind | None
    """The kind as which it counts since it was taken out of the queue, or None."""

    @property
    def kind(self) -> Kind:
        """What it may do."""


class RequestQueue:
    """Requests in the order in which they came, with limits to those in progress at once.

    A write can wait for a lock of the storage, for a second and longer. If writes could occupy all
    threads, one organization whose row is locked would keep the others from reading. Computations
    share the interpreter: several at once are no faster than one after the other, and delay each
    statement of all other requests. A request beyond `max_others` writes and computations, or
    beyond `max_computations`, stays in the queue, and others overtake it.

    The caller holds the dispatcher's lock whenever it uses the queue. The queue is true if a
    request can be taken; its length is the number of all that wait. Waitress' dispatcher uses
    these members of a `deque`.
    """

    def __init__(self, max_others: int, max_computations: int) -> None:
        self._max_others = max_others
        self._max_computations = max_computations
        self._waiting: dict[Kind, deque[QueuedRequest]] = {kind: deque() for kind in Kind}
        self._in_progress = Counter[Kind]()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __bool__(self) -> bool:
        return any(self._first())

    def append(self, request: QueuedRequest) -> None:
        """Add a request behind all others."""
        self._waiting[request.kind].append(request)

    def popleft(self) -> QueuedRequest:
        """Take the request that has waited longest, of those that can be taken."""
        request = min(self._first(), key=attrgetter("queued_at"))
        kind = request.kind
        if kind is not Kind.READ:
            self._in_progress[kind] += 1
            request.counted_as = kind
        return self._waiting[kind].popleft()

    def end(self, kind: Kind) -> None:
        """Free the place of a write or a computation that was taken and has ended."""
        self._in_progress[kind] -= 1

    def take_older(self, than: float) -> list[QueuedRequest]:
        """Take all requests that were queued before that time, without counting them."""
        taken = []
        for waiting in self._waiting.values():
            while waiting and waiting[0].queued_at < than:
                taken.append(waiting.popleft())
        return taken

    def _first(self) -> Iterator[QueuedRequest]:
        """Yield the first request of each kind of which one can be taken."""
        return (
            waiting[0]
            for kind, waiting in self._waiting.items()
            if waiting and self._has_place(kind)
        )

    def _has_place(self, kind: Kind) -> bool:
        if kind is Kind.READ:
            return True
        if kind is Kind.COMPUTATION and self._in_progress[kind] >= self._max_computations:
            return False
        return self._in_progress.total() < self._max_others


class Dispatcher(ThreadedTaskDispatcher):
    """Threads that respond to the requests of a `RequestQueue`.

    If there are several threads, writes and computations leave at least one of them to reads. One
    of four threads computes.
    """

    queue: Any
    lock: Any
    queue_cv: Any
    active_count: int

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.queue = RequestQueue(
            max_others=max(threads - 1, 1), max_computations=max(threads // 4, 1)
        )
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

    def end(self, kind: Kind) -> None:
        """Let another request begin. The thread that calls this looks into the queue next."""
        with self.lock:
            self.queue.end(kind)
