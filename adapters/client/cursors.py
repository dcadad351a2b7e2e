"""The cursors of the pages that a client has read."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TypeAlias

from attrs import evolve

from recipient_fields.domain import FieldPage, FieldQuery, OrganizationId

_Position: TypeAlias = tuple[OrganizationId, FieldQuery]


class Cursors:
    """A cache of the cursors of next pages. It is thread-safe, and evicts the oldest entry."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._cursors: OrderedDict[_Position, str] = OrderedDict()
        self._lock = Lock()

    def find(self, organization_id: OrganizationId, query: FieldQuery) -> str | None:
        """Return the cursor of the position at which the query starts, if it is known."""
        with self._lock:
            return self._cursors.get(_position(organization_id, query))

    def add(self, query: FieldQuery, page: FieldPage, cursor: str | None) -> None:
        """Store the cursor of the next page, if there is one."""
        if cursor is None:
            return
        with self._lock:
            position = _position(page.organization_id, evolve(query, after=page.next))
            self._cursors[position] = cursor
            self._cursors.move_to_end(position)
            if len(self._cursors) > self._maximum:
                self._cursors.popitem(last=False)


def _position(organization_id: OrganizationId, query: FieldQuery) -> _Position:
    """Return the position without the limit: a cursor is valid for pages of any size."""
    return organization_id, evolve(query, limit=None)
