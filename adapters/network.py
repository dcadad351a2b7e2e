"""Requests to other services: one deadline, one table of failures and one rule for retries.

The client of the service, the connectors of ESPs and the introspection of tokens send theirs here.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from io import BufferedReader, RawIOBase
from ipaddress import IPv6Address, ip_address
from itertools import count
from queue import Empty, SimpleQueue
from random import SystemRandom
from ssl import SSLContext
from threading import BoundedSemaphore, Thread
from time import monotonic, sleep
from typing import Any, TypeAlias, cast

from attrs import field, frozen
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, Retry, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ClosedPoolError,
    ConnectTimeoutError,
    DecodeError,
    HTTPError,
    InvalidHeader,
    NameResolutionError,
    NewConnectionError,
    SSLError,
)
from urllib3.exceptions import TimeoutError as HttpTimeout
from urllib3.util import Url, parse_url

_READ_SIZE = 65_536
_MIN_TIMEOUT = 0.001
_RETRY_AFTER = Retry(retry_after_max=2**31)
_random = SystemRandom()


@frozen(kw_only=True)
class Request:
    """A request. Its target is the path with the query.

    Of the body of an error (status 300 and above), only the first `max_error` bytes are read.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    max_error: int = 0


@frozen
class Response:
    """A complete response of any status, decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@frozen
class Failure:
    """The reason why no complete response arrived.

    `what` ends a sentence that begins with the name of the server. `not_sent` is true if the server
    can't have received the request, `late` if the request took all of its time, and `permanent` if
    a retry would fail in the same way.
    """

    what: str
    not_sent: bool = False
    late: bool = False
    permanent: bool = False


Outcome: TypeAlias = Response | Failure

CLOSED_EARLY = Failure("closed the connection before the end of its response")
"""The server may also have closed an idle connection, so that it did not receive the request."""


class PrivateAddress(HTTPError):
    """A host that must be public has an address of this machine or of its network."""


_FAILURES: Mapping[type[HTTPError], Failure] = {
    ClosedPoolError: Failure("can't be reached: the connections to it were closed", permanent=True),
    SSLError: Failure(
        "can't be reached: its TLS certificate or protocol is not accepted", permanent=True
    ),
    PrivateAddress: Failure(
        "can't be reached: its host name resolves to a private address", permanent=True
    ),
    NameResolutionError: Failure(
        "can't be reached: its host name can't be resolved", not_sent=True
    ),
    NewConnectionError: Failure("can't be reached: no connection can be opened", not_sent=True),
    ConnectTimeoutError: Failure(
        "can't be reached: the connection timed out", not_sent=True, late=True
    ),
    HttpTimeout: Failure("did not respond in time", late=True),
    DecodeError: Failure("sent a response that can't be decoded"),
    HTTPError: CLOSED_EARLY,
}
"""The failure for each error of urllib3. The first class that matches applies."""


class Connections:
    """A pool of up to `size` keep-alive connections to the host of a URL, thread-safe.

    Opening a connection takes at most `connect_timeout` seconds, and a response has at most
    `max_response` bytes. `tls` replaces the certificate authorities that the system trusts.
    With `public_only`, no request is sent to a loopback or private address.
    """

    def __init__(
        self,
        url: Url,
        *,
        size: int,
        connect_timeout: float,
        max_response: int,
        tls: SSLContext | None = None,
        public_only: bool = False,
    ) -> None:
        self._pool = connection_pool(url, size=size, tls=tls, public_only=public_only)
        self._connect_timeout = connect_timeout
        self._max_response = max_response

    def exchange(self, request: Request, *, timeout: float) -> Outcome:
        """Send the request and return its complete response, within `timeout` seconds."""
        timeout = max(timeout, _MIN_TIMEOUT)
        try:
            # The retries of urllib3 would sleep beyond the deadline. A redirect would send the key.
            with self._pool.urlopen(
                request.method,
                request.target,
                body=request.body,
                headers=request.headers,
                timeout=Timeout(total=timeout, connect=min(timeout, self._connect_timeout)),
                retries=False,
                redirect=False,
                preload_content=False,
            ) as response:
                if response.status >= 300:
                    body = _read(response, request.max_error)
                else:
                    body = _read(response, self._max_response + 1)
        except HTTPError as error:
            # Not raised here: a chained error could contain what the server has sent.
            return next(_FAILURES[kind] for kind in _FAILURES if isinstance(error, kind))
        if response.status < 300 and len(body) > self._max_response:
            what = f"sent a response of more than {self._max_response:,} bytes"
            return Failure(what, permanent=True)
        return Response(response.status, response.headers, body)

    def close(self) -> None:
        """Close all connections. Later requests fail."""
        self._pool.close()


def _read(response: BaseHTTPResponse, size: int) -> bytes:
    """Return the body, or its first `size` bytes if it has more."""
    body = bytearray()
    while len(body) < size and (piece := response.read1(_READ_SIZE)):
        body += piece
    return bytes(body[:size])


def send(
    connections: Connections,
    request: Request,
    *,
    deadline: float,
    wait: Callable[[Outcome, int], float | None],
    timeout: float = float("inf"),
) -> Outcome:
    """Send the request until `wait` says that it is done, and return the last outcome.

    `wait` gets the outcome and the number of attempts, and returns the seconds before a retry, or
    None. `deadline` is a time of the monotonic clock; a wait that would exceed it is not begun. One
    attempt takes at most `timeout` seconds.
    """
    for attempt in count(1):
        outcome = connections.exchange(request, timeout=min(deadline - monotonic(), timeout))
        seconds = wait(outcome, attempt)
        if seconds is None or seconds >= deadline - monotonic():
            break
        sleep(seconds)
    return outcome


def describe(status: int) -> str:
    """Return what an unexpected status says, as the end of a sentence about the server."""
    if status == 429:
        return "limits the rate of requests (429)"
    if 300 <= status < 400:
        return f"redirects to another address ({status}), which is not followed"
    if status >= 500 or status == 408:
        return f"failed ({status})"
    return f"sent the status {status}"


def jitter(backoff: float) -> float:
    """Return a random time between half of `backoff` and all of it."""
    return _random.uniform(backoff / 2, backoff)


def retry_after(outcome: Outcome) -> float:
    """Return the seconds until the time in `Retry-After`, or 0 if it is absent or invalid."""
    if isinstance(outcome, Failure):
        return 0
    try:
        return _RETRY_AFTER.parse_retry_after(outcome.headers.get("Retry-After", "0"))
    except (InvalidHeader, OverflowError, ValueError):
        return 0


_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
_SWITCHING_PROTOCOLS = 101
_MAX_LOOKUPS = 16
"""Concurrent name resolutions. Each has a thread, which can't be stopped if the resolver hangs."""

