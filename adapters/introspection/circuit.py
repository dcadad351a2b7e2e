"""Sparing callers the wait for somebody who has stopped answering."""

from __future__ import annotations

from threading import Lock
from time import monotonic

MOST_SILENCES = 3
PAUSE_SECONDS = 1.0


class Circuit:
    """Who may ask, by how it went lately.

    After three silences in a row nobody asks for a second, and then one caller at a time, until
    there is an answer, whatever it says: an answer is quick, and what makes one caller's bad must
    not shut out the others. `trial` is how many seconds an attempt takes at most.
    """

    def __init__(self, trial: float) -> None:
        self._trial = trial
        self._lock = Lock()
        self._silences = 0
        self._again = 0.0

    def permits(self) -> bool:
        """May the caller ask? Then it tells how that went."""
        with self._lock:
            if self._silences < MOST_SILENCES:
                return True
            now = monotonic()
            if now < self._again:
                return False
            self._again = now + self._trial
            return True

    def answered(self) -> None:
        """There was an answer."""
        with self._lock:
            self._silences = 0

    def silent(self) -> None:
        """There was none."""
        with self._lock:
            self._silences += 1
            self._again = max(self._again, monotonic() + PAUSE_SECONDS)
