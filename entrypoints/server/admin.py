"""Probes and metrics, at an address of their own that only operators should reach."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Any, Self
from wsgiref.types import WSGIApplication

import falcon

from ..http.app import create_app_without_routes
from ..http.metrics import Metrics, MetricsPage
from ..http.request_log import DEFAULT_REQUEST_LOG, RequestLog
from ..http.resources import Liveness, Readiness
from .addresses import authority, listen
from .connections import Connection
from .listener import Listener

MOST_CONNECTIONS = 50

_FAREWELL_SECONDS = 0.2


def create_admin_app(
    metrics: Metrics, check: Callable[[], None], request_log: RequestLog = DEFAULT_REQUEST_LOG
) -> falcon.App[falcon.Request, falcon.Response]:
    """`/healthz`, `/readyz` and `/metrics` as a WSGI application, without any API key.

    `check` answers at once; it raises where the service is not ready.
    """
    app = create_app_without_routes(None, (), request_log)
    app.add_route("/healthz", Liveness())
    app.add_route("/readyz", Readiness(check))
    app.add_route("/metrics", MetricsPage(metrics))
    return app


class AdminListener:
    """Answers at its address while its block runs, from one thread of its own.

    Whatever is asked here is answered at once. So the thread that polls also answers: under load,
    each change of threads is a wait for the interpreter.
    """

    def __init__(
        self,
        app: WSGIApplication,
        host: str,
        port: int,
        *,
        request_log: RequestLog = DEFAULT_REQUEST_LOG,
    ) -> None:
        """OSError where the address can't be bound."""
        listening = listen(host, port, shared=False)
        self.url: str = f"http://{authority(*listening.getsockname()[:2])}"
        self._listener = _Listener(
            app,
            listening,
            threads=0,
            connections=MOST_CONNECTIONS,
            shared=False,
            request_log=request_log,
        )
        self._thread = Thread(target=self._listener.run, name="admin", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._listener.drain()
        self._thread.join(_FAREWELL_SECONDS)  # Whoever is still connected holds nothing up.


class _Connection(Connection):
    """A connection for one request, which is answered where it is received."""

    @property
    def answers_last(self) -> bool:
        """Always: so nothing piles up, and nobody stays."""
        return True

    def received(self, data: bytes) -> bool:
        """Read the request, and answer it once it is complete."""
        taken = super().received(data)
        if self.requests:
            self.service()
        return taken


class _Listener(Listener):
    """A listener without workers."""

    channel_class = _Connection

    def add_task(self, task: Any) -> None:
        """Nothing: its connection is about to answer it."""
        task.queued_at = monotonic()
