"""`kill -9` of the service while it writes."""

from __future__ import annotations

from collections.abc import Callable
from http.client import HTTPException
from itertools import count
from threading import Thread
from typing import Any

import pytest

from ..support.service import FIELDS, Client, Service
from ..support.waiting import eventually

pytestmark = pytest.mark.slow

WRITERS = 4
ENOUGH = 15
"""Acknowledged writes of each writer before the service is killed."""


class Writer(Thread):
    """Creates one field after the other, and changes each, until nobody answers."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__()
        self._client, self._name = client, name
        self.acknowledged: dict[int, dict[str, Any]] = {}
        self.asked: list[dict[str, Any]] = []
        """The fields as they may be if what was asked last has happened without an answer."""

    def has_written_enough(self) -> bool:
        """True as well for one that failed, which the end of the test tells."""
        return len(self.acknowledged) >= ENOUGH or not self.is_alive()

    def run(self) -> None:
        try:
            for number in count():
                self._write(f"{self._name} {number}")
        except (HTTPException, OSError):
            return  # Nobody answers any more.

    def _write(self, name: str) -> None:
        self.asked.append({"name": name, "custom_value_expression": None})
        field = self._acknowledge(self._client.create(name=name), 201)
        self.asked.append({"name": name, "custom_value_expression": "changed"})
        changed = self._client.change(field["id"], custom_value_expression="changed")
        self._acknowledge(changed, 200)

    def _acknowledge(self, answer: Any, status: int) -> dict[str, Any]:
        assert answer.status == status, answer.body
        field: dict[str, Any] = answer.document["recipient_field"]
        self.acknowledged[field["id"]] = field
        return field


def killed_while_it_writes(service: Service, key: str, name: str) -> list[Writer]:
    """What was writing when the service was killed."""
    writers = [Writer(service.client(key), f"{name} {n}") for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    eventually(lambda: all(writer.has_written_enough() for writer in writers))
    service.kill()
    for writer in writers:
        writer.join()
    return writers


def test_every_acknowledged_write_is_there_after_a_kill_and_none_twice(
    start: Callable[..., Service], key: str
) -> None:
    kept: dict[int, dict[str, Any]] = {}
    for attempt in range(3):
        writers = killed_while_it_writes(start(), key, f"Attempt {attempt}")

        fields = start().client(key).fields()

        stored = {field["id"]: field for field in fields}
        assert len(stored) == len(fields)
        assert len({field["key"] for field in fields}) == len(fields)
        assert kept.items() <= stored.items()
        for writer in writers:
            assert_kept(writer, stored)
        known = kept.keys() | {i for writer in writers for i in writer.acknowledged}
        assert len(stored.keys() - known) <= WRITERS
        kept = stored


def assert_kept(writer: Writer, stored: dict[int, dict[str, Any]]) -> None:
    """What was acknowledged is stored; the one change that got no answer, at most, beside it."""
    *_, last = writer.asked
    for field_id, field in writer.acknowledged.items():
        if stored[field_id] != field:
            assert {member: stored[field_id][member] for member in last} == last
            assert stored[field_id]["key"] == field["key"]


def test_the_key_is_still_good_and_a_free_key_still_free_after_a_kill(
    start: Callable[..., Service], key: str
) -> None:
    service = start()
    service.client(key).create(name="Shop")
    service.client(key)("DELETE", f"{FIELDS}/shop")
    service.kill()

    again = start().client(key)

    assert again.fields() == []
    assert again.create(name="Shop").status == 201
