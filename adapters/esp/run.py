"""Requests to an ESP during one sync run: with retries, deadlines and size limits."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from random import SystemRandom
from threading import Timer
from time import monotonic, sleep
from types import TracebackType
from typing import Self, TypeVar

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
from urllib3.exceptions import TimeoutError as HttpTimeout

from .api import Api
from .responses import Response

T = TypeVar("T")

_READ_SIZE = 65_536
_RETRIED_STATUSES = {408, 500, 502, 503, 504, *range(520, 530)}
"""Content delivery networks send 520 to 529 if the ESP's own server fails."""
_random = SystemRandom()
_RETRY_AFTER = Retry(retry_after_max=2**31)


@frozen(kw_only=True)
class Limits:
    """The limits of a sync run. Times are in seconds, sizes in bytes.

    A request is sent at most `attempts` times. Before a retry, the run waits for the time in
    `Retry-After`, or for a random time between `backoff` and twice that if there is none. `backoff`
    doubles with each retry. If `Retry-After` exceeds `max_wait`, the run fails.
    """

    connect_timeout: float = 10
    read_timeout: float = 60
    run_timeout: float = 600
    attempts: int = 5
    backoff: float = 0.5
    max_wait: float = 60
    max_response: int = 16 * 2**20
    max_pages: int = 1_000


DEFAULT_LIMITS = Limits()


@frozen
class _TemporaryFailure:
    """The reason why an attempt failed, and the seconds in `Retry-After`, if any."""

    what: str
    wait: float | None = None


