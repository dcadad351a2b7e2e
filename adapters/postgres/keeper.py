"""The thread that checks whether the server responds, and whether idle connections do."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

import psycopg

from .circuit_breaker import CircuitBreaker
from .connection import DeadlineConnection
from .errors import one_line

_INTERVAL_SECONDS = 1.0
_SHORTEST_PAUSE_SECONDS = 0.1
"""Between two checks while requests wait, or until a failure is certain."""


class Keeper:
    """Checks the server every second, and sooner if a request has waited for a while.

    It uses a connection of its own, so that requests which use up the pool can't delay it. While
    the circuit is open, this is the one attempt per second to reach the server.
    """

    def __init__(
        self,
        breaker: CircuitBreaker,
        connect: Callable[[], DeadlineConnection],
        check_pool: Callable[[], None],
    ) -> None:
        """`check_pool` checks the idle connections of the pool, and connects if it has none."""
        self._breaker = breaker
        self._connect = connect
        self._check_pool = check_pool
        self._connection: DeadlineConnection | None = None
        self._closing = Event()
        self._thread = Thread(target=self._run, name="recipient-fields-keeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and wait up to a second for it."""
        self._closing.set()
        self._breaker.request_check()
        self._thread.join(_INTERVAL_SECONDS)

    def _run(self) -> None:
        pool_checked = monotonic()
        self._breaker.wait_for_request(_INTERVAL_SECONDS)  # Short-lived processes need no check.
        while not self._closing.is_set():
            began = monotonic()
            self._breaker.begin_check()
            if began - pool_checked >= _INTERVAL_SECONDS:
                pool_checked = began
                self._check_pool()
            responds = self._check_server()
            if not self._breaker.allow():
                self._closing.wait(max(began + _INTERVAL_SECONDS - monotonic(), 0.0))
                continue
            self._closing.wait(_SHORTEST_PAUSE_SECONDS)
            if responds:
                self._breaker.wait_for_request(_INTERVAL_SECONDS - _SHORTEST_PAUSE_SECONDS)
        self._disconnect()

    def _check_server(self) -> bool:
        try:
            if self._connection is None or self._connection.has_gone():
                self._disconnect()
                self._connection = self._connect()
            self._connection.execute("", prepare=False)
        except psycopg.Error as error:
            self._breaker.record_failure(one_line(error))
            return False
        self._breaker.record_success()
        return True

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
