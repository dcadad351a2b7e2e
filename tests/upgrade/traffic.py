"""Clients that use a service during an upgrade, and accept no failure."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import TracebackType
from typing import Any, Self

from ..support.service import FIELDS, Client, Response
from ..support.waiting import TIMEOUT, eventually

SOME = 10


class Traffic:
    """A client that creates, changes and reads fields in a thread until the block ends.

    Any response other than a success ends it. It never retries.
    """

    def __init__(self, writer: Client, reader: Client, prefix: str) -> None:
        """`writer` and `reader` can be clients of different services on one storage."""
        self.fields: list[dict[str, Any]] = []
        """The fields that it created and changed, as `reader` returned them."""
        self._writer = writer
        self._reader = reader
        self._prefix = prefix
        self._ending = Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._run = self._pool.submit(self._use)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._pool.shutdown()
        self._run.result()

    def wait_for_more(self) -> None:
        """Wait until it has created, changed and read some more fields."""
        enough = len(self.fields) + SOME
        eventually(lambda: self._run.done() or len(self.fields) >= enough, within=TIMEOUT)
        if self._run.done():
            self._run.result()

    def _use(self) -> None:
        while not self._ending.is_set():
            name = f"{self._prefix}_{len(self.fields)}"
            created = _field(self._writer.create(name=name, allowed_values=["a", "b"]), 201)
            changed = _field(self._writer.change(created["id"], name=f"{name} ☃"), 200)
            read = _field(self._reader("GET", f"{FIELDS}/{name}"), 200)
            assert read == changed
            assert read in self._reader.fields()
            self.fields.append(read)


def _field(response: Response, status: int) -> dict[str, Any]:
    assert response.status == status, response.body
    field: dict[str, Any] = response.document["recipient_field"]
    return field
