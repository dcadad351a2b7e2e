"""The history of the fields in PostgreSQL."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from attrs import frozen

from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    FieldPage,
    FieldQuery,
    HistoryPage,
    HistoryQuery,
    OrganizationId,
    OrganizationNotFound,
    undo,
)

from ..relational.columns import storable_id
from ..relational.database import Connection, Work
from ..relational.dialect import Dialect
from ..relational.fields import select_fields
from ..relational.history import (
    REMOVED_RECORDS,
    RelationalHistory,
    SelectRecords,
    ValuesRemoved,
    query_values,
    read_records,
    record_columns,
)
from ..relational.past_fields import select_page_at
from ..row_mapping import read_field
from .columns import milliseconds
from .relational import PostgresDatabase

T = TypeVar("T")

_CHANGES = "FROM recipient_field_changes WHERE organization_id = :organization_id"
_RECORD_WIDTH = 8

_ATTEMPTS = 5
"""How often rows are read if their records are removed before their shared values are read."""


@frozen
class PostgresHistoryRepository(RelationalHistory):
    """The histories of all organizations in one PostgreSQL database.

    A transaction removes up to 1,000 records, while other changes of the organization wait.
    """

    _database: PostgresDatabase

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        statement = SelectRecordsOfOrganization(
            SelectRecords.of(query), query.requires_later_records
        )
        values = query_values(organization_id, query)

        def select(connection: Connection) -> HistoryPage:
            rows = connection.all(statement, values)
            if not rows:
                raise OrganizationNotFound
            query.require_recorded(rows[0][0])
            found = [row[1:] for row in rows if row[1] is not None]
            return query.page(read_records(connection, organization_id, found))

        return self._read_current(select)

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        values = {"organization_id": storable_id(organization_id), "at": at}

        def read(connection: Connection) -> Catalog:
            rows = connection.all(select_catalog_at, values)
            if not rows:
                raise OrganizationNotFound
            revision: int | None = rows[0][0]
            if revision is None:
                raise BeforeHistory
            pairs = [(row[1 : 1 + _RECORD_WIDTH], row[1 + _RECORD_WIDTH :]) for row in rows]
            records = [record for record, _ in pairs if record[0] is not None]
            later = read_records(connection, organization_id, records)
            current = [read_field(field) for _, field in pairs if field[0] is not None]
            return Catalog(organization_id, revision, undo(later, current))

        return self._read_current(read)

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        return self._read_current(lambda c: select_page_at(c, organization_id, at, query))

    def _read_current(self, work: Work[T]) -> T:
        """Return the result of the work. Repeat it if records were removed while it read them."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(ValuesRemoved):
                return self._database.read(work)
        return self._database.read(work)


@frozen
class SelectRecordsOfOrganization:
    """Select the number of removed records and a page of records.

    If the page is empty and the organization exists, there is one row, whose other columns are
    NULL. The number is 0 if it is not needed. One statement, so that all are of one snapshot.
    """

    _page: SelectRecords
    _removed_is_needed: bool

    def __call__(self, sql: Dialect) -> str:
        return f"""
            SELECT {REMOVED_RECORDS if self._removed_is_needed else 0}, page.*
            FROM organizations LEFT JOIN ({self._page(sql)}) AS page ON true
            WHERE organizations.id = :organization_id ORDER BY {self._page.order("page")}
        """


def select_catalog_at(sql: Dialect) -> str:
    """Select the revision of a past catalog, the first later record of each field, and all fields.

    One statement, so that the fields and the records are of one snapshot. The first later record of
    each field contains the field as it was. The index of fields and sequences finds these records.
    """
    return f"""
        WITH last AS (
            SELECT sequence, {milliseconds("occurred_at")} AS revision
            {_CHANGES} AND occurred_at <= :at ORDER BY occurred_at DESC, sequence DESC LIMIT 1
        ), record AS (
            SELECT {record_columns(sql)} {_CHANGES} AND sequence IN (
                SELECT min(sequence) {_CHANGES} AND sequence > (SELECT sequence FROM last)
                GROUP BY field_id
            )
        )
        SELECT last.revision, record.*, field.*
        FROM organizations LEFT JOIN last ON true LEFT JOIN (
            record FULL JOIN ({select_fields(sql)}) AS field ON field.id = record.field_id
        ) ON last.sequence IS NOT NULL
        WHERE organizations.id = :organization_id
    """
