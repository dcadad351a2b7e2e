"""Connections on which a request takes its time and no more, however slow the other side is.

urllib3 limits each step by itself. A name that is looked up for long, a host of many addresses and
an answer that drips would outlast it; so here the timeout that it gives a connection, which is what
is left for the request, holds for all steps together.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from io import BufferedReader, RawIOBase
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Any, TypeAlias, cast

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util import Url

_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
_AT_ONCE = 65_536
_SWITCHED = 101
_MOST_LOOK_UPS = 16
"""At a time. A resolver that hangs keeps a thread for each, and nobody can end it."""

_look_ups = BoundedSemaphore(_MOST_LOOK_UPS)

_Addresses: TypeAlias = list[tuple[Any, ...]]


def connections_to(url: Url, *, kept: int, tls: ssl.SSLContext | None = None) -> HTTPConnectionPool:
    """The connections to that URL's host, none of them open yet; `kept` stay open between requests.

    `tls` replaces the authorities that the system trusts.
    """
    host = url.host or ""
    if url.scheme == "https":
        # Made once: a context reads all certificates that the system trusts.
        context = tls or ssl.create_default_context()
        return _SecurePool(host, url.port, maxsize=kept, ssl_context=context)
    return _PlainPool(host, url.port, maxsize=kept)


def is_private(url: Url) -> bool:
    """Can nobody on the way read what is sent there?"""
    return url.scheme == "https" or (url.scheme == "http" and url.host in _LOOPBACK)


def body_of(response: BaseHTTPResponse, most: int) -> bytes:
    """The body as it was sent, or the beginning of one of more than `most` bytes."""
    body = bytearray()
    while len(body) <= most and (piece := response.read1(_AT_ONCE, decode_content=False)):
        body += piece
    return bytes(body)


class _TimelyResponse(http.client.HTTPResponse):
    """An answer that is read no longer than the socket's timeout was when it began."""

    def __init__(self, sock: socket.socket, *args: Any, **settings: Any) -> None:
        super().__init__(sock, *args, **settings)
        self.fp = BufferedReader(_Timely(sock, self.fp.detach()))

    def begin(self) -> None:
        """Read the head. HTTPException where it is malformed: urllib3 would log what it is."""
        super().begin()
        while 100 <= self.status < 200:  # Not the answer yet, which http.client takes it for.
            if self.status == _SWITCHED:
                raise http.client.HTTPException
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        if self.msg.defects or self.msg.get_payload():
            raise http.client.HTTPException


class _Timely(RawIOBase):
    """What a socket receives until a moment."""

    def __init__(self, sock: socket.socket, received: RawIOBase) -> None:
        super().__init__()
        self._sock = sock
        self._received = received
        self._ends = monotonic() + cast("float", sock.gettimeout())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._ends - monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return cast("int | None", self._received.readinto(buffer))

    def close(self) -> None:
        self._received.close()
        super().close()


class _Plain(HTTPConnection):
    response_class = _TimelyResponse
    process = 0

    def _new_conn(self) -> socket.socket:
        self.process = os.getpid()
        return _connected(self)


class _Secure(HTTPSConnection):
    response_class = _TimelyResponse
    process = 0

    def _new_conn(self) -> socket.socket:
        self.process = os.getpid()
        return _connected(self)


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain

    def _get_conn(self, timeout: float | None = None) -> Any:
        return _of_this_process(super()._get_conn(timeout))


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure

    def _get_conn(self, timeout: float | None = None) -> Any:
        return _of_this_process(super()._get_conn(timeout))


def _of_this_process(connection: Any) -> Any:
    """The connection, which a forked process must not share: answers would go to either."""
    if connection.sock is not None and connection.process != os.getpid():
        connection.close()
    return connection


def _connected(connection: HTTPConnection) -> socket.socket:
    """A socket to the first address that answers; each is given an equal share of the time."""
    ends = monotonic() + cast("float", connection.timeout)
    addresses = _addresses(connection, ends)
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        try:
            sock = socket.socket(family, kind, protocol)
        except OSError:  # The system has no such family of addresses.
            continue
        try:
            sock.settimeout(_left(connection, ends) / (len(addresses) - tried))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(address)
            sock.settimeout(_left(connection, ends))
        except TimeoutError:
            sock.close()
        except OSError:
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    _left(connection, ends)
    raise NewConnectionError(connection, "no address accepts a connection")


def _addresses(connection: HTTPConnection, ends: float) -> _Addresses:
    """The host's addresses. The system's own look-up can't be told when to end."""
    found: SimpleQueue[_Addresses | socket.gaierror] = SimpleQueue()
    host, port = connection.host.strip("[]"), connection.port

    def look_up() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.put(error if isinstance(error, socket.gaierror) else socket.gaierror(str(error)))
        finally:
            _look_ups.release()

    if not _look_ups.acquire(timeout=_left(connection, ends)):
        raise ConnectTimeoutError(connection, "too many names are being looked up")
    Thread(target=look_up, name="recipient-fields-look-up", daemon=True).start()
    try:
        result = found.get(timeout=_left(connection, ends))
    except Empty:
        raise ConnectTimeoutError(connection, "the host's name was not looked up in time") from None
    if isinstance(result, socket.gaierror):
        raise NameResolutionError(host, connection, result)
    return result


def _left(connection: HTTPConnection, ends: float) -> float:
    left = ends - monotonic()
    if left <= 0:
        raise ConnectTimeoutError(connection, "no connection was made in time")
    return left
