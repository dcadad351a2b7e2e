"""The threads that answer: one of them leads, the others follow."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import Event
from time import monotonic, sleep
from typing import Any

from waitress.task import ThreadedTaskDispatcher

from .connections import LONGEST_WAIT, Connection
from .request_queue import RequestQueue

_LOOK_SECONDS = 0.005
"""How often it is looked whether the one who leads has been away since the last time."""
_AWAY_SECONDS = 0.01
"""For how long one thread answers without a look at the connections."""
_END_SECONDS = 0.1
"""How long the end may go unnoticed."""


class Workers(ThreadedTaskDispatcher):
    """Threads that take turns at polling, and the queue of what is to be answered.

    Whoever leads polls the connections and then answers what it has read, itself: to hand each
    request to another thread costs as much as to answer it, because both then wait for the
    interpreter. Meanwhile its lead is lent. A follower takes it if the answer takes
    longer than two looks. The last one that could lead answers nothing, so that there is always one
    to poll.

    This is the pattern Leader/Followers (Schmidt and others, 2000), but for lending.

    At least one thread is left to reads, if there are several: see `RequestQueue`.
    """

    queue: Any
    lock: Any
    queue_cv: Any
    thread_exit_cv: Any
    threads: Any
    stop_count: int
    logger: Any

    def __init__(self, turn: Callable[[float], None], threads: int) -> None:
        """`turn` polls once, for at most so many seconds; one thread at a time calls it.

        So many threads answer at once, while one more polls. Without any, `lead_until` polls, and
        what is read must be answered there.
        """
        super().__init__()
        self.queue = RequestQueue(most_writes=max(threads - 1, 1))
        self._turn = turn
        self._followers = 0
        self._answering = 0
        self._vacant = False
        self._lent_by: int | None = None
        self._loans = 0
        self._lent = Event()
        self._withdrawn = False
        self._given_back = Event()
        self._failure: BaseException | None = None
        if threads:
            self.set_thread_count(threads + 1)

    @property
    def in_flight(self) -> int:
        """Requests that wait for a thread or have one."""
        return len(self.queue) + self._answering

    def add_task(self, task: Any) -> None:
        """Queue a connection whose first request is to be answered."""
        task.queued_at = monotonic()
        with self.lock:
            self.queue.append(task)
            if self._withdrawn:  # Else whoever adds it is about to look for something to answer.
                self.queue_cv.notify()

    def overdue(self) -> list[Connection]:
        """Take out whatever waited for too long."""
        due = monotonic() - LONGEST_WAIT
        with self.lock:
            overdue: list[Connection] = self.queue.take_older(due)
        return overdue

    def end_write(self) -> None:
        """Let another write begin; the thread whose own has ended looks for it next."""
        with self.lock:
            self.queue.end_write()

    def lead_until(self, ended: Callable[[], bool]) -> None:
        """Have one of the threads lead until `ended`; then the caller does, and they only answer.

        Raises what a turn raised.
        """
        if not self.threads:
            while not ended():
                self._turn(inf)
            return
        with self.lock:
            self._vacant = True
            self.queue_cv.notify()
        while not ended() and self._failure is None:
            if self._lent.wait(_END_SECONDS):
                self._lent.clear()
                loan = self._loans
                sleep(_LOOK_SECONDS)
                if loan == self._loans:
                    self._hand_over(self._lent_by)
        with self.lock:
            self._withdrawn = True
            free = self._vacant or self._lent_by is not None
            self._vacant, self._lent_by = False, None
            self.stop_count += 1  # The caller polls now, so one less is needed.
            self.queue_cv.notify_all()
        if not free:
            self._given_back.wait()
        if self._failure is not None:
            raise self._failure

    def handler_thread(self, thread_no: int) -> None:
        """See ThreadedTaskDispatcher."""
        while True:
            with self.lock:
                self._followers += 1
                while not (self._vacant or self.stop_count or (self.queue and self._spared)):
                    self.queue_cv.wait()
                self._followers -= 1
                if self.stop_count:
                    self.stop_count -= 1
                    self.threads.discard(thread_no)
                    self.thread_exit_cv.notify()
                    return
                leads, self._vacant = self._vacant, False
                if not leads:
                    task = self._next()
            if leads:
                self._lead(thread_no)
            else:
                self._answer(task)
                with self.lock:
                    self._answering -= 1

    def _lead(self, me: int) -> None:
        """Poll and answer until somebody else leads."""
        while not self._withdrawn:
            try:
                self._turn(0 if self.queue and self._followers else inf)
            except BaseException as error:  # noqa: BLE001 (raised again in `lead_until`)
                self._failure = error
                break
            end = monotonic() + _AWAY_SECONDS
            while (task := self._lend(me)) is not None:
                self._answer(task)
                with self.lock:
                    self._answering -= 1
                    if self._lent_by != me:
                        return
                    self._lent_by = None
                if monotonic() > end:
                    break
        self._given_back.set()

    def _lend(self, me: int) -> Any:
        """What to answer while the lead is lent; None where nothing waits or nobody could lead."""
        with self.lock:
            if self._withdrawn or not (self.queue and self._followers):
                return None
            self._lent_by = me
            self._loans += 1
            task = self._next()
        if not self._lent.is_set():
            self._lent.set()
        return task

    def _hand_over(self, lender: int | None) -> None:
        """Give the lead to a follower where it is lent by that thread, which is away for long."""
        with self.lock:
            if lender is not None and self._lent_by == lender:
                self._vacant, self._lent_by = True, None
                self.queue_cv.notify()

    @property
    def _spared(self) -> bool:
        """May a follower answer: could somebody lead all the same?"""
        return self._lent_by is None or self._followers > 1

    def _next(self) -> Any:
        self._answering += 1
        return self.queue.popleft()

    def _answer(self, task: Any) -> None:
        try:
            task.service()
        except BaseException:
            self.logger.exception("A request could not be answered.")
