"""A circuit breaker: requests don't wait for an issuer that has stopped responding."""

from __future__ import annotations

from threading import Lock
from time import monotonic

MAX_FAILURES = 3
PAUSE_SECONDS = 1.0


class CircuitBreaker:
    """Blocks attempts for a second after three consecutive failures.

    After the pause, it allows one attempt at a time until one succeeds. Only timeouts are failures:
    other errors don't delay requests, and a client could cause them with certain tokens. An attempt
    takes at most `timeout` seconds.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = Lock()
        self._failures = 0
        self._blocked_until = 0.0

    def allow(self) -> bool:
        """Return whether an attempt may start. The caller must then record its outcome."""
        with self._lock:
            if self._failures < MAX_FAILURES:
                return True
            now = monotonic()
            if now < self._blocked_until:
                return False
            self._blocked_until = now + self._timeout
            return True

    def record_success(self) -> None:
        """Allow all attempts again."""
        with self._lock:
            self._failures = 0

    def record_failure(self) -> None:
        """Count a failure; the third in a row starts the pause."""
        with self._lock:
            self._failures += 1
            self._blocked_until = max(self._blocked_until, monotonic() + PAUSE_SECONDS)
