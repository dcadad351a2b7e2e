"""Connections: their requests, their responses, and the time limits of both."""

from __future__ import annotations

import socket
from contextlib import suppress
from enum import Enum, auto
from time import monotonic, time
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import ErrorTask, Task, WSGITask

from . import limits
from .framing import FramedRequest, Rejection
from .rejections import RejectedRequest

_SPELLINGS = (
    (b"\r\nEtag: ", b"\r\nETag: "),
    (b"\r\nWww-Authenticate: ", b"\r\nWWW-Authenticate: "),
)
"""Names of headers as Waitress spells them, and as clients and our documentation do."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Kind(Enum):
    """What a request may do while it has a thread."""

    READ = auto()
    WRITE = auto()
    """Change something, and so wait for a lock of the storage."""
    COMPUTATION = auto()
    """Compute for long, and change nothing."""


class _ResponseTask(Task):
    """A response that closes the connection only if it must."""

    channel: Any
    request: Any

    def build_response_header(self) -> bytes:
        """Decide about the connection; Waitress compares the header, which can be a list."""
        if self.channel.is_last_response:
            self.request.connection_close = True
        self.request.headers["CONNECTION"] = (
            "close" if self.request.connection_close else "keep-alive"
        )
        head: bytes = super().build_response_header()
        for waitress, usual in _SPELLINGS:
            head = head.replace(waitress, usual)
        return head

    def set_close_on_finish(self) -> None:
        """Close, but not after each response without a body, such as 204 and 304."""
        if self.has_body or self.request.connection_close:
            super().set_close_on_finish()


class ApplicationTask(_ResponseTask, WSGITask):
    """The response of the application."""


class RejectionTask(_ResponseTask, ErrorTask):
    """The response to a request that the application does not receive."""

    status: str
    content_length: int | None
    response_headers: list[tuple[str, str]]

    def execute(self) -> None:
        """Write the response of the listener's `RejectionHandler`."""
        request = self.request
        code = request.error.code if isinstance(request.error, Rejection) else "internal_error"
        response = self.channel.server.reject(
            RejectedRequest(
                code=code,
                method=request.command,
                path=request.path,
                peer=self.channel.addr[0],
                headers=request.headers,
                unparsed=request.header_plus,
                seconds=monotonic() - request.began,
            )
        )
        if code != "overloaded" or len(self.channel.requests) > 1:
            request.connection_close = True
        self.status = response.status
        self.content_length = len(response.body)
        self.response_headers += response.headers
        self.write(b"" if request.command == "HEAD" else response.body)


