"""The fields in a database, which this module reads."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from recipient_fields.domain import (
    Catalog,
    FieldNotFound,
    FieldQuery,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    SortKey,
)

from ..row_mapping import FIELD_COLUMNS, read_field
from .columns import storable_id
from .database import Connection, Database, Values
from .dialect import Dialect


@frozen
class RelationalFields:
    """The methods of `FieldRepository` that read fields, except `select` and `publish`."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        return self._database.read(lambda c: read_catalog(c, organization_id))

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        field = self._database.read(lambda c: find_field(c, organization_id, reference))
        if field is None:
            raise FieldNotFound
        return field


def read_catalog(connection: Connection, organization_id: OrganizationId) -> Catalog:
    """Return the organization's fields by ascending id, with the revision of their catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    rows = connection.all(select_catalog, {"organization_id": storable_id(organization_id)})
    if not rows:
        raise OrganizationNotFound
    revision: int = rows[0][0]
    fields = tuple(read_field(row[1:]) for row in rows if row[1] is not None)
    return Catalog(organization_id, revision, fields)


def find_field(
    connection: Connection, organization_id: OrganizationId, reference: FieldReference
) -> RecipientField | None:
    """Return the field with this id or key, or None if the organization has no such field."""
    statement = select_field_by_key if isinstance(reference, str) else select_field_by_id
    row = connection.one(statement, reference_values(organization_id, reference))
    return None if row is None else read_field(row)


def reference_values(
    organization_id: OrganizationId, reference: FieldReference
) -> Mapping[str, object]:
    """Return the values of a statement that selects this field."""
    by = {"key": reference} if isinstance(reference, str) else {"id": storable_id(reference)}
    return {"organization_id": storable_id(organization_id), **by}


def field_columns(sql: Dialect) -> str:
    """Return the columns of a field, which `read_field` expects."""
    written = {
        "allowed_values": sql.json("allowed_values"),
        "created_at": sql.milliseconds("created_at"),
        "updated_at": sql.milliseconds("updated_at"),
    }
    return ", ".join(written.get(column, column) for column in FIELD_COLUMNS)


def select_fields(sql: Dialect) -> str:
    """Select the fields of an organization."""
    return f"""
        SELECT {field_columns(sql)} FROM recipient_fields
        WHERE organization_id = :organization_id
    """


def select_field_by_id(sql: Dialect) -> str:
    """Select the field of an organization with this id."""
    return f"{select_fields(sql)} AND id = :id"


def select_field_by_key(sql: Dialect) -> str:
    """Select the field of an organization with this key."""
    return f"{select_fields(sql)} AND key = :key"


def select_catalog(sql: Dialect) -> str:
    """Select the revision of a catalog, and its fields.

    A catalog without fields is one row. One statement, so that both are of one snapshot.
    """
    return f"""
        SELECT revision, field.*
        FROM organizations LEFT JOIN ({select_fields(sql)}) AS field ON true
        WHERE organizations.id = :organization_id ORDER BY field.id
    """


@frozen
class SelectPage:
    """Select the fields on a page, and one more if another page follows."""

    _filters: tuple[str, ...]
    """The filters that the query uses."""
    _sort: SortKey
    _descending: bool
    _has_position: bool
    _has_limit: bool

    @classmethod
    def of(cls, query: FieldQuery) -> SelectPage:
        """Return the statement for the query. Queries with the same filters share one."""
        return cls(
            tuple(name for name in _FILTERS if getattr(query, name) is not None),
            query.sort,
            query.descending,
            query.after is not None,
            query.limit is not None,
        )

    @property
    def count(self) -> CountMatches:
        """The statement that counts the fields on all pages."""
        return CountMatches(self._filters)

    def __call__(self, sql: Dialect) -> str:
        column, operator = self._sort.value, "<" if self._descending else ">"
        position = f"""
            AND ({column} {operator} :after_value OR ({column} = :after_value AND id > :after_id))
        """
        return f"""
            SELECT {field_columns(sql)} FROM recipient_fields AS field
            WHERE {_matching(self._filters, sql)} {position if self._has_position else ""}
            ORDER BY {self.order("field")} {"LIMIT :row_limit" if self._has_limit else ""}
        """

    def order(self, table: str) -> str:
        """Return the order of the rows in this table."""
        direction = "DESC" if self._descending else "ASC"
        return f"{table}.{self._sort.value} {direction}, {table}.id"


@frozen
class CountMatches:
    """Count the fields that match these filters."""

    _filters: tuple[str, ...]

    def __call__(self, sql: Dialect) -> str:
        return f"SELECT count(*) FROM recipient_fields WHERE {_matching(self._filters, sql)}"


_COLUMNS = {
    "sources": "source",
    "data_types": "data_type",
    "keys": "key",
    "integration_ids": "integration_id",
}
"""The column of each filter that permits several values."""
_FILTERS = (*_COLUMNS, "insertable", "text")


def _matching(filters: tuple[str, ...], sql: Dialect) -> str:
    conditions = (_condition(name, sql) for name in filters)
    return " AND ".join(["organization_id = :organization_id", *conditions])


def _condition(name: str, sql: Dialect) -> str:
    if name in _COLUMNS:
        return sql.one_of(_COLUMNS[name], f":{name}")
    if name == "insertable":
        return "insertable = :insertable"
    texts = (sql.folded("name"), "key", sql.folded("esp_field_name"))
    return f"({' OR '.join(sql.contains(text, ':text') for text in texts)})"


def query_values(organization_id: OrganizationId, query: FieldQuery) -> Values:
    """Return the values of the statements for a query."""
    after = query.after
    return {
        "organization_id": storable_id(organization_id),
        "sources": [source.value for source in query.sources or ()],
        "data_types": [data_type.value for data_type in query.data_types or ()],
        "keys": list(query.keys or ()),
        "integration_ids": list(query.integration_ids or ()),
        "insertable": query.insertable,
        "text": query.folded_text,
        "row_limit": None if query.limit is None else query.limit + 1,
        "after_value": None if after is None else after.value,
        "after_id": None if after is None else after.id,
    }
