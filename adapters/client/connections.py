"""Connections to one service. Each request has a deadline, and each response a size limit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ssl import SSLContext

from attrs import field, frozen
from urllib3 import BaseHTTPResponse, Timeout
from urllib3.exceptions import (
    ClosedPoolError,
    ConnectTimeoutError,
    HTTPError,
    LocationParseError,
    NewConnectionError,
    SSLError,
)
from urllib3.exceptions import TimeoutError as HttpTimeout
from urllib3.util import Url, parse_url

from ..deadline_http import connection_pool, is_secure, read_body

_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


@frozen(kw_only=True)
class Request:
    """A request. Its target follows the path of the base URL."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None

    @property
    def is_read(self) -> bool:
        """Whether the request only reads, so that it can be repeated."""
        return self.method == "GET"


@frozen
class Response:
    """A complete response of any status."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@frozen
class TransportFailure:
    """The reason why no complete response arrived.

    `not_sent` is true if the service can't have received the request, `permanent` if a retry would
    fail in the same way.
    """

    what: str
    not_sent: bool = False
    permanent: bool = False


class Connections:
    """A pool of keep-alive connections to the service at a base URL, thread-safe.

    Raises: ValueError if the URL can't be used.
    """

    def __init__(
        self,
        url: str,
        *,
        tls: SSLContext | None,
        plaintext: bool,
        pool_size: int,
        connect_timeout: float,
        max_response: int,
    ) -> None:
        base = _base(url, plaintext=plaintext)
        self._path = (base.path or "").rstrip("/")
        self._pool = connection_pool(base, size=pool_size, tls=tls)
        self._connect_timeout = connect_timeout
        self._max_response = max_response

    def exchange(self, request: Request, *, timeout: float) -> Response | TransportFailure:
        """Send the request and return its complete response, within `timeout` seconds."""
        try:
            # The retries of urllib3 would sleep beyond the deadline. A redirect would send the key.
            with self._pool.urlopen(
                request.method,
                self._path + request.target,
                body=request.body,
                headers=request.headers,
                timeout=Timeout(total=timeout, connect=min(timeout, self._connect_timeout)),
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
            ) as response:
                return self._read(response)
        except HTTPError as error:
            kind = next(kind for kind in _FAILURES if isinstance(error, kind))
            return _FAILURES[kind]

    def close(self) -> None:
        """Close all connections. Later requests fail."""
        self._pool.close()

    def _read(self, response: BaseHTTPResponse) -> Response | TransportFailure:
        body = read_body(response, self._max_response)
        if len(body) > self._max_response:
            what = f"sent a response of more than {self._max_response:,} bytes"
            return TransportFailure(what, permanent=True)
        return Response(response.status, response.headers, body)


_FAILURES: Mapping[type[HTTPError], TransportFailure] = {
    ClosedPoolError: TransportFailure("can't be reached: this client is closed", permanent=True),
    SSLError: TransportFailure(
        "can't be reached: its TLS certificate or protocol is not accepted", permanent=True
    ),
    NewConnectionError: TransportFailure(
        "can't be reached: no connection can be opened", not_sent=True
    ),
    ConnectTimeoutError: TransportFailure(
        "can't be reached: the connection timed out", not_sent=True
    ),
    HttpTimeout: TransportFailure("did not respond in time"),
    HTTPError: TransportFailure("closed the connection before the end of its response"),
}
"""The failure for each error of urllib3. The first class that matches applies."""


def _base(text: str, *, plaintext: bool) -> Url:
    """Return the base URL. Raises: ValueError, without the URL, if it can't be used."""
    try:
        url = parse_url(text)
    except LocationParseError:
        raise ValueError(_BASE_URL) from None
    if (
        url.scheme not in {"http", "https"}
        or not url.host
        or _PATH.fullmatch(url.path or "") is None
    ):
        raise ValueError(_BASE_URL)
    if url.auth or url.query is not None or url.fragment is not None:
        raise ValueError(_BASE_URL)
    if not (is_secure(url) or plaintext):
        message = "API keys would be sent in plain text. Use https."
        raise ValueError(message)
    return url


_BASE_URL = (
    "Invalid URL of the service: use one like https://fields.example.com or"
    " https://example.com/fields."
)
