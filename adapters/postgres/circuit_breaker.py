"""A circuit breaker: it rejects requests immediately while PostgreSQL does not respond."""

from __future__ import annotations

import logging
from threading import Event, Lock
from time import monotonic

from psycopg import OperationalError

RESPONSE_TIMEOUT = 0.7
"""Maximum seconds without any response during a check. With the time to start a check and to wake
waiting requests, every rejection takes at most 1.2 s."""
CHECK_INTERVAL = 0.05
"""Seconds after which a waiting request checks the breaker again. Most responses take less."""

_NO_RESPONSE = "no response"

_log = logging.getLogger(__name__)


class CircuitOpen(OperationalError):
    """PostgreSQL is known not to respond. The statement was not sent, or lost its connection."""


class CircuitBreaker:
    """Opens if a check of the server gets no response, and closes when the server responds.

    While any connection gets responses it stays closed, so neither a slow statement nor a lost
    connection opens it. It writes one line to the log when it opens and one when it closes. All
    methods may be called from any thread.
    """

    def __init__(self, response_timeout: float = RESPONSE_TIMEOUT) -> None:
        """`response_timeout`: seconds after which a check without a response opens it."""
        self._response_timeout = response_timeout
        self._lock = Lock()
        self._check_began: float | None = None
        """When the first check without a response began."""
        self._checking = False
        self._last_response = 0.0
        self._reason = _NO_RESPONSE
        self._opened: float | None = None
        """The time of the last response, while the circuit is open."""
        self._rejected = 0
        self._check_requested = Event()

    def allow(self) -> bool:
        """Return whether a statement may be sent."""
        began = self._check_began
        if began is None:
            return True
        since = max(began, self._last_response)
        if monotonic() - since < self._response_timeout:
            return True
        if self._opened is None:
            self._open(since)
        return False

    def require(self) -> None:
        """Raise CircuitOpen unless a statement may be sent."""
        if not self.allow():
            raise CircuitOpen(f"the server does not respond: {self._reason}")

    def begin_check(self) -> None:
        """Record that a check began: a statement that the server can execute at once."""
        self._checking = True
        if self._check_began is None:
            self._check_began = monotonic()

    def record_failure(self, reason: str) -> None:
        """Record why the check failed. Another check should follow."""
        self._checking = False
        self._reason = reason

    def record_success(self) -> None:
        """Record that the check succeeded."""
        self._checking = False
        self.record_response()

    def record_response(self) -> None:
        """Record that the server has responded to any statement.

        This clears a failed check, and restarts the timeout of a running one.
        """
        self._last_response = monotonic()
        if not self._checking:
            self._check_began = None
        if self._opened is not None:
            self._close()

    def record_rejection(self) -> None:
        """Count a request that was rejected because the circuit is open."""
        with self._lock:
            self._rejected += 1

    def request_check(self) -> None:
        """Request a check now, because a request has waited for a while."""
        self._check_requested.set()

    def wait_for_request(self, seconds: float) -> None:
        """Wait until a check is requested, for at most this many seconds."""
        self._check_requested.wait(seconds)
        self._check_requested.clear()

    def _open(self, since: float) -> None:
        with self._lock:
            if self._opened is not None:
                return
            self._opened = since
            self._rejected = 0
        _log.warning(
            "PostgreSQL does not respond (%s). Requests are rejected until it does.",
            self._reason,
            extra={"facts": {"reason": self._reason}},
        )

    def _close(self) -> None:
        with self._lock:
            if self._opened is None:
                return
            seconds = round(monotonic() - self._opened, 1)
            rejected = self._rejected
            self._opened = None
            self._reason = _NO_RESPONSE
        _log.warning(
            "PostgreSQL responds again after %s s. %d requests were rejected.",
            seconds,
            rejected,
            extra={"facts": {"seconds": seconds, "rejected": rejected}},
        )
