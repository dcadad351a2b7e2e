"""The histories in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from threading import RLock

from recipient_fields.application import (
    HistoryRepository,
    PublishedHistoryPage,
    published_page,
)
from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    FieldPage,
    FieldQuery,
    HistoryPage,
    HistoryQuery,
    HistorySize,
    OldRecord,
    OrganizationId,
    epoch_milliseconds,
    records_before,
    records_to_free,
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
            catalog = self._catalog_of(organization_id)
            records, removed = tuple(catalog.history), catalog.removed_records
        return query.select(records, removed)

    def publish(
        self, organization_id: OrganizationId, query: HistoryQuery, /
    ) -> PublishedHistoryPage:
        return published_page(self.select(organization_id, query))

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        with self._lock:
            catalog = self._catalog_of(organization_id)
            records, fields = tuple(catalog.history), catalog.to_catalog().fields
        until_then = [each for each in records if each.occurred_at <= at]
        if not until_then:
            raise BeforeHistory
        revision = epoch_milliseconds(until_then[-1].occurred_at)
        return Catalog(organization_id, revision, undo(records[len(until_then) :], fields))

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        return query.select(self.catalog_at(organization_id, at))

    def size(self, organization_id: OrganizationId, /) -> HistorySize:
        with self._lock:
            catalog = self._catalog_of(organization_id)
            return catalog.history_counter.size(catalog.history)

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        return self._remove(organization_id, lambda oldest, _: records_before(oldest, before))

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        return self._remove(
            organization_id,
            lambda oldest, size: records_to_free(oldest, size.bytes - max_bytes),
        )

    def _remove(
        self,
        organization_id: OrganizationId,
        choose: Callable[[Sequence[OldRecord], HistorySize], Iterable[OldRecord]],
    ) -> int:
        with self._lock:
            catalog = self._catalog_of(organization_id)
            history, counter = catalog.history, catalog.history_counter
            removed = list(choose(counter.oldest(history), counter.size(history)))
            counter.remove(removed)
            del history[: len(removed)]
            return len(removed)
