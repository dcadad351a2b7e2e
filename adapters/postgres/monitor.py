"""The thread that checks whether PostgreSQL responds, and whether connections still work."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

import psycopg

from .circuit_breaker import CircuitBreaker
from .errors import one_line
from .primary import PositionedConnection, PrimaryTracker

_INTERVAL = 1.0
_SHORTEST_INTERVAL = 0.1
"""Seconds between two checks while requests wait, or until a failure is certain."""


class Monitor:
    """Checks PostgreSQL every second, and sooner if a request has waited.

    A check also reads whether the server is still the primary.

    It uses a connection of its own, so requests that use up the pool can't delay it. While the
    circuit is open, nothing else tries to reach PostgreSQL.
    """

    def __init__(
        self,
        breaker: CircuitBreaker,
        primary: PrimaryTracker,
        connect: Callable[[], PositionedConnection],
        check_pool: Callable[[], None],
    ) -> None:
        """Start the thread.

        `check_pool` checks the idle connections of the pool, and opens one if there is none.
        """
        self._breaker = breaker
        self._primary = primary
        self._connect = connect
        self._check_pool = check_pool
        self._connection: PositionedConnection | None = None
        self._closing = Event()
        self._thread = Thread(target=self._run, name="recipient-fields-monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and wait up to a second for it."""
        self._closing.set()
        self._breaker.request_check()
        self._thread.join(_INTERVAL)

    def _run(self) -> None:
        pool_checked = monotonic()
        self._breaker.wait_for_request(_INTERVAL)  # Short-lived processes need no check.
        while not self._closing.is_set():
            began = monotonic()
            self._breaker.begin_check()
            if began - pool_checked >= _INTERVAL:
                pool_checked = began
                self._check_pool()
            responds = self._check_server()
            if not self._breaker.allow():
                self._closing.wait(max(began + _INTERVAL - monotonic(), 0.0))
                continue
            self._closing.wait(_SHORTEST_INTERVAL)
            if responds:
                self._breaker.wait_for_request(_INTERVAL - _SHORTEST_INTERVAL)
        self._disconnect()

    def _check_server(self) -> bool:
        try:
            if self._connection is None or not self._is_usable(self._connection):
                self._disconnect()
                self._connection = self._connect()
            self._primary.identify(self._connection)
        except psycopg.Error as error:
            self._disconnect()
            self._breaker.record_failure(one_line(error))
            return False
        self._breaker.record_success()
        return True

    def _is_usable(self, connection: PositionedConnection) -> bool:
        return not connection.is_lost() and self._primary.allows(connection)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
