"""Reads and creations while a test breaks the server, and their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Event, Thread
from time import monotonic, sleep
from typing import Self

from attrs import frozen

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.domain import FieldKey, OrganizationId, StorageUnavailable
from recipient_fields.testing.examples import AUTHOR, a_definition
from recipient_fields.testing.field_changes import add_field

READERS = WRITERS = 2


@frozen
class Call:
    """One call of the storage: when it began, how long it took, and what it raised."""

    kind: str
    began: float
    seconds: float
    error: BaseException | None


class Load:
    """Two threads that read and two that create, until the block ends.

    A thread pauses for a moment after an error, as a client does before it retries.
    """

    def __init__(self, storage: PostgresStorage, organization_id: OrganizationId) -> None:
        self.calls: list[Call] = []
        self.acknowledged: list[FieldKey] = []
        self._storage = storage
        self._organization_id = organization_id
        self._numbers = count(1)
        self._ending = Event()
        self._threads = [
            Thread(target=self._repeat, args=arguments)
            for arguments in [("read", self._read)] * READERS + [("create", self._create)] * WRITERS
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        sleep(0.3)
        assert not self.errors, "the storage failed before anything was broken"
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    @property
    def errors(self) -> list[Call]:
        return [call for call in self.calls if call.error is not None]

    def require_outage_of_503s(self) -> None:
        """Check that only StorageUnavailable was raised, and that no call took longer than 5 s."""
        assert {type(call.error) for call in self.errors} <= {StorageUnavailable}
        assert max(call.seconds for call in self.calls) < 5

    def require_service_since(self, accepting: float) -> None:
        """Check that calls that began 1.5 s or more after the server's return succeeded."""
        late = [call for call in self.calls if call.began > accepting + 1.5]
        assert {call.kind for call in late} == {"read", "create"}
        assert [call for call in late if call.error is not None] == []

    def require_quick_refusals_between(self, begin: float, end: float) -> None:
        """Check that calls that began in that time ended within 1.2 s."""
        during = [call for call in self.calls if begin < call.began < end]
        assert during
        assert max(call.seconds for call in during) < 1.2

    def require_nothing_lost(self) -> None:
        """Check that every acknowledged field is stored, and none twice."""
        stored = [field.key for field in self._storage.fields.all(self._organization_id).fields]
        assert len(stored) == len(set(stored))
        assert set(self.acknowledged) <= set(stored)

    def _repeat(self, kind: str, call: Callable[[], object]) -> None:
        while not self._ending.is_set():
            began = monotonic()
            error: BaseException | None = None
            try:
                call()
            except Exception as raised:  # noqa: BLE001 - the tests check which one
                error = raised
            self.calls.append(Call(kind, began, monotonic() - began, error))
            sleep(0.05 if error else 0.002)

    def _read(self) -> None:
        self._storage.fields.all(self._organization_id)

    def _create(self) -> None:
        key = FieldKey(f"field_{next(self._numbers)}")
        add_field(self._storage.fields, self._organization_id, a_definition(key), author=AUTHOR)
        self.acknowledged.append(key)
