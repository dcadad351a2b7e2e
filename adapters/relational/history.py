"""The history of the fields in a database, which this module reads."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from recipient_fields.domain import (
    FieldId,
    HistoryQuery,
    OrganizationId,
    RecipientField,
)

from ..row_mapping import read_record
from .columns import storable_id
from .database import Connection, Values
from .dialect import Dialect


def find_deleted_field(
    connection: Connection, organization_id: OrganizationId, field_id: FieldId
) -> RecipientField | None:
    """Return the field as it was before its last deletion, or None if there is no such record."""
    ids = {"organization_id": storable_id(organization_id), "id": storable_id(field_id)}
    row = connection.one(select_last_deletion, ids)
    return None if row is None else read_record(row).before


def record_columns(sql: Dialect) -> str:
    """Return the columns of a record, which `read_record` expects."""
    return f"""
        organization_id, sequence, operation, field_id, {sql.json("author")}, {sql.json("before")},
        {sql.json("after")}, {sql.milliseconds("occurred_at")}
    """


def select_last_deletion(sql: Dialect) -> str:
    """Select the record of the last deletion of a field."""
    return f"""
        SELECT {record_columns(sql)} FROM recipient_field_changes
        WHERE organization_id = :organization_id AND field_id = :id AND operation = 'deleted'
        ORDER BY sequence DESC LIMIT 1
    """


@frozen
class SelectRecords:
    """Select the records on a page, and one more if another page follows."""

    _filters: tuple[tuple[str, bool], ...]
    """The columns with a filter, and whether it is one value: then an index has the order."""
    _descending: bool
    _has_position: bool

    @classmethod
    def of(cls, query: HistoryQuery) -> SelectRecords:
        """Return the statement for the query. Queries with the same filters share one."""
        filters = ((column, len(values) == 1) for column, values in _filters(query).items())
        return cls(tuple(filters), query.descending, query.after is not None)

    def __call__(self, sql: Dialect) -> str:
        conditions = ["organization_id = :organization_id"]
        for column, is_single in self._filters:
            value = f":{column}"
            conditions.append(f"{column} = {value}" if is_single else sql.one_of(column, value))
        if self._has_position:
            conditions.append(f"sequence {'<' if self._descending else '>'} :after")
        return f"""
            SELECT {record_columns(sql)} FROM recipient_field_changes AS record
            WHERE {" AND ".join(conditions)}
            ORDER BY {self.order("record")} LIMIT :row_limit
        """

    def order(self, table: str) -> str:
        """Return the order of the rows in this table."""
        return f"{table}.sequence {'DESC' if self._descending else 'ASC'}"


def query_values(organization_id: OrganizationId, query: HistoryQuery) -> Values:
    """Return the values of the statement for a query."""
    return {
        "organization_id": storable_id(organization_id),
        **{
            column: values[0] if len(values) == 1 else values
            for column, values in _filters(query).items()
        },
        "after": query.after,
        "row_limit": query.limit + 1,
    }


def _filters(query: HistoryQuery) -> Mapping[str, list[object]]:
    """Return the permitted values of each column that the query filters."""
    every = {
        "field_id": query.field_ids,
        "key": query.keys,
        "source": query.sources and [source.value for source in query.sources],
        "operation": query.operations and [each.value for each in query.operations],
    }
    return {column: list(values) for column, values in every.items() if values is not None}
