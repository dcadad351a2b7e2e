"""Work of which a process does one at a time, so that other requests have CPU time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import falcon
from attrs import field, frozen


@frozen
class OneAtATime:
    """Work that a request does, or a request of another administrator."""

    busy: str
    """What the other one is told."""
    _running: Lock = field(factory=Lock, init=False, eq=False, repr=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Do the work in the block. Raises: HTTPServiceUnavailable if another request does."""
        if not self._running.acquire(blocking=False):
            raise falcon.HTTPServiceUnavailable(description=self.busy, retry_after=5)
        try:
            yield
        finally:
            self._running.release()
