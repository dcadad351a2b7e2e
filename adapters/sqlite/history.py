"""The histories of the fields in SQLite."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    FieldPage,
    FieldQuery,
    HistoryPage,
    HistoryQuery,
    OrganizationId,
    epoch_milliseconds,
    undo,
)

from ..relational.fields import read_catalog
from ..relational.history import (
    RelationalHistory,
    SelectRecords,
    count_removed,
    query_values,
    read_records,
    record_columns,
)
from ..relational.organizations import require_organization
from ..relational.past_fields import select_last_until, select_page_at
from .database import Database
from .dialect import SQLITE, SqliteConnection

# The index of fields and sequences finds these records. A search by time would read all later ones.
_SELECT_FIRST_LATER_RECORDS = f"""
    SELECT {record_columns(SQLITE)} FROM recipient_field_changes
    WHERE organization_id = :organization_id AND sequence IN (
        SELECT min(sequence) FROM recipient_field_changes
        WHERE organization_id = :organization_id AND sequence > :last GROUP BY field_id
    )
"""
_ROWS_PER_REMOVAL = 10_000
"""Few enough that other writers wait for a transaction for less than their timeout."""
_PAUSE = 0.1
"""Seconds between two deletions. SQLite does not queue writers: they try again after 0.1 s."""


@frozen
class SqliteHistoryRepository(RelationalHistory):
    """The histories in a SQLite file. One transaction removes up to 10,000 records."""

    _database: Database
    _rows_per_removal: int = _ROWS_PER_REMOVAL
    _pause: float = _PAUSE

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        with self._database.reading() as connection:
            shared = SqliteConnection(connection)
            require_organization(shared, organization_id)
            query.require_recorded(count_removed(shared, organization_id))
            rows = shared.all(SelectRecords.of(query), query_values(organization_id, query))
            return query.page(read_records(shared, organization_id, rows))

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        with self._database.reading() as connection:
            shared = SqliteConnection(connection)
            require_organization(shared, organization_id)
            values = {"organization_id": organization_id, "at": epoch_milliseconds(at)}
            row = shared.one(select_last_until, values)
            if row is None:
                raise BeforeHistory
            last, revision = row
            later = connection.execute(
                _SELECT_FIRST_LATER_RECORDS, {"organization_id": organization_id, "last": last}
            )
            records = read_records(shared, organization_id, later)
            current = read_catalog(shared, organization_id).fields
            return Catalog(organization_id, revision, undo(records, current))

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        return self._database.read(lambda c: select_page_at(c, organization_id, at, query))
