"""Whether the storage answers soon enough."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread
from time import monotonic

from recipient_fields.domain import StorageUnavailable

DEADLINE_SECONDS = 0.5


class TimedCheck:
    """A check that takes no longer than its deadline, even where the storage never answers.

    A check that is still under way fails those that come meanwhile, so that a frozen storage
    holds one thread and no more.
    """

    def __init__(self, check: Callable[[], None], seconds: float = DEADLINE_SECONDS) -> None:
        self._check = check
        self._seconds = seconds
        self._under_way = Lock()

    def __call__(self) -> None:
        """StorageUnavailable unless the check passes in time."""
        end = monotonic() + self._seconds
        if not self._under_way.acquire(timeout=self._seconds):
            raise StorageUnavailable("An earlier readiness check has not been answered.")
        outcome: list[BaseException | None] = []
        thread = Thread(target=self._run, args=(outcome,), name="readiness", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # The system has no thread to give.
            self._under_way.release()
            raise StorageUnavailable("The readiness check could not begin.") from error
        thread.join(max(end - monotonic(), 0))
        if not outcome:
            raise StorageUnavailable("The readiness check was not answered in time.")
        if outcome[0] is not None:
            raise outcome[0]

    def _run(self, outcome: list[BaseException | None]) -> None:
        try:
            self._check()
            outcome.append(None)
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that asked)
            outcome.append(error)
        finally:
            self._under_way.release()
