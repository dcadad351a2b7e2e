"""HTTP requests while a test breaks PostgreSQL, and their responses."""

from __future__ import annotations

import http.client
import json
import logging
from itertools import count
from threading import Event, Thread
from time import monotonic, sleep
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from attrs import frozen

FIELDS = "/api/v1/recipient_fields"
MAX_RESPONSE_TIME = 5.0
READERS = WRITERS = 2

_log = logging.getLogger(__name__)


@frozen
class Response:
    """One response: when its request began, how long it took, its status and Retry-After."""

    method: str
    began: float
    seconds: float
    status: int
    retry_after: str | None


class HttpLoad:
    """Two clients that list and two that create, until the block ends."""

    def __init__(self, url: str, key: str) -> None:
        self.responses: list[Response] = []
        self.acknowledged: set[str] = set()
        self._address = urlsplit(url).netloc
        self._key = key
        self._numbers = count(1)
        self._ending = Event()
        methods = ["GET"] * READERS + ["POST"] * WRITERS
        self._threads = [Thread(target=self._repeat, args=(method,)) for method in methods]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        sleep(0.5)
        assert {response.status for response in self.responses} == {200, 201}
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
        statuses = {response.status for response in self.responses}
        assert statuses <= {200, 201, 503}, statuses
        assert all(response.retry_after for response in self.responses if response.status == 503)
        slowest = max(response.seconds for response in self.responses)
        _log.info("slowest response %.2f s", slowest)
        assert slowest < within

    def require_quick_refusals_between(self, begin: float, end: float, *, within: float) -> None:
        """Check that requests in that time were rejected, each within that limit."""
        refused = [response for response in self.responses if begin < response.began < end]
        assert {response.status for response in refused} == {503}
        assert max(response.seconds for response in refused) < within

    def require_service_since(self, accepting: float) -> None:
        """Check that requests 1.5 s or more after the server's return succeeded."""
        ends = {
            method: min(
                response.began + response.seconds
                for response in self.responses
                if response.method == method
                and response.status < 300
                and response.began > accepting
            )
            for method in ("GET", "POST")
        }
        _log.info(
            "first read %.2f s, first write %.2f s after the return",
            *(ends[method] - accepting for method in ("GET", "POST")),
        )
        late = [response for response in self.responses if response.began > accepting + 1.5]
        assert {(response.method, response.status) for response in late} == {
            ("GET", 200),
            ("POST", 201),
        }

    def require_nothing_lost(self) -> None:
        """Check that every acknowledged field is stored, and none twice."""
        connection = http.client.HTTPConnection(self._address, timeout=10)
        _, content = self._send(connection, "GET", None)
        keys = [field["key"] for field in json.loads(content)["recipient_fields"]]
        connection.close()
        assert len(set(keys)) == len(keys)
        assert self.acknowledged <= set(keys)

    def _repeat(self, method: str) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=10)
        while not self._ending.is_set():
            key = f"field_{next(self._numbers)}" if method == "POST" else None
            began = monotonic()
            response, _ = self._send(connection, method, key)
            seconds = monotonic() - began
            retry_after = response.getheader("Retry-After")
            self.responses.append(Response(method, began, seconds, response.status, retry_after))
            if key is not None and response.status == 201:
                self.acknowledged.add(key)
            sleep(0.05 if response.status == 503 else 0.005)
        connection.close()

    def _send(
        self, connection: http.client.HTTPConnection, method: str, key: str | None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        headers = {"Authorization": f"Bearer {self._key}"}
        body = None
        if key is not None:
            headers["Content-Type"] = "application/json"
            field = {"name": "City", "key": key, "data_type": "text"}
            body = json.dumps({"recipient_field": field})
        connection.request(method, FIELDS, body, headers)
        response = connection.getresponse()
        return response, response.read()
