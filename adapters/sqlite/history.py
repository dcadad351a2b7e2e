"""The histories of the fields in SQLite."""

from __future__ import annotations

from datetime import datetime
from time import sleep

from attrs import frozen

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

from ..relational.fields import read_catalog
from ..relational.history import SelectRecords, query_values, record_columns
from ..relational.organizations import require_organization
from ..row_mapping import read_record
from .database import Database
from .dialect import SQLITE, SqliteConnection

# The times of records are in the order of their sequence numbers.
_SELECT_LAST = """
    SELECT sequence, occurred_at FROM recipient_field_changes
    WHERE organization_id = ? AND occurred_at <= ? ORDER BY occurred_at DESC, sequence DESC LIMIT 1
"""
# The index of fields and sequences finds these records. A search by time would read all later ones.
_SELECT_FIRST_LATER_RECORDS = f"""
    SELECT {record_columns(SQLITE)} FROM recipient_field_changes
    WHERE organization_id = :organization_id AND sequence IN (
        SELECT min(sequence) FROM recipient_field_changes
        WHERE organization_id = :organization_id AND sequence > :last GROUP BY field_id
    )
"""
_PRUNE = """
    DELETE FROM recipient_field_changes WHERE rowid IN (
        SELECT rowid FROM recipient_field_changes WHERE organization_id = ? AND occurred_at < ?
        ORDER BY occurred_at, sequence LIMIT ?
    )
"""
_ROWS_PER_DELETION = 10_000
"""Few enough that other writers wait for a transaction for less than their timeout."""
_PAUSE = 0.1
"""Seconds between two deletions. SQLite does not queue writers: they try again after 0.1 s."""


@frozen
class SqliteHistoryRepository(HistoryRepository):
    """The histories in a SQLite file.

    `prune` deletes the oldest records first, 10,000 per transaction.
    """

    _database: Database

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        with self._database.reading() as connection:
            shared = SqliteConnection(connection)
            require_organization(shared, organization_id)
            rows = shared.all(SelectRecords.of(query), query_values(organization_id, query))
            return query.page([read_record(row) for row in rows])

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        with self._database.reading() as connection:
            shared = SqliteConnection(connection)
            require_organization(shared, organization_id)
            values = (organization_id, epoch_milliseconds(at))
            row = connection.execute(_SELECT_LAST, values).fetchone()
            if row is None:
                raise BeforeHistory
            last, revision = row
            later = connection.execute(
                _SELECT_FIRST_LATER_RECORDS, {"organization_id": organization_id, "last": last}
            )
            current = read_catalog(shared, organization_id).fields
            return Catalog(organization_id, revision, undo(map(read_record, later), current))

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        total = deleted = self._delete_oldest(organization_id, before)
        while deleted == _ROWS_PER_DELETION:
            sleep(_PAUSE)
            deleted = self._delete_oldest(organization_id, before)
            total += deleted
        return total

    def _delete_oldest(self, organization_id: OrganizationId, before: datetime) -> int:
        with self._database.writing() as connection:
            require_organization(SqliteConnection(connection), organization_id)
            values = (organization_id, epoch_milliseconds(before), _ROWS_PER_DELETION)
            return connection.execute(_PRUNE, values).rowcount
