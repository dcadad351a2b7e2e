"""Connections: what is read from them, what is answered on them, and when they end."""

from __future__ import annotations

import socket
from contextlib import suppress
from functools import lru_cache
from time import monotonic, time
from typing import Any

from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.task import ErrorTask, Task, WSGITask
from waitress.utilities import build_http_date

from ..rejections import RejectedRequest
from .framing import FramedRequest, Refusal
from .request_queue import may_write

REQUEST_SECONDS = 10.0
"""From a request's first byte to its last."""
ANSWER_SECONDS = 10.0
SLOWEST_READER = 32 * 1024
"""Bytes a second. An answer is to be taken within ANSWER_SECONDS and what its size needs."""
IDLE_SECONDS = 30.0
LONGEST_WAIT = 2.0
"""Seconds for a worker; a request that waited longer is refused as `overloaded`."""
LINGER_SECONDS = 2.0
LARGEST_LINGER = 8 * 1024 * 1024
FAREWELL_SECONDS = 0.5
"""How long a client may be silent once the service is to end."""


class _Answering(Task):
    """An answer. It ends the connection only where it must, and then says so."""

    channel: Any
    request: Any
    response_headers: Any

    def build_response_header(self) -> bytes:
        """The bytes up to the body; where its length is not known, the connection's end ends it."""
        framed = self.content_length is not None or not self.has_body
        if self.request.connection_close or not framed or self.channel.answers_last:
            self.close_on_finish = True
        lines = [
            f"{spelled}: {value}"
            for name, value in self.response_headers
            if (spelled := _spelled(name)) is not None
        ]
        if self.has_body and framed:
            lines.append(f"Content-Length: {self.content_length}")
        if self.close_on_finish:
            lines.append("Connection: close")
        elif self.version == "1.0":
            lines.append("Connection: keep-alive")
        lines.append(f"Date: {_date(int(self.start_time))}")
        head = [f"HTTP/{self.version} {self.status}", *sorted(lines), "", ""]
        return "\r\n".join(head).encode("latin-1")


_WRITTEN_HERE = {"connection", "content-length"}
_SPELLINGS = {"etag": "ETag", "www-authenticate": "WWW-Authenticate"}
"""The usual spelling of names whose parts do not simply begin with a capital letter."""


@lru_cache(maxsize=256)
def _spelled(name: str) -> str | None:
    """Return the usual spelling of a header's name, or None if `_Answering` adds the header."""
    name = name.lower()
    return None if name in _WRITTEN_HERE else _SPELLINGS.get(name, name.title())


@lru_cache(maxsize=2)
def _date(second: int) -> str:
    date: str = build_http_date(second)
    return date


class ApplicationTask(_Answering, WSGITask):
    """A request that the application answers."""

    content_bytes_written: int

    def write(self, data: bytes) -> None:
        """Send head and body, which nearly always come whole, at once."""
        body = data if self.has_body else b""
        if self.wrote_header or (self.has_body and len(body) != self.content_length):
            super().write(data)
            return
        head = self.build_response_header()
        self.wrote_header = True
        self.content_bytes_written = len(body)
        self.channel.answered = None if self.close_on_finish else self.request
        self.channel.write_soon(head + body)


class RefusalTask(_Answering, ErrorTask):
    """A request that the application never sees, answered in the application's shape."""

    status: str
    content_length: int
    response_headers: Any
    close_on_finish: bool

    def execute(self) -> None:
        """Write the response that the listener's `RejectionHandler` returns."""
        request = self.request
        code = (
            request.error.problem_code if isinstance(request.error, Refusal) else "internal_error"
        )
        response = self.channel.server.reject(
            RejectedRequest(
                code=code,
                method=request.command,
                peer=self.channel.addr[0],
                headers=request.headers,
                unparsed=request.header_plus,
                seconds=monotonic() - request.began,
            )
        )
        self.status = response.status
        self.content_length = len(response.body)
        self.response_headers = list(response.headers)
        self.close_on_finish = code != "overloaded" or len(self.channel.requests) > 1
        head = self.build_response_header()
        self.wrote_header = True
        self.channel.write_soon(head if request.command == "HEAD" else head + response.body)