class Connection(HTTPChannel):
    """The connection of a client.

    Threads call `service`, which writes; the thread that polls calls everything else.
    """

    server: Any
    socket: Any
    request: Any
    requests: Any
    outbuf_lock: Any
    _flush_some_if_lockable: Any
    _flush_exception: Any

    will_close: bool
    last_activity: float

    task_class: type[WSGITask] = ApplicationTask
    error_task_class: type[ErrorTask] = RejectionTask
    parser_class: type[FramedRequest] = FramedRequest

    queued_at: float = 0.0
    """The time at which the first request began to wait for a thread."""
    counted_as: Kind | None = None
    """The kind as which the first request counts while it is in progress, or None."""
    waits_for_client: bool = False
    """Whether the first request waits until the client has received the responses before it."""

    _sent_in_turn = 0
    _responded_at = 0.0
    _response_due: float | None = None
    _lingers_since: float | None = None
    _lingered = 0

    @property
    def kind(self) -> Kind:
        """What the first request may do."""
        request = self.requests[0]
        if request.error or request.command in _READS:
            return Kind.READ
        return Kind.COMPUTATION if request.path in self.server.computations else Kind.WRITE

    @property
    def is_last_response(self) -> bool:
        """Whether the connection closes after the response, because the server drains."""
        return self.server.draining and len(self.requests) <= 1 and self.request is None

    @property
    def lingers(self) -> bool:
        """Whether the last response was sent, and the client has not closed its side."""
        return self._lingers_since is not None

    @property
    def idle(self) -> bool:
        """Whether there is no request or response, complete or not."""
        return self.request is None and not self._busy

    @property
    def unfinished(self) -> bool:
        """Whether the client has sent a part of its next request."""
        return self.request is not None and not self._busy

    @property
    def request_began(self) -> float:
        """The time of the first byte of the unfinished request, or since which it can be read."""
        began: float = self.request.began
        return max(began, self._responded_at)

    @property
    def inactivity(self) -> float:
        """Seconds since the client has sent or received something, or since the drain began."""
        drains_since: float = self.server.drains_since
        return time() - max(self.last_activity, drains_since)

    @property
    def _busy(self) -> bool:
        responding = self.total_outbufs_len or self.close_when_flushed or self.lingers
        return bool(self.requests or responding)

    @property
    def evictable(self) -> bool:
        """Whether the client has had its responses for so long that another may replace it."""
        if self._lingers_since is not None:
            return monotonic() - self._lingers_since > limits.EVICTION_AGE
        return self.idle and self.inactivity > limits.EVICTION_AGE and self._has_sent_nothing()

    def _has_sent_nothing(self) -> bool:
        """Return whether there is nothing to read from the socket, not even its end."""
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def service(self) -> None:
        """Respond to the first request; reject it if it has waited for too long."""
        request = self.requests[0]
        if monotonic() - self.queued_at > limits.QUEUE_TIMEOUT and not request.error:
            request.error = Rejection("overloaded")
        self._response_due = None
        self._sent_in_turn = 0
        counted_as, self.counted_as = self.counted_as, None
        try:
            super().service()
        finally:
            self._responded_at = monotonic()
            if counted_as is not None:
                self.server.task_dispatcher.end(counted_as)
        self.server.poller.watch(self)

    def write_soon(self, data: Any) -> int:
        """Send what the socket takes, and buffer the rest. Waitress would first buffer it all."""
        size = len(data)
        with self.outbuf_lock:
            # A large response is not bytes but a file, which Waitress reads as the client does.
            if isinstance(data, bytes) and self.connected and not self.total_outbufs_len:
                self.last_activity = time()
                with suppress(OSError):  # Sending the rest fails again, and closes the connection.
                    data = data[self.socket.send(data) :]
            super().write_soon(data)
        return size

    def send(self, data: Any, do_close: bool = True) -> int:  # noqa: FBT001, FBT002 (Waitress')
        """Send what the socket takes, until the turn of this connection is over."""
        if self._sent_in_turn >= limits.MAX_TURN:
            return 0
        sent: int = super().send(data, do_close)
        self._sent_in_turn += sent
        return sent

    def time_out(self) -> None:
        """Reject the unfinished request as too slow, and close the connection."""
        request: FramedRequest = self.request
        request.reject("request_timeout")
        self.request, self.requests = None, [request]
        super().service()
        self.handle_write()
        self.server.poller.watch(self)

    def resume(self) -> None:
        """Queue the next request if it waited for the client, and the client has everything."""
        if self.waits_for_client and not self.total_outbufs_len:
            self.waits_for_client = False
            self.server.add_task(self)

    def check(self, now: float) -> None:
        """Close the connection, or reject its request, if the client exceeds a time limit."""
        self.resume()
        draining = self.server.draining
        if self._lingers_since is not None:
            linger = limits.DRAIN_IDLE_TIMEOUT if draining else limits.LINGER_TIMEOUT
            if now - self._lingers_since > linger:
                self.handle_close()
        elif self.total_outbufs_len:
            due = self._response_due  # A thread may reset it at any time.
            if due is None:
                seconds = limits.RESPONSE_TIMEOUT + self.total_outbufs_len / limits.MIN_RATE
                due = self._response_due = now + seconds
            if now > due:
                self.handle_close()
        elif self.idle:
            timeout = limits.DRAIN_IDLE_TIMEOUT if draining else limits.IDLE_TIMEOUT
            if self.inactivity > timeout and self._has_sent_nothing():
                self.handle_close()
        elif self.unfinished:
            stalls = draining and self.inactivity > limits.DRAIN_IDLE_TIMEOUT
            if stalls or now - self.request_began > limits.REQUEST_TIMEOUT:
                self.time_out()

    def handle_read(self) -> None:
        """Receive requests. After the last response, discard what the client sends."""
        if not self.lingers:
            super().handle_read()
            return
        try:
            data = self.socket.recv(limits.MAX_BUFFER_SIZE)
        except OSError:
            data = b""
        self._lingered += len(data)
        if not data or self._lingered > limits.MAX_LINGER_SIZE:
            self.handle_close()

    def handle_write(self) -> None:
        """Send what is buffered. After the last response, close our side and wait for the client's.

        If the server closed both while the client sends, the system would reset the connection, and
        the client could lose the response (RFC 9112, section 9.6).
        """
        self._sent_in_turn = 0
        self._flush_exception(self._flush_some_if_lockable)
        self.resume()
        if self.will_close:
            self.handle_close()
        elif self.connected and self.close_when_flushed and not self.total_outbufs_len:
            self.close_when_flushed = False
            self._lingers_since = monotonic()
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                self.handle_close()
