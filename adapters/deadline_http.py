"""HTTP connections with one deadline for a whole request.

urllib3 applies a timeout to each address and to each read from the socket. A slow name resolution,
a host with many addresses or a slow response can therefore exceed it. In this module, the connect
timeout limits name resolution and all addresses together, and the read timeout the whole response.
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

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util import Url

_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
_SWITCHING_PROTOCOLS = 101
_MAX_LOOKUPS = 16
"""Concurrent name resolutions. Each has a thread, which can't be stopped if the resolver hangs."""

_lookups = BoundedSemaphore(_MAX_LOOKUPS)

_Addresses: TypeAlias = list[tuple[Any, ...]]


def connection_pool(
    url: Url, *, size: int, tls: ssl.SSLContext | None = None
) -> HTTPConnectionPool:
    """Return a connection pool for the URL's host that keeps up to `size` connections open.

    `tls` replaces the certificate authorities that the system trusts.
    """
    host = url.host or ""
    if url.scheme == "https":
        # Created once: it reads all certificates that the system trusts.
        context = tls or ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return _SecurePool(host, url.port, maxsize=size, ssl_context=context)
    return _PlainPool(host, url.port, maxsize=size)


def is_secure(url: Url) -> bool:
    """Return whether requests to the URL are encrypted, or stay on this machine."""
    return url.scheme == "https" or (url.scheme == "http" and url.host in _LOOPBACK)


class _DeadlineResponse(http.client.HTTPResponse):
    """A response. Reading it takes at most the timeout that the socket has at its start."""

    def __init__(self, sock: socket.socket, *args: Any, **settings: Any) -> None:
        super().__init__(sock, *args, **settings)
        self.fp = BufferedReader(_DeadlineReader(sock, self.fp.detach()))

    def begin(self) -> None:
        """Read the status line and the headers.

        Raises: HTTPException if they are malformed. urllib3 would only log them.
        """
        super().begin()
        while 100 <= self.status < 200:  # http.client accepts 101 to 199 as final.
            if self.status == _SWITCHING_PROTOCOLS:
                raise http.client.HTTPException
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        if self.msg.defects or self.msg.get_payload():
            raise http.client.HTTPException


class _DeadlineReader(RawIOBase):
    """The bytes that a socket receives before a deadline."""

    def __init__(self, sock: socket.socket, received: RawIOBase) -> None:
        super().__init__()
        self._sock = sock
        self._received = received
        self._deadline = monotonic() + cast("float", sock.gettimeout())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return cast("int | None", self._received.readinto(buffer))

    def close(self) -> None:
        self._received.close()
        super().close()


class _PlainConnection(HTTPConnection):
    response_class = _DeadlineResponse
    process = 0

    def connect(self) -> None:
        """Open the connection within its timeout."""
        self.sock = _connect(self)
        self.process = os.getpid()

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open. The pool opens another one if a fork inherited it."""
        return self.process == os.getpid() and super().is_connected


class _SecureConnection(HTTPSConnection):
    response_class = _DeadlineResponse
    process = 0

    def connect(self) -> None:
        """Open the connection, and verify the certificate, within its timeout."""
        self.sock = _encrypted(self, _connect(self))
        self.is_verified = True
        self.process = os.getpid()

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open. The pool opens another one if a fork inherited it."""
        return self.process == os.getpid() and super().is_connected


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def _encrypted(connection: HTTPSConnection, sock: socket.socket) -> ssl.SSLSocket:
    context = cast("ssl.SSLContext", connection.ssl_context)
    try:
        return context.wrap_socket(sock, server_hostname=connection.host.strip("[]").rstrip("."))
    except BaseException:
        sock.close()
        raise


def _connect(connection: HTTPConnection) -> socket.socket:
    """Connect to the first address that accepts. Each gets an equal share of the time left."""
    deadline = monotonic() + cast("float", connection.timeout)
    addresses = _addresses(connection, deadline)
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        try:
            sock = socket.socket(family, kind, protocol)
        except OSError:  # The system does not support this address family.
            continue
        try:
            sock.settimeout(_seconds_left(connection, deadline) / (len(addresses) - tried))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(address)
            sock.settimeout(_seconds_left(connection, deadline))
        except TimeoutError:
            sock.close()
        except OSError:
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    _seconds_left(connection, deadline)
    raise NewConnectionError(connection, "no address accepts a connection")


def _addresses(connection: HTTPConnection, deadline: float) -> _Addresses:
    """Return the host's addresses. A thread resolves the name: getaddrinfo has no timeout."""
    found: SimpleQueue[_Addresses | socket.gaierror] = SimpleQueue()
    host, port = connection.host.strip("[]"), connection.port

    def resolve() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.put(error if isinstance(error, socket.gaierror) else socket.gaierror(str(error)))
        finally:
            _lookups.release()

    if not _lookups.acquire(timeout=_seconds_left(connection, deadline)):
        raise ConnectTimeoutError(connection, "too many names are being resolved")
    Thread(target=resolve, name="recipient-fields-resolver", daemon=True).start()
    try:
        result = found.get(timeout=_seconds_left(connection, deadline))
    except Empty:
        raise ConnectTimeoutError(connection, "the host's name was not resolved in time") from None
    if isinstance(result, socket.gaierror):
        raise NameResolutionError(host, connection, result)
    return result


def _seconds_left(connection: HTTPConnection, deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise ConnectTimeoutError(connection, "no connection was opened in time")
    return left
