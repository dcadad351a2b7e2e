"""Connections to one service: every exchange ends in time and brings a bounded answer."""

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
from urllib3.exceptions import TimeoutError as TimedOut
from urllib3.util import Url, parse_url

from ..timely import body_of, connections_to, is_private

_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


@frozen(kw_only=True)
class Request:
    """What is asked. The target begins behind the base URL's path."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None

    @property
    def reads(self) -> bool:
        """Is it without effect, however often it is asked?"""
        return self.method == "GET"


@frozen
class Answer:
    """A whole answer, whatever it says."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@frozen
class Silence:
    """What kept an answer away.

    `unheard` where the service can't have got the request, `lasting` where it would be kept away
    the next time, too.
    """

    what: str
    unheard: bool = False
    lasting: bool = False


class Connections:
    """Kept-alive connections to the service at a base URL. May be used from several threads."""

    def __init__(
        self,
        url: str,
        *,
        tls: SSLContext | None,
        plaintext: bool,
        kept: int,
        connect_timeout: float,
        largest_answer: int,
    ) -> None:
        base = _base(url, plaintext=plaintext)
        self._path = (base.path or "").rstrip("/")
        self._pool = connections_to(base, kept=kept, tls=tls)
        self._connect_timeout = connect_timeout
        self._largest_answer = largest_answer

    def exchange(self, request: Request, *, seconds: float) -> Answer | Silence:
        """The answer to the request, if it is whole within that time."""
        try:
            # Repeating is not urllib3's: it would sleep past the end. A redirect would take the
            # key along.
            with self._pool.urlopen(
                request.method,
                self._path + request.target,
                body=request.body,
                headers=request.headers,
                timeout=Timeout(total=seconds, connect=min(seconds, self._connect_timeout)),
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
            ) as response:
                return self._received(response)
        except HTTPError as error:
            kind = next(kind for kind in _SILENCES if isinstance(error, kind))
            return _SILENCES[kind]

    def close(self) -> None:
        """Give back every connection, for good."""
        self._pool.close()

    def _received(self, response: BaseHTTPResponse) -> Answer | Silence:
        body = body_of(response, self._largest_answer)
        if len(body) > self._largest_answer:
            much = f"answers with more than {self._largest_answer:,} bytes"
            return Silence(much, lasting=True)
        return Answer(response.status, response.headers, body)


_SILENCES: Mapping[type[HTTPError], Silence] = {
    ClosedPoolError: Silence("is not asked any more: this client is closed", lasting=True),
    SSLError: Silence(
        "can't be reached: its TLS certificate or protocol is not accepted", lasting=True
    ),
    NewConnectionError: Silence("can't be reached: no connection can be made", unheard=True),
    ConnectTimeoutError: Silence("can't be reached: no connection is made in time", unheard=True),
    TimedOut: Silence("did not answer in time"),
    HTTPError: Silence("broke off the connection"),
}
"""What no answer means. The first kind that an error is of counts."""


def _base(text: str, *, plaintext: bool) -> Url:
    """The base URL; ValueError, which repeats nothing of it, where keys can't be sent there."""
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
    if not (is_private(url) or plaintext):
        message = "API keys would be sent in plain text. Use https, or say plaintext=True."
        raise ValueError(message)
    return url


_BASE_URL = (
    "The service's URL is one like https://fields.example.com or https://example.com/fields."
)
