"""Read the histories of fields from DuckDB."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    HistoryPage,
    HistoryQuery,
    OrganizationId,
    epoch_milliseconds,
    undo,
)

from .database import Database
from .fields import catalog
from .organizations import current_revision
from .recording import all_records


@frozen
class DuckdbHistoryRepository:
    """The HistoryRepository of DuckDB.

    It reads all records of an organization. For a long history, write the queries in SQL.
    """

    _database: Database

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            return query.select(all_records(connection, organization_id))

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        with self._database.reading() as connection:
            fields = catalog(connection, organization_id).fields
            records = all_records(connection, organization_id)
        until_then = [each.occurred_at for each in records if each.occurred_at <= at]
        if not until_then:
            raise BeforeHistory
        later = records[len(until_then) :]
        return Catalog(organization_id, epoch_milliseconds(until_then[-1]), undo(later, fields))

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        earlier = (
            "DELETE FROM recipient_field_changes WHERE organization_id = ? AND occurred_at < ?"
        )
        with self._database.writing() as connection:
            current_revision(connection, organization_id)
            values = [organization_id, epoch_milliseconds(before)]
            (deleted,) = connection.execute(earlier, values).fetchone() or (0,)
            return int(deleted)
