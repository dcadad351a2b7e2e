"""Requests to an ESP during one sync run: with retries, deadlines and size limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import monotonic
from typing import Self, TypeVar

from attrs import frozen
from urllib3.util import Url, parse_url

from ..network import Connections, Failure, Outcome, Request, describe, jitter, retry_after, send
from .api import Api, origin
from .responses import Response

T = TypeVar("T")

_RETRIED_STATUSES = {408, 500, 502, 503, 504, *range(520, 530)}
"""Content delivery networks send 520 to 529 if the ESP's own server fails."""
_MAX_FAULT = 65_536
_POOL_SIZE = 1


@frozen(kw_only=True)
class Limits:
    """The limits of a sync run. Times are in seconds, sizes in bytes.

    A response arrives within `read_timeout`, from the beginning of the request to its last byte. A
    request is sent at most `attempts` times. Before a retry, the run waits for as long as the ESP
    requires, plus a random time between half of `backoff` and all of it. `backoff` doubles with
    each retry, up to `max_backoff`. The run fails at once if the ESP requires a longer wait than
    the run has left. `public_only`: hosts must not resolve to loopback or private addresses.
    """

    connect_timeout: float = 10
    read_timeout: float = 60
    run_timeout: float = 600
    attempts: int = 5
    backoff: float = 1
    max_backoff: float = 60
    max_response: int = 16 * 2**20
    max_pages: int = 1_000
    public_only: bool = False


DEFAULT_LIMITS = Limits()


class Run:
    """The requests of one sync run, within its limits. It closes all connections on exit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._deadline = monotonic() + limits.run_timeout
        self._connections: dict[object, Connections] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._connections.values():
            each.close()

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
        self._check_time(api)
        target = parse_url(url)
        request = Request(
            method=method,
            target=target.request_uri,
            headers={"User-Agent": "recipient-fields", **api.headers},
            body=body,
            max_error=_MAX_FAULT if api.describes_failures else 0,
        )
        outcome = send(
            self._connections_to(target),
            request,
            deadline=self._deadline,
            timeout=self._limits.read_timeout,
            wait=partial(self._wait, api),
        )
        failure = _temporary_failure(api, outcome)
        if isinstance(outcome, Failure) or failure is not None:
            self._check_time(api)
            raise api.unavailable(
                f"{failure}, and no time is left for a retry", seconds=_required_wait(api, outcome)
            )
        return Response(api=api, url=url, headers=outcome.headers, body=outcome.body)

    def _connections_to(self, url: Url) -> Connections:
        host = origin(url)
        if host not in self._connections:
            self._connections[host] = Connections(
                url,
                size=_POOL_SIZE,
                connect_timeout=self._limits.connect_timeout,
                max_response=self._limits.max_response,
                public_only=self._limits.public_only,
            )
        return self._connections[host]

    def _wait(self, api: Api, outcome: Outcome, attempt: int) -> float | None:
        """Return the seconds before a retry, or None if the request succeeded.

        Raises: EspUnavailable if the ESP may not be asked again, EspRefused if it would be in vain.
        """
        failure = _temporary_failure(api, outcome)
        if failure is None:
            return None
        if attempt >= self._limits.attempts:
            raise api.unavailable(
                f"{failure}, in {attempt} attempts", seconds=_required_wait(api, outcome)
            )
        backoff = min(self._limits.backoff * 2 ** (attempt - 1), self._limits.max_backoff)
        return _required_wait(api, outcome) + jitter(backoff)

    def _check_time(self, api: Api) -> None:
        if monotonic() >= self._deadline:
            raise api.unavailable(
                f"did not list its fields within {self._limits.run_timeout:,g} seconds"
            )


def _required_wait(api: Api, outcome: Outcome) -> float:
    """Return the seconds that the ESP requires before the next request."""
    limited = 0.0 if isinstance(outcome, Failure) else api.seconds_limited(outcome)
    return max(retry_after(outcome), limited)


def _temporary_failure(api: Api, outcome: Outcome) -> str | None:
    """Return what failed temporarily, or None if the request succeeded.

    Raises: EspRefused if a retry would fail in the same way.
    """
    if isinstance(outcome, Failure):
        if outcome.permanent:
            raise api.refused(outcome.what)
        return outcome.what
    status = outcome.status
    if status == 200:
        return None
    if status == 429:
        return describe(status)
    if status == 403 and api.limits_with_403 and not outcome.body.lstrip().startswith(b"{"):
        return "limits the rate of requests (403)"
    fault = api.read_fault and api.read_fault(api, status, outcome.body)
    if fault is not None:
        if fault.temporary:
            return fault.sentence
        # All faults of SOAP 1.1 have the status 500, so only their code shows who caused them.
        if status not in _RETRIED_STATUSES - {500}:
            raise api.refused(fault.sentence)
    if status in _RETRIED_STATUSES:
        return describe(status)
    if 300 <= status < 400:
        raise api.refused(describe(status))
    if status == 401:
        raise api.refused(f"does not accept these credentials ({status}): {api.after_401}")
    if status == 403:
        raise api.refused(f"does not let these credentials {api.task} ({status}): {api.scope}")
    if status == 404:
        raise api.refused(f"has nothing at this address ({status}): check {api.named(api.address)}")
    raise api.refused(f"rejects the request to {api.task} ({status})")
