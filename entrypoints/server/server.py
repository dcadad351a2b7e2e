"""The host of the service: Waitress, made strict, bounded, and patient at its end."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable
from types import FrameType
from wsgiref.types import WSGIApplication

from recipient_fields.application.extras import requires_extra

from ..rejections import RejectionHandler
from .addresses import authority, listen

with requires_extra("http", "waitress"):
    from .listener import SPARE_CONNECTIONS, Listener

MOST_CONNECTIONS = 500

_FILES_PER_CONNECTION = 3
"""Its socket, and where they are large the body and the answer on disk."""
_OTHER_FILES = 350
"""The storage's, at most 66, and those of the admin listener."""


class TooFewFiles(Exception):
    """The process may not open as many files as its connections can need."""


class Server:
    """A server that is bound to its address, and answers once `run` is called.

    It belongs to the main thread: from when it is made, SIGINT and SIGTERM end `run`, the first by
    answering what was received, the second at once. The numbers may be read from any thread.
    """

    def __init__(
        self,
        app: WSGIApplication,
        host: str,
        port: int,
        *,
        reject: RejectionHandler,
        largest_body: int,
        threads: int,
        connections: int = MOST_CONNECTIONS,
        shared: bool = False,
        on_drain: Callable[[signal.Signals, int], None] = lambda _by, _in_flight: None,
    ) -> None:
        """Bind the address.

        `largest_body` is the limit of a request body, in bytes. `on_drain` is called with the
        signal and the number of requests in flight, before anything closes. A signal can interrupt
        any code, so `on_drain` must not wait for a lock.

        Raises: OSError if the address can't be bound; TooFewFiles if the process may not open as
        many files as `connections` can need.
        """
        _require_files(connections)
        listening = listen(host, port, shared=shared)
        self._on_drain = on_drain
        self._listener = Listener(
            app,
            listening,
            threads=threads,
            connections=connections,
            shared=shared,
            reject=reject,
            largest_body=largest_body,
        )
        for ending in (signal.SIGINT, signal.SIGTERM):  # A shell's background job ignores SIGINT.
            signal.signal(ending, self._end)
        self.url: str = f"http://{authority(*listening.getsockname()[:2])}"

    @property
    def draining(self) -> bool:
        """Does the server only answer what it has received, and then end?"""
        return self._listener.draining

    @property
    def connections(self) -> int:
        """Connections that are open."""
        return len(self._listener.active_channels)

    @property
    def in_flight(self) -> int:
        """Requests that were received and are not yet answered."""
        return self._listener.task_dispatcher.in_flight

    @property
    def shed(self) -> int:
        """Requests refused as `overloaded` so far, and connections for which there was no room."""
        return self._listener.shed

    @property
    def refused(self) -> int:
        """Requests refused so far for how they were sent: malformed, too large or too slow."""
        return self._listener.refused

    def run(self) -> None:
        """Answer requests until SIGTERM or SIGINT, and then those that were received."""
        self._listener.run()

    def _end(self, by: int, _frame: FrameType | None) -> None:
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, signal.SIG_DFL)
        self._on_drain(signal.Signals(by), self.in_flight)
        self._listener.drain()


def _require_files(connections: int) -> None:
    needed = (connections + SPARE_CONNECTIONS) * _FILES_PER_CONNECTION + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise TooFewFiles(
            f"{connections} connections can need {needed} open files, and the limit is {hard}. "
            "Raise it (ulimit -n), or choose fewer with --connections."
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
