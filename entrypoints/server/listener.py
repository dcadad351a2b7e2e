"""The socket that listens, its connections, and the loop that polls them."""

from __future__ import annotations

import select
import socket
import sys
from collections import deque
from collections.abc import Collection, Mapping
from contextlib import suppress
from operator import attrgetter
from time import monotonic, time
from typing import Any
from wsgiref.types import WSGIApplication

from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.wasyncore import loop, readwrite

from . import limits
from .connections import Connection
from .dispatcher import Dispatcher
from .rejections import RejectedRequest, RejectionHandler, RejectionResponse


class Poller:
    """Waits for events of the sockets in a map, as Waitress' own loop does, but with epoll.

    Before each wait, Waitress checks which events every connection waits for: with 450 connections,
    a request costs 1.9 times as much CPU time. This class checks a connection after its own events
    and in `watch`. If the system has no epoll, Waitress' loop runs.
    """

    def __init__(self, sockets: Mapping[int, Any], trigger: Any) -> None:
        self._sockets = sockets
        self._trigger = trigger
        self._epoll = select.epoll() if hasattr(select, "epoll") else None

    def add(self, polled: Any) -> None:
        """Begin to poll a new socket. The system removes it when it is closed."""
        if self._epoll is not None:
            self._epoll.register(polled._fileno, select.EPOLLONESHOT)
        self.watch(polled)

    def watch(self, polled: Any) -> None:
        """Wait for the next event that the socket can handle now. Any thread may call this."""
        if self._epoll is None:
            self._trigger.pull_trigger()
        elif (wanted := _wanted(polled)) and (descriptor := polled._fileno) is not None:
            with suppress(OSError):  # Another thread has closed it.
                self._epoll.modify(descriptor, wanted | select.EPOLLONESHOT)

    def wait(self, seconds: float) -> None:
        """Wait for events for at most this time, and let the sockets handle them."""
        if self._epoll is None:
            loop(timeout=seconds, use_poll=True, map=self._sockets, count=1)
            return
        for descriptor, events in self._epoll.poll(seconds):
            polled = self._sockets.get(descriptor)
            if polled is not None:
                # A thread may have changed what the socket can handle since it was watched.
                readwrite(polled, events & (_wanted(polled) | select.EPOLLHUP | select.EPOLLERR))
                self.watch(polled)

    def close(self) -> None:
        """Release the file descriptor of the system's poll object."""
        if self._epoll is not None:
            self._epoll.close()


def _wanted(polled: Any) -> int:
    reads = select.POLLIN if polled.readable() else 0
    return reads | (select.POLLOUT if polled.writable() else 0)


_ACCEPTED_AT_ONCE = 64


