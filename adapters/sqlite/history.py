"""The histories of the fields in SQLite."""

from __future__ import annotations

from datetime import datetime

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

from ..row_mapping import read_record
from .database import Database
from .fields import select_fields
from .organizations import catalog_revision
from .queries import select_history
from .recording import COLUMNS

_SELECT_LAST_TIME = """
    SELECT max(occurred_at) FROM recipient_field_changes
    WHERE organization_id = :organization_id AND occurred_at <= :at
"""
_SELECT_FIRST_LATER_RECORDS = f"""
    SELECT {COLUMNS} FROM recipient_field_changes
    WHERE organization_id = :organization_id AND sequence IN (
        SELECT min(sequence) FROM recipient_field_changes
        WHERE organization_id = :organization_id AND occurred_at > :at GROUP BY field_id
    )
"""
_PRUNE = "DELETE FROM recipient_field_changes WHERE organization_id = ? AND occurred_at < ?"


@frozen
class SqliteHistoryRepository(HistoryRepository):
    """The histories in a SQLite file."""

    _database: Database

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        statement, values = select_history(COLUMNS, organization_id, query)
        with self._database.reading() as connection:
            catalog_revision(connection, organization_id)
            rows = connection.execute(statement, values)
            return query.page([read_record(row) for row in rows])

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        values = {"organization_id": organization_id, "at": epoch_milliseconds(at)}
        with self._database.reading() as connection:
            catalog_revision(connection, organization_id)
            (last_time,) = connection.execute(_SELECT_LAST_TIME, values).fetchone()
            if last_time is None:
                raise BeforeHistory
            later = map(read_record, connection.execute(_SELECT_FIRST_LATER_RECORDS, values))
            fields = undo(later, select_fields(connection, organization_id))
            return Catalog(organization_id, last_time, fields)

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        with self._database.writing() as connection:
            catalog_revision(connection, organization_id)
            values = (organization_id, epoch_milliseconds(before))
            return connection.execute(_PRUNE, values).rowcount