_lookups = BoundedSemaphore(_MAX_LOOKUPS)

_Addresses: TypeAlias = list[tuple[Any, ...]]


def connection_pool(
    url: Url, *, size: int, tls: ssl.SSLContext | None = None, public_only: bool = False
) -> HTTPConnectionPool:
    """Return a connection pool for the URL's host that keeps up to `size` connections open.

    `tls` replaces the certificate authorities that the system trusts. With `public_only`, a host
    with a loopback or private address is an error.
    """
    host = url.host or ""
    if url.scheme == "https":
        # Created once: it reads all certificates that the system trusts.
        context = tls or ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return _SecurePool(
            host, url.port, maxsize=size, ssl_context=context, public_only=public_only
        )
    return _PlainPool(host, url.port, maxsize=size, public_only=public_only)


def is_secure(url: Url) -> bool:
    """Return whether requests to the URL are encrypted, or stay on this machine."""
    return url.scheme == "https" or (url.scheme == "http" and url.host in _LOOPBACK)


def parse_secure_url(text: str) -> Url | None:
    """Return a URL to which credentials can be sent, or None.

    It is secure, and has a host, but neither a user nor a fragment.
    """
    try:
        url = parse_url(text)
    except ValueError:
        return None
    return url if is_secure(url) and url.host and not (url.auth or url.fragment) else None


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

    def __init__(self, *args: Any, public_only: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.public_only = public_only

    def connect(self) -> None:
        """Open the connection within its timeout."""
        self.sock = _connect(self)
        self.process = os.getpid()

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open. The pool opens another one if a fork inherited it."""
        return self.process == os.getpid() and super().is_connected


class _SecureConnection(_PlainConnection, HTTPSConnection):
    def connect(self) -> None:
        """Open the connection, and verify the certificate, within its timeout."""
        super().connect()
        self.sock = _encrypted(self, self.sock)
        self.is_verified = True


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


def _connect(connection: _PlainConnection) -> socket.socket:
    """Connect to the first address that accepts. Each gets an equal share of the time left."""
    deadline = monotonic() + cast("float", connection.timeout)
    addresses = _addresses(connection, deadline)
    if connection.public_only and not all(map(_is_public, addresses)):
        raise PrivateAddress
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


def _is_public(address: tuple[Any, ...]) -> bool:
    """Return whether an address of `getaddrinfo` is in the public internet."""
    ip = ip_address(address[4][0].partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_global


def _seconds_left(connection: HTTPConnection, deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise ConnectTimeoutError(connection, "no connection was opened in time")
    return left
