"""Read the histories of fields from DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from attrs import frozen

from recipient_fields.adapters.shared_values import old_records
from recipient_fields.application import PublishedHistoryPage, published_page
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

from .database import Database
from .fields import catalog
from .organizations import current_revision
from .recording import all_records, removed_records


@frozen
class DuckdbHistoryRepository:
    """The HistoryRepository of DuckDB.

    It reads all records of an organization. For a long history, write the queries in SQL.
    """

    _database: Database

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            removed = removed_records(connection, organization_id)
            return query.select(all_records(connection, organization_id), removed)

    def publish(
        self, organization_id: OrganizationId, query: HistoryQuery, /
    ) -> PublishedHistoryPage:
        return published_page(self.select(organization_id, query))

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        with self._database.reading() as connection:
            fields = catalog(connection, organization_id).fields
            records = all_records(connection, organization_id)
        until_then = [each.occurred_at for each in records if each.occurred_at <= at]
        if not until_then:
            raise BeforeHistory
        later = records[len(until_then) :]
        return Catalog(organization_id, epoch_milliseconds(until_then[-1]), undo(later, fields))

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        return query.select(self.catalog_at(organization_id, at))

    def size(self, organization_id: OrganizationId, /) -> HistorySize:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            oldest = old_records(all_records(connection, organization_id))
            return HistorySize(sum(each.bytes for each in oldest))

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        return self._remove(organization_id, lambda oldest: records_before(oldest, before))

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        def choose(oldest: list[OldRecord]) -> Iterable[OldRecord]:
            return records_to_free(oldest, sum(each.bytes for each in oldest) - max_bytes)

        return self._remove(organization_id, choose)

    def _remove(
        self,
        organization_id: OrganizationId,
        choose: Callable[[list[OldRecord]], Iterable[OldRecord]],
    ) -> int:
        removal = "DELETE FROM recipient_field_changes WHERE organization_id = ? AND sequence <= ?"
        with self._database.writing() as connection:
            current_revision(connection, organization_id)
            removed = [*choose(old_records(all_records(connection, organization_id)))]
            if removed:
                connection.execute(removal, [organization_id, removed[-1].sequence])
            return len(removed)
