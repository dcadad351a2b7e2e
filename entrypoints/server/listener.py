"""The listener: who is let in, who waits for a worker, and how it all ends."""

from __future__ import annotations

import socket
from collections import deque
from operator import attrgetter
from time import monotonic, time
from typing import Any
from wsgiref.types import WSGIApplication

from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from ..rejections import RejectedRequest, RejectionHandler, RejectionResponse
from .addresses import refuse_handshakes
from .connections import Connection
from .dispatcher import Dispatcher
from .framing import LARGEST_HEADERS
from .poll import Poll

TICK_SECONDS = 0.1
"""How often connections and queue are looked over."""
ACCEPTED_AT_ONCE = 64
SPARE_CONNECTIONS = 100
"""Beyond the limit, for those that are told so and for those that linger."""
LATE_SECONDS = 1.0
"""Whoever keeps the service waiting for longer gives way where there is no room."""
LONGEST_DRAIN = 17.0
HANDSHAKE_SECONDS = 0.2

_SPOOL_BYTES = 128 * 1024
"""What a connection holds in memory of one body or answer; the rest is on disk."""


class Listener(TcpWSGIServer):
    """A socket that listens, its connections, and the loop that polls them all."""

    socket: Any
    trigger: Any
    task_dispatcher: Dispatcher
    active_channels: Any
    _map: Any
    _fileno: Any

    channel_class: type[Connection] = Connection

    draining: bool = False
    """Is the service to end once everything is answered?"""
    drains_since: float = 0.0
    shed: int = 0
    """Requests refused as `overloaded`."""
    refused: int = 0
    """Requests refused for how they were sent."""

    def __init__(
        self,
        app: WSGIApplication,
        listening: socket.socket,
        *,
        threads: int,
        connections: int,
        shared: bool,
        reject: RejectionHandler,
        largest_body: int,
    ) -> None:
        settings = Adjustments(
            ident=None,
            log_socket_errors=False,
            clear_untrusted_proxy_headers=False,  # The request log decides whom to trust.
            max_request_body_size=largest_body,
            max_request_header_size=LARGEST_HEADERS,
            inbuf_overflow=_SPOOL_BYTES,
            outbuf_overflow=_SPOOL_BYTES,
        )
        self.poll: Poll = Poll()
        self._due: deque[Connection] = deque()
        family, kind, protocol = listening.family, listening.type, listening.proto
        super().__init__(
            app,
            _sock=listening,
            dispatcher=Dispatcher(threads),
            adj=settings,
            bind_socket=False,
            sockinfo=(family, kind, protocol, listening.getsockname()),
        )
        self.poll.add(self)
        self.poll.add(self.trigger)
        self._reject = reject
        self._most = connections
        self._shared = shared
        self._next_check = 0.0
        self._accepts_from = 0.0

    def run(self) -> None:
        """Answer until `drain` is called, and then until everything received is answered."""
        while not self.draining:
            self._turn()
        self._stop_listening()
        end = monotonic() + LONGEST_DRAIN
        while self.active_channels and monotonic() < end:
            self._turn()
        self.task_dispatcher.shutdown(timeout=1)
        for connection in list(self.active_channels.values()):
            connection.handle_close()
        self.poll.close()
        if not self.task_dispatcher.threads:  # Who still works will pull it.
            self.trigger.close()

    def drain(self) -> None:
        """Begin to end. May be called by a signal handler."""
        self.drains_since = time()
        self.draining = True

    def attend_to(self, connection: Connection) -> None:
        """Have the connection looked at soon. For workers."""
        self._due.append(connection)
        self.trigger.pull_trigger()

    def pull_trigger(self) -> None:
        """Nothing: a connection says itself when it needs attention, which it seldom does."""

    def add_task(self, task: Any) -> None:
        """Have a connection's first request answered, once its client took the answers before.

        Else a client that asks for much and takes nothing would soon have every worker wait.
        """
        if task.total_outbufs_len:
            task.awaits_client = True
            self.attend_to(task)
        else:
            super().add_task(task)

    def reject(self, rejected: RejectedRequest) -> RejectionResponse:
        """Count a rejected request, and return the response to it."""
        with self.task_dispatcher.lock:
            if rejected.code == "overloaded":
                self.shed += 1
            else:
                self.refused += 1
        return self._reject(rejected)

    def readable(self) -> bool:
        """See wasyncore."""
        room = len(self.active_channels) < self._most + SPARE_CONNECTIONS
        return self.accepting and room and monotonic() >= self._accepts_from

    def handle_accept(self) -> None:
        """Take the connections that wait, and tell those that find no room."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted = self.accept()
            except OSError:  # No descriptor is left, for example: trying at once would not help.
                self._accepts_from = monotonic() + TICK_SECONDS
                return
            if accepted is None:
                return
            try:
                self._admit(*accepted)
            except Exception:
                self.logger.exception("A connection could not be accepted.")
                accepted[0].close()

    def _admit(self, client: socket.socket, address: Any) -> None:
        room = self._make_room()
        self.set_socket_options(client)
        connection = self.channel_class(self, client, address, self.adj, map=self._map)
        if not room:
            connection.refuse("overloaded")

    def _make_room(self) -> bool:
        """Is there room for one more? Clients that keep the service waiting give way."""
        if len(self.active_channels) < self._most:
            return True
        connections = list(self.active_channels.values())
        lingering = [c for c in connections if c.lingers]
        if len(lingering) >= SPARE_CONNECTIONS:
            lingering[0].handle_close()
        if len(connections) - len(lingering) < self._most:
            return True
        idle = [c for c in connections if c.idle and c.silence > LATE_SECONDS]
        for connection in sorted(idle, key=attrgetter("last_activity")):
            if connection.has_sent_nothing():
                connection.handle_close()
                return True
        late = monotonic() - LATE_SECONDS
        slow = [c for c in connections if c.unfinished and c.request_began < late]
        if slow:
            min(slow, key=attrgetter("request_began")).refuse("request_timeout")
        return bool(slow)

    def _turn(self) -> None:
        """Wait for something to happen, but no longer than a tick, and do what it asks for."""
        self.poll.turn(TICK_SECONDS)
        while self._due:
            connection = self._due.popleft()
            connection.resume()
            self.poll.look_at(connection)
        self.poll.look_at(self)
        now = monotonic()
        if now < self._next_check:
            return
        self._next_check = now + TICK_SECONDS
        for connection in self.task_dispatcher.take_overdue():
            connection.service()
        for connection in list(self.active_channels.values()):
            try:
                connection.check(now)
            except Exception:  # noqa: BLE001 (a connection that fails takes no other with it)
                connection.handle_error()
            self.poll.look_at(connection)

    def _stop_listening(self) -> None:
        """Close the listener, but not on those who have connected: the system resets them.

        Where other processes share the address, the system must first be kept from giving this one
        more connections. It asks for them a second time, a second later, and then finds another.
        """
        if self._shared and refuse_handshakes(self.socket):
            end = monotonic() + HANDSHAKE_SECONDS
            while monotonic() < end:
                self._turn()
        self.handle_accept()
        self.poll.remove(self._fileno)
        self.del_channel()
        self.socket.close()
