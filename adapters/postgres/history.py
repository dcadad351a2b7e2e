"""The history of the fields in PostgreSQL."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.domain import (
    BeforeHistory,
    Catalog,
    HistoryPage,
    HistoryQuery,
    OrganizationId,
    OrganizationNotFound,
    undo,
)

from ..relational.columns import storable_id
from ..relational.dialect import Dialect
from ..relational.fields import field_columns
from ..relational.history import SelectRecords, query_values, record_columns
from ..relational.locks import keep_organization
from ..row_mapping import read_field, read_record
from .columns import milliseconds
from .dialect import POSTGRES
from .relational import PostgresDatabase
from .transactions import Transactions

_CHANGES = "FROM recipient_field_changes WHERE organization_id = %(organization_id)s"

# One statement, so that the fields and the records are of one snapshot. The first later record of
# each field contains the field as it was. The index of fields and sequences finds these records.
_SELECT_CATALOG_AT = f"""
    WITH last AS (
        SELECT sequence, {milliseconds("occurred_at")} AS revision
        {_CHANGES} AND occurred_at <= %(at)s ORDER BY occurred_at DESC, sequence DESC LIMIT 1
    ), record AS (
        SELECT {record_columns(POSTGRES)} {_CHANGES} AND sequence IN (
            SELECT min(sequence) {_CHANGES} AND sequence > (SELECT sequence FROM last)
            GROUP BY field_id
        )
    )
    SELECT last.revision, record.*, field.*
    FROM organizations LEFT JOIN last ON true LEFT JOIN (
        record FULL JOIN (
            SELECT {field_columns(POSTGRES)} FROM recipient_fields
            WHERE organization_id = %(organization_id)s
        ) AS field ON field.id = record.field_id
    ) ON last.sequence IS NOT NULL
    WHERE organizations.id = %(organization_id)s
"""
_RECORD_WIDTH = 8

# The times of records are in the order of their sequence numbers.
_SELECT_OLD = f"""
    SELECT (
        SELECT sequence {_CHANGES} AND occurred_at < %(before)s
        ORDER BY occurred_at, sequence LIMIT 1
    ), (
        SELECT sequence {_CHANGES} AND occurred_at < %(before)s
        ORDER BY occurred_at DESC, sequence DESC LIMIT 1
    )
    FROM organizations WHERE id = %(organization_id)s
"""
_DELETE = f"DELETE {_CHANGES} AND sequence BETWEEN %(first)s AND %(last)s"
_ROWS_PER_DELETION = 10_000
"""Few enough that a transaction ends long before its deadline."""


@frozen
class PostgresHistoryRepository:
    """The histories of all organizations in one PostgreSQL database.

    `prune` deletes the oldest records first, 10,000 per transaction.
    """

    _database: PostgresDatabase
    _transactions: Transactions

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        statement = SelectRecordsOfOrganization(SelectRecords.of(query))
        values = query_values(organization_id, query)
        rows = self._database.read(lambda c: c.all(statement, values))
        if not rows:
            raise OrganizationNotFound
        return query.page([read_record(row) for row in rows if row[0] is not None])

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        values = {"organization_id": storable_id(organization_id), "at": at}
        rows = self._transactions.read(lambda c: c.execute(_SELECT_CATALOG_AT, values).fetchall())
        if not rows:
            raise OrganizationNotFound
        revision: int | None = rows[0][0]
        if revision is None:
            raise BeforeHistory
        pairs = [(row[1 : 1 + _RECORD_WIDTH], row[1 + _RECORD_WIDTH :]) for row in rows]
        later = [read_record(record) for record, _ in pairs if record[0] is not None]
        current = [read_field(field) for _, field in pairs if field[0] is not None]
        return Catalog(organization_id, revision, undo(later, current))

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        values = {"organization_id": storable_id(organization_id), "before": before}
        row = self._transactions.read(lambda c: c.execute(_SELECT_OLD, values).fetchone())
        if row is None:
            raise OrganizationNotFound
        first, last = row
        if first is None:
            return 0
        starts = range(first, last + 1, _ROWS_PER_DELETION)
        return sum(self._delete(organization_id, start, last) for start in starts)

    def _delete(self, organization_id: OrganizationId, start: int, last: int) -> int:
        values = {
            "organization_id": organization_id,
            "first": start,
            "last": min(last, start + _ROWS_PER_DELETION - 1),
        }
        return self._transactions.write(
            lambda c: c.execute(_DELETE, values).rowcount, first=keep_organization(organization_id)
        )


@frozen
class SelectRecordsOfOrganization:
    """Select a page of records, or one row of NULLs if it is empty and the organization exists.

    One statement, so that both are of one snapshot.
    """

    _page: SelectRecords

    def __call__(self, sql: Dialect) -> str:
        return f"""
            SELECT page.* FROM organizations LEFT JOIN ({self._page(sql)}) AS page ON true
            WHERE organizations.id = :organization_id ORDER BY {self._page.order("page")}
        """
