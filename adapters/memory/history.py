"""The histories in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import RLock

from recipient_fields.application import HistoryRepository
from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    HistoryPage,
    HistoryQuery,
    OrganizationId,
    epoch_milliseconds,
    undo,
)

from .catalogs import StoredCatalog


class MemoryHistoryRepository(HistoryRepository):
    """The histories in memory, one per catalog."""

    def __init__(self, lock: RLock, catalog_of: Callable[[OrganizationId], StoredCatalog]) -> None:
        self._lock = lock
        self._catalog_of = catalog_of

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        with self._lock:
            records = tuple(self._catalog_of(organization_id).history)
        return query.select(records)

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        with self._lock:
            catalog = self._catalog_of(organization_id)
            records, fields = tuple(catalog.history), catalog.to_catalog().fields
        until_then = [each for each in records if each.occurred_at <= at]
        if not until_then:
            raise BeforeHistory
        revision = epoch_milliseconds(until_then[-1].occurred_at)
        return Catalog(organization_id, revision, undo(records[len(until_then) :], fields))

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        with self._lock:
            history = self._catalog_of(organization_id).history
            count = sum(each.occurred_at < before for each in history)
            del history[:count]
            return count
