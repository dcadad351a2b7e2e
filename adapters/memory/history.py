"""The histories in memory."""

from __future__ import annotations

from datetime import datetime
from threading import RLock

from attrs import define

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
    OrganizationId,
    epoch_milliseconds,
    records_before,
    records_to_free,
    undo,
)

from .catalogs import Catalogs


@define(slots=False, eq=False)
class MemoryHistoryRepository(HistoryRepository):
    """The histories in memory, one per catalog."""

    _lock: RLock
    _catalogs: Catalogs

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            records, removed = tuple(catalog.history), catalog.removed_records()
        return query.select(records, removed)

    def publish(
        self, organization_id: OrganizationId, query: HistoryQuery, /
    ) -> PublishedHistoryPage:
        return published_page(self.select(organization_id, query))

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            records, fields = tuple(catalog.history), catalog.all().fields
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
            return self._catalogs.get(organization_id).history_size()

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            return catalog.remove(records_before(catalog.old_records(), before))

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            excess = catalog.history_size().bytes - max_bytes
            return catalog.remove(records_to_free(catalog.old_records(), excess))