class Listener(TcpWSGIServer):
    """A server of one socket. The thread that calls `run` polls; the dispatcher's respond."""

    socket: Any
    trigger: Any
    task_dispatcher: Dispatcher
    active_channels: Any

    channel_class: type[Connection] = Connection

    tick: float = 0.1
    """Seconds between two checks of the connections and of the queue."""
    draining: bool = False
    """Whether the server is to end once it has responded to everything it has received."""
    drains_since: float = 0.0
    shed: int = 0
    """Requests rejected as `overloaded`."""
    refused: int = 0
    """Requests rejected because of how they were sent."""

    def __init__(
        self,
        app: WSGIApplication,
        listening: socket.socket,
        *,
        reject: RejectionHandler,
        max_body_size: int,
        threads: int,
        connections: int,
        computations: Collection[str] = (),
    ) -> None:
        self.computations: Collection[str] = computations
        """The paths to which a POST only computes."""
        self._sockets: dict[int, Any] = {}
        self._reject = reject
        self._max_connections = connections
        self._next_check = 0.0
        self._accepts_from = 0.0
        self._next_search = 0.0
        self._idle: deque[Connection] = deque()
        super().__init__(
            app,
            self._sockets,
            _sock=listening,
            dispatcher=Dispatcher(threads),
            adj=Adjustments(
                ident=None,
                log_socket_errors=False,
                clear_untrusted_proxy_headers=False,  # The request log decides whom to trust.
                max_request_header_size=limits.MAX_HEAD_SIZE,
                max_request_body_size=max_body_size,
                inbuf_overflow=limits.MAX_BUFFER_SIZE,
                outbuf_overflow=limits.MAX_BUFFER_SIZE,
                outbuf_high_watermark=sys.maxsize,  # No thread waits for a client: see `add_task`.
            ),
            bind_socket=False,
            sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
        )
        self.poller: Poller = Poller(self._sockets, self.trigger)
        self.poller.add(self)

    def run(self) -> None:
        """Respond until `drain` is called, and then to everything that was received."""
        while not self.draining:
            self._poll()
        while self._accept():  # The system would reset the connections that wait.
            pass
        self.del_channel()
        self.socket.close()
        end = monotonic() + limits.DRAIN_TIMEOUT
        while self.active_channels and monotonic() < end:
            self._poll()
        self.task_dispatcher.shutdown(timeout=1)
        for connection in list(self.active_channels.values()):
            connection.handle_close()
        if not self.task_dispatcher.threads:  # A thread that still works uses the trigger.
            self.trigger.close()
            self.poller.close()

    def drain(self) -> None:
        """Let `run` end. A signal handler may call it."""
        self.drains_since = time()
        self.draining = True

    def add_task(self, task: Any) -> None:
        """Queue a connection, once its client has received the responses before.

        Otherwise clients that request much and receive nothing would occupy every thread.
        """
        if task.total_outbufs_len:
            task.waits_for_client = True
        else:
            super().add_task(task)

    def pull_trigger(self) -> None:
        """Do nothing: a connection that needs attention calls `Poller.watch`."""

    def reject(self, rejected: RejectedRequest) -> RejectionResponse:
        """Count a rejected request, and return the response to it."""
        with self.task_dispatcher.lock:
            if rejected.code == "overloaded":
                self.shed += 1
            else:
                self.refused += 1
        return self._reject(rejected)

    def readable(self) -> bool:
        """Return whether to accept connections."""
        return monotonic() >= self._accepts_from

    def handle_accept(self) -> None:
        """Accept the connections that wait."""
        for _ in range(_ACCEPTED_AT_ONCE):
            if not self._accept():
                return

    def _accept(self) -> bool:
        """Accept a connection if one waits and there is room. Return whether it did.

        If there are too many, it closes the one that has been idle longest. If all are in use, the
        others wait in the queue of the operating system, until a time limit ends one.
        """
        full = len(self.active_channels) >= self._max_connections and not self.draining
        idle = self._longest_idle() if full else None
        if full and idle is None:
            self._accepts_from = monotonic() + self.tick
            return False
        try:
            accepted = self.accept()
        except OSError:  # For example, no file descriptor is left.
            self._accepts_from = monotonic() + self.tick
            return False
        if accepted is None:
            return False
        try:
            if idle is not None:
                idle.handle_close()
            self.set_socket_options(accepted[0])
            connection = self.channel_class(self, *accepted, self.adj, map=self._sockets)
            self.poller.add(connection)
        except Exception:
            self.logger.exception("A connection could not be accepted.")
            accepted[0].close()
        return True

    def _longest_idle(self) -> Connection | None:
        """Return the connection that has been idle longest, if one has been idle for a while."""
        if not self._idle and monotonic() >= self._next_search:
            # A search for each new connection would use most of the CPU time under overload.
            self._next_search = monotonic() + self.tick
            idle = [each for each in self.active_channels.values() if each.evictable]
            self._idle = deque(sorted(idle, key=attrgetter("last_activity")))
        while self._idle:
            if self._idle[0].connected and self._idle[0].evictable:
                return self._idle[0]
            self._idle.popleft()
        return None

    def _poll(self) -> None:
        """Wait for events, for a tick at most, and handle them; check the limits once per tick."""
        self.poller.watch(self)  # There may be room again.
        self.poller.wait(self.tick)
        now = monotonic()
        if now < self._next_check:
            return
        self._next_check = now + self.tick
        for connection in self.task_dispatcher.take_overdue():
            connection.service()
        for connection in list(self.active_channels.values()):
            try:
                connection.check(now)
            except Exception:  # noqa: BLE001 (one connection that fails must not end the others)
                connection.handle_error()