def _pool_manager(sockets: list[socket.socket]) -> PoolManager:
    """Return a pool that adds the socket of each new connection to the list."""

    class PlainConnection(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            sockets.append(self.sock)

    class SecureConnection(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            sockets.append(self.sock)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = PlainConnection

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = SecureConnection

    manager = PoolManager()
    manager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return manager


class Run:
    """The requests of one sync run, within its limits. It closes all connections on exit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._deadline = monotonic() + limits.run_timeout
        self._sockets: list[socket.socket] = []
        self._pools = _pool_manager(self._sockets)
        self._timer = Timer(limits.run_timeout, self._shut_down)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        # `clear` would leave the sockets to the garbage collector.
        for origin in self._pools.pools.keys():  # noqa: SIM118
            self._pools.pools[origin].close()

    def get(self, api: Api, path: str, query: Mapping[str, object] | None = None) -> Response:
        """Send a GET.

        Raises: EspUnavailable if all attempts fail, EspRefused if a retry would fail as well.
        """
        return self._request(api, "GET", api.at(path, query))

    def post(self, api: Api, path: str, body: bytes) -> Response:
        """Send a POST that can be repeated safely. Raises: the errors of `get`."""
        return self._request(api, "POST", api.at(path), body)

    def pages(
        self,
        api: Api,
        path: str,
        query: Mapping[str, object] | None,
        read: Callable[[Response], tuple[T, str | None]],
    ) -> Iterator[T]:
        """Yield each page; `read` returns it with the link to the next page, if there is one.

        Raises: EspRefused if a link leads to another host or to a page that was read before, or if
        there are too many pages.
        """
        url = api.at(path, query)
        requested: set[str] = set()
        while True:
            if url in requested:
                raise api.refused("continues its list with a page that was read before")
            self.check_page_limit(api, len(requested))
            requested.add(url)
            page, link = read(self._request(api, "GET", url))
            yield page
            if link is None:
                return
            url = api.linked(url, link)

    def check_page_limit(self, api: Api, pages: int) -> None:
        """Raise EspRefused if the maximum number of pages has been read."""
        if pages >= self._limits.max_pages:
            raise api.refused(f"lists more than {self._limits.max_pages:,} pages of fields")

    def _request(self, api: Api, method: str, url: str, body: bytes | None = None) -> Response:
        attempts = 0
        while isinstance(outcome := self._attempt(api, method, url, body), _TemporaryFailure):
            attempts += 1
            if attempts >= self._limits.attempts:
                raise api.unavailable(f"{outcome.what}, {attempts} times")
            self._wait(api, outcome, attempts)
        return outcome

    def _attempt(
        self, api: Api, method: str, url: str, body: bytes | None
    ) -> Response | _TemporaryFailure:
        left = self._time_left(api)
        try:
            # The retries of urllib3 would sleep beyond the deadline, read the whole body of a
            # failure, and not cover an incomplete body.
            with self._pools.request(
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
                failure = _failure(api, response)
                if failure is not None:
                    return failure
                content = self._read(api, response)
                return Response(api=api, url=url, headers=response.headers, body=content)
        except HTTPError as error:
            kind = next(kind for kind in _TRANSPORT_FAILURES if isinstance(error, kind))
            return _TemporaryFailure(_TRANSPORT_FAILURES[kind])

    def _read(self, api: Api, response: BaseHTTPResponse) -> bytes:
        """Return the body. It is read in parts, so that a slow body can't exceed the deadline."""
        body = bytearray()
        while piece := response.read1(_READ_SIZE):
            body += piece
            if len(body) > self._limits.max_response:
                raise api.refused(
                    f"sent a response of more than {self._limits.max_response:,} bytes"
                )
            self._time_left(api)
        self._time_left(api)  # After the shutdown, a body can look complete.
        return bytes(body)

    def _shut_down(self) -> None:
        """Shut down all sockets at the deadline: a slow body never exceeds the read timeout."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _wait(self, api: Api, failure: _TemporaryFailure, attempts: int) -> None:
        wait = failure.wait
        if wait is None:
            max_backoff = self._limits.backoff * 2**attempts
            wait = min(_random.uniform(max_backoff / 2, max_backoff), self._limits.max_wait)
        if wait > self._limits.max_wait:
            raise api.unavailable(f"{failure.what} and requires a wait of {wait:,.0f} seconds")
        if wait > self._time_left(api):
            raise api.unavailable(f"{failure.what}, and no time is left for a retry")
        sleep(wait)

    def _time_left(self, api: Api) -> float:
        left = self._deadline - monotonic()
        if left <= 0:
            raise api.unavailable(
                f"did not list its fields within {self._limits.run_timeout:,g} seconds"
            )
        return left


_TRANSPORT_FAILURES: Mapping[type[HTTPError], str] = {
    SSLError: "can't be reached: its TLS certificate or protocol is not accepted",
    NewConnectionError: "can't be reached: no connection can be opened",
    HttpTimeout: "did not respond in time",
    HTTPError: "closed the connection before the end of its response",
}
"""The failure for each error of urllib3. The first class that matches applies."""


def _failure(api: Api, response: BaseHTTPResponse) -> _TemporaryFailure | None:
    """Return the temporary failure, or None if the request succeeded.

    Raises: EspRefused if a retry would fail in the same way.
    """
    status = response.status
    if status == 200:
        return None
    if status == 429 or (
        status == 403 and api.empty_403_means_rate_limit and not response.read1(1)
    ):
        return _TemporaryFailure(f"limits the rate of requests ({status})", _retry_after(response))
    fault = api.read_fault and api.read_fault(response.read(_READ_SIZE))
    if fault is not None:
        # All faults of SOAP 1.1 have the status 500, so only their code shows who caused them.
        if fault.temporary or status in _RETRIED_STATUSES - {500}:
            return _TemporaryFailure(fault.sentence, _retry_after(response))
        raise api.refused(fault.sentence)
    if status in _RETRIED_STATUSES:
        return _TemporaryFailure(f"failed ({status})", _retry_after(response))
    if 300 <= status < 400:
        raise api.refused(f"redirects to another address ({status}), which is not followed")
    if status == 401:
        raise api.refused(f"does not accept these credentials ({status})")
    if status == 403:
        raise api.refused(f"does not let these credentials list fields ({status}): {api.scope}")
    if status == 404:
        raise api.refused(f"has nothing at this address ({status}): check ids and URL")
    raise api.refused(f"rejects the request for its fields ({status})")


def _retry_after(response: BaseHTTPResponse) -> float | None:
    """Return the seconds until the time in `Retry-After`, or None if it is absent or invalid."""
    try:
        return _RETRY_AFTER.get_retry_after(response)
    except (InvalidHeader, OverflowError, ValueError):
        return None
