"""Asking an ESP: patient within limits, and never trusting how much it answers."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from random import SystemRandom
from threading import Timer
from time import monotonic, sleep
from types import TracebackType
from typing import Self, TypeAlias

from attrs import frozen
from urllib3 import (
    BaseHTTPResponse,
    HTTPConnectionPool,
    HTTPSConnectionPool,
    PoolManager,
    Retry,
    Timeout,
)
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, InvalidHeader, NewConnectionError, SSLError
from urllib3.exceptions import TimeoutError as TimedOut

from .answers import Answer
from .api import Api

_RECEIVED_AT_ONCE = 65_536
_OVERLOADED = {408, 500, 502, 503, 504}
_random = SystemRandom()
_RETRY_AFTER = Retry(retry_after_max=2**31)


@frozen(kw_only=True)
class Limits:
    """What a run may take. Times in seconds.

    A request is made `attempts` times at most. Between them passes what the ESP asks for, or else
    `backoff`, doubled each time, and up to as much again by chance. An ESP that asks for more than
    `longest_wait` is unavailable.
    """

    connect_timeout: float = 10
    read_timeout: float = 60
    run_timeout: float = 600
    attempts: int = 5
    backoff: float = 0.5
    longest_wait: float = 60
    largest_answer: int = 16 * 2**20
    most_pages: int = 1_000


USUAL_LIMITS = Limits()


@frozen(kw_only=True)
class Reply:
    """A successful answer, whole, and the URL that was asked."""

    api: Api
    url: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Answer:
        """What its JSON says. EspRefused where it is none."""
        return Answer.parse(self.api, self.body)


NextLink: TypeAlias = Callable[[Reply], str | None]
"""The link to the page after this one; None on the last."""


@frozen
class _Trouble:
    """What the ESP did that may be over soon, and how many seconds it asked to wait."""

    what: str
    wait: float | None = None


def _connections_noting(sockets: list[socket.socket]) -> PoolManager:
    """Connections whose sockets are noted there as soon as they are open."""

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            sockets.append(self.sock)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            sockets.append(self.sock)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    connections = PoolManager()
    connections.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return connections


class Run:
    """One run through what an ESP lists, within its limits. Holds connections until it is left."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ends = monotonic() + limits.run_timeout
        self._sockets: list[socket.socket] = []
        self._connections = _connections_noting(self._sockets)
        self._watch = Timer(limits.run_timeout, self._hang_up)
        self._watch.daemon = True

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watch.cancel()
        # `clear` would leave the sockets to the garbage collector.
        for origin in self._connections.pools.keys():  # noqa: SIM118
            self._connections.pools[origin].close()

    def get(self, api: Api, path: str, query: Mapping[str, object] | None = None) -> Reply:
        """What the ESP answers to a GET. EspUnavailable, EspRefused."""
        return self._ask(api, "GET", api.at(path, query))

    def post(self, api: Api, path: str, body: bytes) -> Reply:
        """What it answers to a POST, which must do no harm when it is repeated."""
        return self._ask(api, "POST", api.at(path), body)

    def pages(
        self, api: Api, path: str, query: Mapping[str, object] | None, next_link: NextLink
    ) -> Iterator[Reply]:
        """Every page from that one on. EspRefused where they lead astray, in circles or too far."""
        url = api.at(path, query)
        asked: set[str] = set()
        while True:
            if url in asked:
                raise api.refused("continues its list with a page that was read before")
            self.require_end(api, len(asked))
            asked.add(url)
            reply = self._ask(api, "GET", url)
            yield reply
            link = next_link(reply)
            if link is None:
                return
            url = api.linked(url, link)

    def require_end(self, api: Api, pages: int) -> None:
        """EspRefused where so many pages were read that no listing can be as long."""
        if pages >= self._limits.most_pages:
            raise api.refused(f"lists more than {self._limits.most_pages:,} pages of fields")

    def _ask(self, api: Api, method: str, url: str, body: bytes | None = None) -> Reply:
        attempts = 0
        while isinstance(outcome := self._attempt(api, method, url, body), _Trouble):
            attempts += 1
            if attempts >= self._limits.attempts:
                raise api.unavailable(f"{outcome.what}; it was asked {attempts} times")
            self._wait(api, outcome, attempts)
        return outcome

    def _attempt(self, api: Api, method: str, url: str, body: bytes | None) -> Reply | _Trouble:
        left = self._time_left(api)
        try:
            # Repeating is ours: urllib3 would sleep beyond the run's end, read a failure's body to
            # its last byte, and not repeat what breaks off later.
            with self._connections.request(
                method,
                url,
                body=body,
                headers={"User-Agent": "recipient-fields", **api.headers},
                timeout=Timeout(
                    connect=min(left, self._limits.connect_timeout),
                    read=min(left, self._limits.read_timeout),
                ),
                retries=False,
                redirect=False,
                preload_content=False,
            ) as response:
                trouble = _trouble(api, response)
                if trouble is not None:
                    return trouble
                content = self._read(api, response)
                return Reply(api=api, url=url, headers=response.headers, body=content)
        except HTTPError as error:
            return _Trouble(_SILENCES[_kind(error)])

    def _read(self, api: Api, response: BaseHTTPResponse) -> bytes:
        """The whole body. Each piece is what arrived by then: a slow one can't outlast the run."""
        body = bytearray()
        while piece := response.read1(_RECEIVED_AT_ONCE):
            body += piece
            if len(body) > self._limits.largest_answer:
                raise api.refused(f"answers with more than {self._limits.largest_answer:,} bytes")
            self._time_left(api)
        self._time_left(api)  # What we hung up on may look like the end of an answer.
        return bytes(body)

    def _hang_up(self) -> None:
        """End what is still being received: an answer that drips never times out by itself."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _wait(self, api: Api, trouble: _Trouble, attempts: int) -> None:
        wait = trouble.wait
        if wait is None:
            longest = self._limits.backoff * 2**attempts
            wait = min(_random.uniform(longest / 2, longest), self._limits.longest_wait)
        if wait > self._limits.longest_wait:
            raise api.unavailable(f"{trouble.what} and asks to wait for {wait:,.0f} seconds")
        if wait > self._time_left(api):
            raise api.unavailable(f"{trouble.what}, and no time is left to ask again")
        sleep(wait)

    def _time_left(self, api: Api) -> float:
        left = self._ends - monotonic()
        if left <= 0:
            raise api.unavailable(
                f"did not list its fields within {self._limits.run_timeout:,g} seconds"
            )
        return left


_SILENCES: Mapping[type[HTTPError], str] = {
    SSLError: "can't be reached: its TLS certificate or protocol is not accepted",
    NewConnectionError: "can't be reached: no connection can be made",
    TimedOut: "did not answer in time",
    HTTPError: "broke off the connection",
}
"""What no answer means. The first kind that an error is of counts."""


def _kind(error: HTTPError) -> type[HTTPError]:
    return next(kind for kind in _SILENCES if isinstance(error, kind))


def _trouble(api: Api, response: BaseHTTPResponse) -> _Trouble | None:
    """What kept the ESP from answering, None where it did; EspRefused where it will not."""
    status = response.status
    if status == 200:
        return None
    if status == 429 or (status == 403 and api.bare_403_limits_rate and not response.read1(1)):
        return _Trouble(f"limits the rate of requests ({status})", _asked_wait(response))
    if status in _OVERLOADED:
        return _Trouble(f"failed ({status})", _asked_wait(response))
    if 300 <= status < 400:
        raise api.refused(f"redirects to another address ({status}), which is not followed")
    if status == 401:
        raise api.refused(f"does not accept these credentials ({status})")
    if status == 403:
        raise api.refused(f"does not let these credentials list fields ({status}): {api.scope}")
    if status == 404:
        raise api.refused(f"has nothing at this address ({status}): check ids and URL")
    raise api.refused(f"does not answer this request with fields ({status})")


def _asked_wait(response: BaseHTTPResponse) -> float | None:
    """The seconds of `Retry-After`, which may name a date; None where it says nothing of use."""
    try:
        return _RETRY_AFTER.get_retry_after(response)
    except (InvalidHeader, OverflowError, ValueError):
        return None
