"""Probes and metrics, at an address of their own that only operators should reach."""

from __future__ import annotations

from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Any, Self
from wsgiref.types import WSGIApplication

from ..rejections import RejectionHandler
from .addresses import authority, listen
from .connections import Connection
from .listener import Listener

MOST_CONNECTIONS = 50

_FAREWELL_SECONDS = 0.2


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
        reject: RejectionHandler,
        largest_body: int,
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
            reject=reject,
            largest_body=largest_body,
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
