"""HTTP requests while a test breaks PostgreSQL, and their responses."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPConnection
from itertools import count
from threading import Event, Thread
from time import monotonic, sleep
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from attrs import frozen

from ...support.service import FIELDS, Client, Response, require_statuses

MAX_RESPONSE_TIME = 5.0
READERS = WRITERS = 2

_log = logging.getLogger(__name__)


@frozen
class Exchange:
    """A request of some kind, when it began and ended, and its response."""

    kind: str
    began: float
    ended: float
    response: Response

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @property
    def status(self) -> int:
        return self.response.status


def exchange(kind: str, send: Callable[[], Response]) -> Exchange:
    began = monotonic()
    response = send()
    return Exchange(kind, began, monotonic(), response)


def send(
    connection: HTTPConnection, method: str, path: str, headers: Mapping[str, str], key: str
) -> Response:
    """Send a request over this connection. A POST creates the field with this key.

    The response has the body of an error only, because thousands of lists need too much memory.
    """
    body = None
    if method == "POST":
        headers = {**headers, "Content-Type": "application/json"}
        body = json.dumps({"recipient_field": {"name": "City", "key": key, "data_type": "text"}})
    connection.request(method, path, body, headers)
    with connection.getresponse() as response:
        content = response.read()
        error = content if response.status >= 400 else b""
        return Response(response.status, response.headers, error)


class HttpLoad:
    """Two clients that list and two that create, until the block ends."""

    def __init__(self, url: str, key: str) -> None:
        self.exchanges: list[Exchange] = []
        self.acknowledged: set[str] = set()
        self._url = url
        self._key = key
        self._numbers = count(1)
        self._ending = Event()
        methods = ["GET"] * READERS + ["POST"] * WRITERS
        self._threads = [Thread(target=self._repeat, args=(method,)) for method in methods]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        sleep(0.5)
        require_statuses(self.exchanges, 200, 201)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def require_an_outage_of_503s(self, *, within: float = MAX_RESPONSE_TIME) -> None:
        """Check that there was no 500, no 401, no late response, and no 503 without Retry-After."""
        require_statuses(self.exchanges, 200, 201, 503)
        rejected = (each.response for each in self.exchanges if each.status == 503)
        assert all("Retry-After" in response.headers for response in rejected)
        slowest = max(each.seconds for each in self.exchanges)
        _log.info("slowest response %.2f s", slowest)
        assert slowest < within

    def require_quick_refusals_between(self, begin: float, end: float, *, within: float) -> None:
        """Check that requests in that time were rejected, each within that limit."""
        refused = [each for each in self.exchanges if begin < each.began < end]
        require_statuses(refused, 503)
        assert max(each.seconds for each in refused) < within

    def require_service_since(self, accepting: float) -> None:
        """Check that requests 1.5 s or more after the server's return succeeded."""
        ends = {
            method: min(
                each.ended
                for each in self.exchanges
                if each.kind == method and each.status < 300 and each.began > accepting
            )
            for method in ("GET", "POST")
        }
        _log.info(
            "first read %.2f s, first write %.2f s after the return",
            *(ends[method] - accepting for method in ("GET", "POST")),
        )
        late = [each for each in self.exchanges if each.began > accepting + 1.5]
        require_statuses((each for each in late if each.kind == "GET"), 200)
        require_statuses((each for each in late if each.kind == "POST"), 201)

    def require_nothing_lost(self) -> None:
        """Check that every acknowledged field is stored, and none twice."""
        keys = [field["key"] for field in Client(self._url, self._key).fields()]
        assert len(set(keys)) == len(keys)
        assert self.acknowledged <= set(keys)

    def _repeat(self, method: str) -> None:
        connection = HTTPConnection(urlsplit(self._url).netloc, timeout=10)
        headers = {"Authorization": f"Bearer {self._key}"}
        while not self._ending.is_set():
            key = f"field_{next(self._numbers)}"
            done = exchange(method, partial(send, connection, method, FIELDS, headers, key))
            self.exchanges.append(done)
            if done.status == 201:
                self.acknowledged.add(key)
            sleep(0.05 if done.status == 503 else 0.005)
        connection.close()
