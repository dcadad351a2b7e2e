"""Clients that write to a service while a test breaks its database, and check what it stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from threading import Event
from time import monotonic, sleep
from typing import Any

from attrs import Factory, define

from ...support.service import Client, Response, require_statuses
from .load import MAX_RESPONSE_TIME, Exchange, exchange

PAUSE = 0.02
RETRY_TIMEOUT = 60.0


@define
class Writer:
    """Creates one field after the other, changes each, and retries after a 503."""

    client: Client
    requests: list[Exchange] = Factory(list)
    acknowledged: list[dict[str, Any]] = Factory(list)

    def write_until(self, ending: Event) -> None:
        while not ending.is_set():
            key = f"field_{len(self.acknowledged)}"
            created = self._acknowledged(partial(self.client.create, name=key, key=key))
            change = partial(self.client.change, _id(created), custom_value_expression=key)
            changed = self._acknowledged(change)
            require_statuses([changed], 200)
            self.acknowledged.append(changed.document["recipient_field"])

    def _acknowledged(self, send: Callable[[], Response]) -> Response:
        """Return the first response that is not 503. A 409 must follow a 503."""
        began = monotonic()
        may_be_stored = False
        while monotonic() < began + RETRY_TIMEOUT:
            request = exchange("write", send)
            self.requests.append(request)
            sleep(PAUSE)
            if request.status != 503:
                expected = (200, 201, 409) if may_be_stored else (200, 201)
                require_statuses([request], *expected)
                return request.response
            assert "Retry-After" in request.response.headers
            may_be_stored = True
        raise AssertionError("The service did not recover.")


def _id(created: Response) -> int:
    document = created.document
    if created.status == 409:
        return int(document["error"]["details"][0]["existing_id"])
    return int(document["recipient_field"]["id"])


@contextmanager
def writing(clients: list[Client]) -> Iterator[list[Writer]]:
    """Let each client write until the block ends and its last write is acknowledged."""
    ending = Event()
    writers = [Writer(client) for client in clients]
    with ThreadPoolExecutor(len(writers)) as pool:
        runs = [pool.submit(writer.write_until, ending) for writer in writers]
        try:
            sleep(0.5)
            yield writers
        finally:
            ending.set()
    for run in runs:
        run.result()


def require_nothing_lost_or_duplicated(writers: list[Writer]) -> None:
    """Check that exactly the acknowledged fields are stored, and that no response was late."""
    for writer in writers:
        assert writer.client.fields() == writer.acknowledged
        assert max(request.seconds for request in writer.requests) < MAX_RESPONSE_TIME


def all_requests(writers: list[Writer]) -> list[Exchange]:
    return sorted(
        (request for writer in writers for request in writer.requests), key=attrgetter("ended")
    )


def acknowledged_since(begin: float, writers: list[Writer]) -> list[Exchange]:
    """Return the writes that began after `begin` and succeeded, ordered by their end."""
    return [each for each in all_requests(writers) if each.began > begin and each.status < 300]
