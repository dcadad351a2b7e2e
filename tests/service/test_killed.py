"""`kill -9` of the service while it writes."""

from __future__ import annotations

from contextlib import suppress
from http.client import HTTPException
from itertools import count
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from ..support.service import FIELDS, Client, Service
from ..support.waiting import eventually
from .conftest import Start

pytestmark = pytest.mark.slow

WRITERS = 4
MIN_WRITES = 15
"""The number of acknowledged writes of each writer before the service is killed."""


class Writer(Thread):
    """Creates and changes one field after the other, until the service is killed."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__()
        self._client, self._name = client, name
        self.acknowledged: dict[int, dict[str, Any]] = {}
        self.attempted: list[dict[str, Any]] = []
        """The members of each attempted write, of which the last has no response."""

    def has_written_enough(self) -> bool:
        """Return whether the writer has written enough, or has failed."""
        return len(self.acknowledged) >= MIN_WRITES or not self.is_alive()

    def run(self) -> None:
        try:
            for number in count():
                self._write(f"{self._name} {number}")
        except (HTTPException, OSError):
            return  # The service was killed.

    def _write(self, name: str) -> None:
        self.attempted.append({"name": name, "custom_value_expression": None})
        field = self._acknowledge(self._client.create(name=name), 201)
        self.attempted.append({"name": name, "custom_value_expression": "changed"})
        changed = self._client.change(field["id"], custom_value_expression="changed")
        self._acknowledge(changed, 200)

    def _acknowledge(self, response: Any, status: int) -> dict[str, Any]:
        assert response.status == status, response.body
        field: dict[str, Any] = response.document["recipient_field"]
        self.acknowledged[field["id"]] = field
        return field


def killed_while_it_writes(service: Service, key: str, name: str) -> list[Writer]:
    """Kill the service while clients write, and return the writers."""
    writers = [Writer(service.client(key), f"{name} {n}") for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    eventually(lambda: all(writer.has_written_enough() for writer in writers))
    service.kill()
    for writer in writers:
        writer.join()
    return writers


def test_every_acknowledged_write_is_stored_exactly_once_after_a_kill(
    start: Start, key: str
) -> None:
    expected: dict[int, dict[str, Any]] = {}
    for attempt in range(3):
        writers = killed_while_it_writes(start(), key, f"Attempt {attempt}")

        fields = start().client(key).fields()

        stored = {field["id"]: field for field in fields}
        assert len(stored) == len(fields)
        assert len({field["key"] for field in fields}) == len(fields)
        assert expected.items() <= stored.items()
        for writer in writers:
            assert_stored(writer, stored)
        known = expected.keys() | {i for writer in writers for i in writer.acknowledged}
        assert len(stored.keys() - known) <= WRITERS
        expected = stored


def assert_stored(writer: Writer, stored: dict[int, dict[str, Any]]) -> None:
    """Check that the acknowledged writes are stored; the last attempt may be stored as well."""
    *_, last = writer.attempted
    for field_id, field in writer.acknowledged.items():
        if stored[field_id] != field:
            assert {member: stored[field_id][member] for member in last} == last
            assert stored[field_id]["key"] == field["key"]


def test_a_batch_is_stored_completely_or_not_at_all_after_a_kill(start: Start, key: str) -> None:
    service = start()
    client = service.client(key)
    began = monotonic()
    assert client.apply(CREATIONS).status == 200
    duration = monotonic() - began
    stored = []
    for part in (0.05, 0.2, 0.4, 0.6, 0.8):
        client.apply([deletion(field) for field in client.fields()])
        sender = BatchSender(client)
        sender.start()
        sleep(part * duration)
        service.kill()
        sender.join()

        service = start()
        client = service.client(key)
        client.apply([UNSUCCESSFUL])  # PostgreSQL may still commit: wait for its lock.
        stored.append(len(client.fields()))
        assert sender.status is None or stored[-1] == len(CREATIONS)
    assert set(stored) <= {0, len(CREATIONS)}
    assert 0 in stored


CREATIONS = [
    {"operation": "create", "recipient_field": {"name": f"Field {number}", "data_type": "text"}}
    for number in range(1_000)
]
UNSUCCESSFUL = {"operation": "delete", "reference": "missing"}


class BatchSender(Thread):
    """Sends a batch, and stores the status of its response if there is one."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self.status: int | None = None

    def run(self) -> None:
        with suppress(HTTPException, OSError):  # The service was killed.
            self.status = self._client.apply(CREATIONS).status


def deletion(field: dict[str, Any]) -> dict[str, object]:
    return {"operation": "delete", "reference": field["id"]}


def test_keys_and_deletions_are_preserved_after_a_kill(start: Start, key: str) -> None:
    service = start()
    service.client(key).create(name="Shop")
    service.client(key)("DELETE", f"{FIELDS}/shop")
    service.kill()

    again = start().client(key)

    assert again.fields() == []
    assert again.create(name="Shop").status == 201
