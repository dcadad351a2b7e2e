"""Health: the process runs, it is not shutting down, and its storage responds in time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from time import monotonic
from typing import Self

from attrs import field, frozen
from falcon import Request, Response

from recipient_fields.application.documents.schemas import described, render_document
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain import StorageUnavailable

from .resource import Resource, Result, Tag, operation

CHECK_TIMEOUT = 0.5
"""Seconds. Probes of orchestrators usually time out after one second."""
CHECK_INTERVAL = 1.0
"""Seconds."""


class CheckWithDeadline:
    """A check that ends before its deadline, even if the storage never responds.

    While one call is still checking, other calls fail at their deadline. So a frozen storage
    occupies one thread and no more.
    """

    def __init__(self, check: Callable[[], None], timeout: float = CHECK_TIMEOUT) -> None:
        self._check = check
        self._timeout = timeout
        self._checking = Lock()
        self._is_shutting_down = False

    def begin_shutdown(self) -> None:
        """Fail from now on: the service is shutting down."""
        self._is_shutting_down = True

    def require_running(self) -> None:
        """Raise StorageUnavailable if the service is shutting down."""
        if self._is_shutting_down:
            raise StorageUnavailable("The service is shutting down.")

    def __call__(self) -> None:
        """Raise StorageUnavailable unless the check passes before the deadline."""
        self.require_running()
        deadline = monotonic() + self._timeout
        if not self._checking.acquire(timeout=self._timeout):
            raise StorageUnavailable("An earlier readiness check has not ended.")
        result: list[BaseException | None] = []
        thread = Thread(target=self._run, args=(result,), name="readiness", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # The process has reached its limit of threads.
            self._checking.release()
            raise StorageUnavailable("The readiness check could not start.") from error
        thread.join(max(deadline - monotonic(), 0))
        if not result:
            raise StorageUnavailable("The readiness check did not end in time.")
        if result[0] is not None:
            raise result[0]

    def _run(self, result: list[BaseException | None]) -> None:
        try:
            self._check()
            result.append(None)
        except BaseException as error:  # noqa: BLE001 (raised again in the calling thread)
            result.append(error)
        finally:
            self._checking.release()


class PeriodicCheck:
    """A check that runs once per second in a background thread while its block runs.

    A call returns the last result at once, and fails as soon as the service shuts down.
    """

    def __init__(self, check: CheckWithDeadline, interval: float = CHECK_INTERVAL) -> None:
        self._check = check
        self._interval = interval
        self._failure: Exception | None = StorageUnavailable("No readiness check has ended yet.")
        self._ended = Event()
        self._thread = Thread(target=self._run, name="readiness watch", daemon=True)

    def __call__(self) -> None:
        """Raise StorageUnavailable unless the last check passed and the service keeps running."""
        self._check.require_running()
        failure = self._failure
        if failure is not None:
            raise StorageUnavailable(str(failure)) from failure

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                self._check()
                self._failure = None
            except Exception as failure:  # noqa: BLE001 (the next call reports it)
                self._failure = failure
            if self._ended.wait(self._interval):
                return


SERVICE_TAG = Tag("Service", "Health and documentation. No API key.")


@frozen
class HealthDocument:
    """The state of the service."""

    status: str = field(metadata=described(enum=["ok", "ready"]))


class Liveness(Resource):
    """`/healthz`: the process runs. The storage is not checked."""

    @operation(
        "get_healthz",
        SERVICE_TAG,
        Result(
            description="The process runs.",
            document=HealthDocument,
            examples={"up": {"status": "ok"}},
        ),
    )
    def on_get(self, _req: Request, resp: Response) -> None:
        """Liveness."""
        resp.data = render_json(render_document(HealthDocument("ok")))


@frozen
class Readiness(Resource):
    """`/readyz`: the storage responds in time, and its schema is current."""

    check: Callable[[], None]

    @operation(
        "get_readyz",
        SERVICE_TAG,
        Result(
            description="The storage responds, and its schema is current.",
            document=HealthDocument,
            examples={"ready": {"status": "ready"}},
        ),
    )
    def on_get(self, _req: Request, resp: Response) -> None:
        """Readiness."""
        self.check()
        resp.data = render_json(render_document(HealthDocument("ready")))
