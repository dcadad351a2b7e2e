"""The listener of the admin address, which only operators should reach."""

from __future__ import annotations

from threading import Thread
from types import TracebackType
from typing import Self
from wsgiref.types import WSGIApplication

from .addresses import authority, listen
from .listener import Listener
from .rejections import RejectionHandler

_MAX_CONNECTIONS = 50
_DRAIN_TIMEOUT = 0.2


class AdminListener:
    """A listener that runs during its `with` block, even if the service is overloaded.

    It has threads of its own: one polls, one responds.
    """

    def __init__(
        self,
        app: WSGIApplication,
        host: str,
        port: int,
        *,
        reject: RejectionHandler,
        max_body_size: int,
    ) -> None:
        """Bind the address. Raises: OSError if it can't be bound."""
        listening = listen(host, port, shared=False)
        self.url: str = f"http://{authority(*listening.getsockname()[:2])}"
        self._listener = Listener(
            app,
            listening,
            reject=reject,
            max_body_size=max_body_size,
            threads=1,
            connections=_MAX_CONNECTIONS,
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
        self._thread.join(_DRAIN_TIMEOUT)