class Connection(HTTPChannel):
    """A client's connection.

    Workers call `service`; everything else happens in whichever polls.
    """

    server: Any
    socket: Any
    request: Any
    requests: Any
    outbuf_lock: Any
    _fileno: Any
    _flush_some_if_lockable: Any
    _flush_exception: Any

    will_close: bool
    last_activity: float

    task_class: type[WSGITask] = ApplicationTask
    error_task_class: type[ErrorTask] = RefusalTask
    parser_class: type[FramedRequest] = FramedRequest

    queued_at: float = 0.0
    """When its first request began to wait for a worker."""
    occupies_write: bool = False
    """Does its first request count as one of the writes under way?"""
    request_began: float = 0.0
    """When the request that is being received began, or could be read on."""

    answered: FramedRequest | None = None
    """The request whose whole answer is on its way, so that the next may already be read."""

    awaits_client: bool = False
    """Does a request wait until the client has taken the answers before?"""

    _timed: FramedRequest | None = None
    _answer_due: float | None = None
    _lingers_since: float | None = None
    _lingered = 0

    @property
    def answers_last(self) -> bool:
        """Is the request that is being answered the last that this connection will bring?"""
        more = len(self.requests) > 1 or self.request is not None
        return self.server.draining and not more

    @property
    def idle(self) -> bool:
        """Has the client nothing more to be answered, and begun nothing?"""
        return self.request is None and not self._busy

    @property
    def silence(self) -> float:
        """For how long nothing was heard of the client, or of the end since it was announced."""
        heard: float = max(self.last_activity, self.server.drains_since)
        return time() - heard

    @property
    def unfinished(self) -> bool:
        """Is there a request that the client has begun and not finished?"""
        return self.request is not None and not self._busy

    @property
    def lingers(self) -> bool:
        """Has everything been answered, and the client not closed its side?"""
        return self._lingers_since is not None

    @property
    def _busy(self) -> bool:
        return bool(self.requests or self.total_outbufs_len or self.close_when_flushed)

    def add_channel(self, map: Any = None) -> None:  # noqa: A002 (Waitress' signature)
        """See HTTPChannel; and poll it."""
        super().add_channel(map)
        self.server.poll.add(self)

    def del_channel(self, map: Any = None) -> None:  # noqa: A002 (Waitress' signature)
        """See HTTPChannel; and poll it no more."""
        self.server.poll.remove(self._fileno)
        super().del_channel(map)

    @property
    def writes(self) -> bool:
        """Whether the application may change something for its first request."""
        request = self.requests[0]
        return not request.error and may_write(request.command)

    def has_sent_nothing(self) -> bool:
        """Is there also nothing that could be read and was not yet?"""
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def received(self, data: bytes) -> bool:
        """Read requests; each has a time by which it must be complete."""
        taken = super().received(data)
        if self.request is not self._timed:
            self._timed = self.request
            self.request_began = monotonic()
        return taken

    def service(self) -> None:
        """Answer one request: by the application, unless it waited for too long."""
        request = self.requests[0]
        if monotonic() - self.queued_at > LONGEST_WAIT and not request.error:
            request.error = Refusal("overloaded")
        self._answer_due = None
        occupied_write, self.occupies_write = self.occupies_write, False
        try:
            super().service()
        finally:
            if occupied_write:
                self.server.task_dispatcher.end_write()
        self.request_began = monotonic()  # It may not have been read meanwhile.
        if self.writable() or not self.server.poll.reads(self):
            self.server.attend_to(self)

    def resume(self) -> None:
        """Have the next request answered where the client has taken the answers before."""
        if self.awaits_client and not self.total_outbufs_len:
            self.awaits_client = False
            self.server.add_task(self)

    def refuse(self, code: str) -> None:
        """Answer with that problem, whatever was received, and end the connection.

        Only while no request waits for a worker.
        """
        request: FramedRequest = self.request or self.parser_class(self.adj)
        request.refuse(code)
        self.request, self.requests = None, [request]
        super().service()
        self.handle_write()

    def check(self, now: float) -> None:
        """Act where the client took too long, or where the service is to end."""
        if self._lingers_since is not None:
            patience = FAREWELL_SECONDS if self.server.draining else LINGER_SECONDS
            if now - self._lingers_since > patience:
                self.handle_close()
        elif self.total_outbufs_len:
            due = self._answer_due  # A worker may clear it meanwhile.
            if due is None:
                due = self._answer_due = (
                    now + ANSWER_SECONDS + self.total_outbufs_len / SLOWEST_READER
                )
            if now > due:
                self.handle_close()
        elif self.idle:
            if self.silence > (FAREWELL_SECONDS if self.server.draining else IDLE_SECONDS):
                self.handle_close()
        elif self.unfinished:
            stalls = self.server.draining and self.silence > FAREWELL_SECONDS
            if stalls or now - self.request_began > REQUEST_SECONDS:
                self.refuse("request_timeout")

    def readable(self) -> bool:
        """See HTTPChannel; also while the connection lingers.

        Whoever is answered may ask again before the worker is back from sending.
        """
        following = self.requests == [self.answered] and not self.total_outbufs_len
        return self.lingers or following or super().readable()

    def writable(self) -> bool:
        """See wasyncore; not while the connection lingers, or a worker sends.

        What the worker sends counts as unsent until it is back. To poll for it would return at once
        and keep the worker from coming back.
        """
        if self.lingers or not super().writable():
            return False
        free: bool = self.outbuf_lock.acquire(blocking=False)
        if free:
            self.outbuf_lock.release()
        return free

    def send_continue(self) -> None:
        """See HTTPChannel, whose own would have a worker close what is polled."""
        self.request.expect_continue = False
        self.request.completed = False
        self.sent_continue = True
        with suppress(ClientDisconnected):
            self.write_soon(b"HTTP/1.1 100 Continue\r\n\r\n")

    def write_soon(self, data: Any) -> int:
        """Send what the socket takes, and keep the rest to be sent; returns how much it was.

        Waitress alone would copy all of it first, and write what is large to disk.
        """
        size = len(data)
        with self.outbuf_lock:
            if self.connected and not self.total_outbufs_len:
                with suppress(OSError):  # It takes nothing; sending the rest will tell why.
                    data = data[self.socket.send(data) :]
            super().write_soon(data)
        if self.total_outbufs_len:
            self.server.attend_to(self)
        return size

    def handle_read(self) -> None:
        """Receive, and drop it where the last answer was given."""
        try:
            data = self.socket.recv(self.sendbuf_len if self.lingers else self.adj.recv_bytes)
        except OSError:
            self.handle_close()
            return
        if self.lingers:
            self._lingered += len(data)
            if not data or self._lingered > LARGEST_LINGER:
                self.handle_close()
        elif data:
            self.last_activity = time()
            self.received(data)
        elif self._busy:
            self.answered = None  # The client says no more, but not all was sent to it.
        else:
            self.handle_close()

    def handle_write(self) -> None:
        """Send what was answered; the last answer is followed by an end that it survives.

        Closing at once would reset the connection if the client still sends, and a reset can take
        the answer with it (RFC 9112, section 9.6).
        """
        self._flush_exception(self._flush_some_if_lockable)
        self.resume()
        if self.will_close:
            self.handle_close()
        elif self.connected and self.close_when_flushed and not self.total_outbufs_len:
            self._lingers_since = monotonic()
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                self.handle_close()

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Nothing: a worker waits for no client. The next request does, see `awaits_client`."""
