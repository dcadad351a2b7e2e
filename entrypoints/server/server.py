"""The server of the service, with a graceful shutdown, and the listener of its admin address."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Collection
from threading import Thread
from types import FrameType
from typing import Self
from wsgiref.types import WSGIApplication

from recipient_fields.application.extras import requires_extra

from .addresses import authority, listen
from .limits import MAX_CONNECTIONS
from .rejections import RejectionHandler

with requires_extra("http", "waitress"):
    from .listener import Listener

_FILES_PER_CONNECTION = 3
"""The socket and, if they are large, the request body and the response."""
_OTHER_FILES = 350
"""At most 66 of the storage, and those of the admin listener."""


class TooFewFiles(Exception):
    """The limit of open files is lower than the connections can need."""


class Server:
    """A server that is bound to its address, and responds while `run` is running.

    Create it in the main thread: it handles SIGINT and SIGTERM. The first one drains the server,
    the second one ends the process. It ignores SIGHUP. Any thread may read the numbers.
    """

    def __init__(
        self,
        app: WSGIApplication,
        host: str,
        port: int,
        *,
        reject: RejectionHandler,
        max_body_size: int,
        threads: int,
        connections: int = MAX_CONNECTIONS,
        computations: Collection[str] = (),
        shared: bool = False,
        on_drain: Callable[[signal.Signals, int], None] = lambda _by, _in_flight: None,
    ) -> None:
        """Bind the address.

        `max_body_size` is the limit of a request body, in bytes. A POST to one of the paths
        `computations` changes nothing; one of four threads responds to these. `on_drain` is called
        with the signal and the number of requests in flight, before anything closes. A signal can
        interrupt any code, so `on_drain` must not wait for a lock.

        Raises: OSError if the address can't be bound; TooFewFiles if the limit of open files is
        lower than `connections` can need.
        """
        _require_files(connections)
        listening = listen(host, port, shared=shared)
        self._on_drain = on_drain
        self._listener = Listener(
            app,
            listening,
            reject=reject,
            max_body_size=max_body_size,
            threads=threads,
            connections=connections,
            computations=computations,
        )
        for ending in (signal.SIGINT, signal.SIGTERM):  # A shell's background job ignores SIGINT.
            signal.signal(ending, self._end)
        # A closed terminal must not end the service without a drain. There is nothing to reload.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.url: str = f"http://{authority(*listening.getsockname()[:2])}"

    @property
    def connections(self) -> int:
        """Open connections."""
        return len(self._listener.active_channels)

    @property
    def in_flight(self) -> int:
        """Requests that were received and have no response yet."""
        return self._listener.task_dispatcher.in_flight

    @property
    def shed(self) -> int:
        """Requests rejected as `overloaded` so far."""
        return self._listener.shed

    @property
    def refused(self) -> int:
        """Requests rejected so far because they were malformed, too large or too slow."""
        return self._listener.refused

    def run(self) -> None:
        """Respond until SIGTERM or SIGINT, and then to what was received."""
        self._listener.run()

    def _end(self, by: int, _frame: FrameType | None) -> None:
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, signal.SIG_DFL)
        self._on_drain(signal.Signals(by), self.in_flight)
        self._listener.drain()


def _require_files(connections: int) -> None:
    needed = connections * _FILES_PER_CONNECTION + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise TooFewFiles(
            f"{connections} connections can need {needed} open files, and the limit is {hard}. "
            "Raise it (ulimit -n), or choose fewer with --connections."
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


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

    def __exit__(self, *_: object) -> None:
        self._listener.drain()
        self._thread.join(_DRAIN_TIMEOUT)
