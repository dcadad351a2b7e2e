"""Whether the service should be sent requests: it goes on, and its storage answers in time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from recipient_fields.application import about_to_wait
from recipient_fields.domain import StorageUnavailable

DEADLINE_SECONDS = 0.5
CHECKED_EVERY_SECONDS = 1.0


class TimedCheck:
    """A check that takes no longer than its deadline, even where the storage never answers.

    A check that is still under way fails those that come meanwhile, so that a frozen storage
    holds one thread and no more.
    """

    def __init__(self, check: Callable[[], None], seconds: float = DEADLINE_SECONDS) -> None:
        self._check = check
        self._seconds = seconds
        self._under_way = Lock()
        self._retired = False

    def retire(self) -> None:
        """From now on, fail: the service is about to end."""
        self._retired = True

    def require_service(self) -> None:
        """StorageUnavailable where the service is about to end, whatever the storage says."""
        if self._retired:
            raise StorageUnavailable("The service is about to end.")

    def __call__(self) -> None:
        """StorageUnavailable unless the check passes in time."""
        self.require_service()
        about_to_wait()
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


class ContinualCheck:
    """A check that is made each second while its block runs: who asks is answered at once.

    What is told is how the last check went, and that the service is about to end as soon as it is.
    """

    def __init__(self, check: TimedCheck, seconds: float = CHECKED_EVERY_SECONDS) -> None:
        self._check = check
        self._seconds = seconds
        self._failure: Exception | None = StorageUnavailable("It has not been asked yet.")
        self._ended = Event()
        self._thread = Thread(target=self._run, name="readiness watch", daemon=True)

    def __call__(self) -> None:
        """StorageUnavailable unless the last check passed and the service goes on."""
        self._check.require_service()
        failure = self._failure
        if failure is not None:
            raise StorageUnavailable(str(failure)) from failure

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                self._check()
                self._failure = None
            except Exception as failure:  # noqa: BLE001 (told to whoever asks)
                self._failure = failure
            if self._ended.wait(self._seconds):
                return
