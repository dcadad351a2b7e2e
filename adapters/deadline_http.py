"""HTTP connections with one deadline for a whole request.

The timeouts of urllib3 apply to each step on its own: each address, each read from the socket. A
slow name resolution, a host with many addresses or a response that drips can therefore exceed them.
Here, the timeout that urllib3 passes to a connection limits all steps together.
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
_READ_SIZE = 65_536
_SWITCHING_PROTOCOLS = 101
_MAX_LOOKUPS = 16
"""At the same time. A resolver that hangs blocks one thread each, which can't be stopped."""

_lookups = BoundedSemaphore(_MAX_LOOKUPS)

_Addresses: TypeAlias = list[tuple[Any, ...]]


def connection_pool(
    url: Url, *, size: int, tls: ssl.SSLContext | None = None
) -> HTTPConnectionPool:
    """Return a pool of connections to the URL's host, of which `size` stay open between requests.

    `tls` replaces the certificate authorities that the system trusts.
    """
    host = url.host or ""
    if url.scheme == "https":
        # Created once: it reads all certificates that the system trusts.
        context = tls or ssl.create_default_context()
        return _SecurePool(host, url.port, maxsize=size, ssl_context=context)
    return _PlainPool(host, url.port, maxsize=size)


def is_private(url: Url) -> bool:
    """Return whether requests to the URL are encrypted, or stay on this machine."""
    return url.scheme == "https" or (url.scheme == "http" and url.host in _LOOPBACK)


def read_body(response: BaseHTTPResponse, max_bytes: int) -> bytes:
    """Return the body as it was sent, or more than `max_bytes` of its start if it is longer."""
    body = bytearray()
    while len(body) <= max_bytes and (piece := response.read1(_READ_SIZE, decode_content=False)):
        body += piece
    return bytes(body)


class _DeadlineResponse(http.client.HTTPResponse):
    """A response whose reading takes at most the timeout that the socket has at its start."""

    def __init__(self, sock: socket.socket, *args: Any, **settings: Any) -> None:
        super().__init__(sock, *args, **settings)
        self.fp = BufferedReader(_DeadlineReader(sock, self.fp.detach()))

    def begin(self) -> None:
        """Read the head. Raises: HTTPException if it is malformed, which urllib3 would log."""
        super().begin()
        while 100 <= self.status < 200:  # http.client takes it for the final response.
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

    def _new_conn(self) -> socket.socket:
        self.process = os.getpid()
        return _connected(self)


class _SecureConnection(HTTPSConnection):
    response_class = _DeadlineResponse
    process = 0

    def _new_conn(self) -> socket.socket:
        self.process = os.getpid()
        return _connected(self)


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection

    def _get_conn(self, timeout: float | None = None) -> Any:
        return _of_this_process(super()._get_conn(timeout))


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection

    def _get_conn(self, timeout: float | None = None) -> Any:
        return _of_this_process(super()._get_conn(timeout))


def _of_this_process(connection: Any) -> Any:
    """Return the connection. Close it first if a forked process would share it."""
    if connection.sock is not None and connection.process != os.getpid():
        connection.close()
    return connection


def _connected(connection: HTTPConnection) -> socket.socket:
    """Return a socket to the first address that accepts. Each gets an equal share of the time."""
    deadline = monotonic() + cast("float", connection.timeout)
    addresses = _addresses(connection, deadline)
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        try:
            sock = socket.socket(family, kind, protocol)
        except OSError:  # The system does not support this address family.
            continue
        try:
            sock.settimeout(_left(connection, deadline) / (len(addresses) - tried))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(address)
            sock.settimeout(_left(connection, deadline))
        except TimeoutError:
            sock.close()
        except OSError:
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    _left(connection, deadline)
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

    if not _lookups.acquire(timeout=_left(connection, deadline)):
        raise ConnectTimeoutError(connection, "too many names are being resolved")
    Thread(target=resolve, name="recipient-fields-resolver", daemon=True).start()
    try:
        result = found.get(timeout=_left(connection, deadline))
    except Empty:
        raise ConnectTimeoutError(connection, "the host's name was not resolved in time") from None
    if isinstance(result, socket.gaierror):
        raise NameResolutionError(host, connection, result)
    return result


def _left(connection: HTTPConnection, deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise ConnectTimeoutError(connection, "no connection was opened in time")
    return left
