"""Recipient fields in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import monotonic
from typing import Any, TypeVar

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import (
    CatalogPlanner,
    PublishedCatalog,
)
from recipient_fields.domain import (
    FIELD_MEMBERS,
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldId,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    Source,
    plan_creation,
)

from ..relational.columns import storable_id
from ..relational.locks import lock_catalog
from ..row_mapping import FIELD_COLUMNS, RowMapping, stored_field
from .change_statements import insert_field
from .changes import (
    COUNT_FIELDS,
    KNOWN_COUNT,
    RECORD_COLUMNS,
    PlannedRows,
    bind_creation,
    read_record,
)
from .columns import from_optional_json, from_utc
from .limits import CALL_TIMEOUT
from .queries import bind, select_statement
from .server import Server
from .transactions import Transactions, Work

T = TypeVar("T")

_READ_EXPRESSIONS = {
    "allowed_values": "allowed_values::text AS allowed_values",
    "created_at": "created_at AT TIME ZONE 'UTC' AS created_at",
    "updated_at": "updated_at AT TIME ZONE 'UTC' AS updated_at",
}
COLUMNS = ", ".join(_READ_EXPRESSIONS.get(column, column) for column in FIELD_COLUMNS)
SELECT = f"SELECT {COLUMNS} FROM recipient_fields WHERE organization_id = %(organization_id)s"
_SELECT_BY_ID = f"{SELECT} AND id = %(id)s"
_SELECT_BY_KEY = f"{SELECT} AND key = %(key)s"

# One statement, so that the revision and the fields are of one snapshot.
_SELECT_ALL = f"""
    SELECT revision, field.*
    FROM organizations LEFT JOIN ({SELECT}) AS field ON true
    WHERE organizations.id = %(organization_id)s ORDER BY field.id
"""
# These return the number of API-managed fields too, if it is known, so that no statement counts.
_FIND = f"""
    SELECT {KNOWN_COUNT}, field.* FROM organizations LEFT JOIN ({{field}}) AS field ON true
    WHERE organizations.id = %(organization_id)s
"""
_FIND_BY_ID = _FIND.format(field=_SELECT_BY_ID)
_FIND_BY_KEY = _FIND.format(field=_SELECT_BY_KEY)
# PostgreSQL renders the documents 30 times as fast as Python would from rows.
_INSTANT = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS {}"""
_PUBLISHED_COLUMNS = ", ".join(
    _INSTANT.format(each.name, each.name) if each.kind is datetime else each.name
    for each in FIELD_MEMBERS
)
_PUBLISH = f"""
    SELECT revision, count(field.id),
        coalesce('[' || string_agg(row_to_json(field)::text, ',' ORDER BY field.id) || ']', '[]')
    FROM organizations LEFT JOIN (
        SELECT {_PUBLISHED_COLUMNS}
        FROM recipient_fields WHERE organization_id = %(organization_id)s
    ) AS field ON true
    WHERE organizations.id = %(organization_id)s GROUP BY organizations.id
"""
_SELECT_LAST_DELETION = f"""
    SELECT {RECORD_COLUMNS} FROM recipient_field_changes
    WHERE organization_id = %(organization_id)s AND field_id = %(id)s AND operation = 'deleted'
    ORDER BY sequence DESC LIMIT 1
"""


@frozen
class PostgresFieldRepository:
    """The fields of all organizations in one PostgreSQL database.

    Every change locks the catalog of its organization.
    """

    _database: Transactions

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        return self._database.read(lambda c: select_catalog(c, organization_id))

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        values = {"organization_id": storable_id(organization_id)}
        row = self._database.read(lambda c: c.execute(_PUBLISH, values).fetchone())
        if row is None:
            raise OrganizationNotFound
        revision, total, documents = row
        return PublishedCatalog(organization_id, revision, total, documents)

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        statement, values = select_statement(COLUMNS, query), bind(organization_id, query)
        rows = self._database.read(lambda c: c.execute(statement, values).fetchall())
        if not rows:
            raise OrganizationNotFound
        revision, total = rows[0][:2]
        fields = [read_field(row[2:]) for row in rows if row[2] is not None]
        return query.page(organization_id, revision, fields, total)

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        values = {"organization_id": storable_id(organization_id), **_bind(reference)}
        statement = _SELECT_BY_KEY if isinstance(reference, str) else _SELECT_BY_ID
        row = self._database.read(lambda c: c.execute(statement, values).fetchone())
        if row is None:
            raise FieldNotFound
        return read_field(row)

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        server = self._database.server

        def change(connection: Connection[Any]) -> AppliedChanges:
            return _apply(server, connection, organization_id, plan, author=author, at=at)

        return self._write(organization_id, change)

    def create(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        """Create the field in one statement. If that stores nothing, do what `change` does."""
        values = bind_creation(organization_id, definition, limit=limit, author=author)
        deadline = monotonic() + CALL_TIMEOUT
        server = self._database.server
        row = self._database.try_statement(insert_field(), values)
        if row is not None:
            return definition.with_id(FieldId(row[0]), organization_id)

        def plan(catalog: CatalogView) -> CatalogChanges:
            return plan_creation(catalog, definition, limit=limit)

        def create(connection: Connection[Any]) -> RecipientField:
            field_id = server.try_creation(connection, values)
            if field_id is not None:
                return definition.with_id(field_id, organization_id)
            at = definition.created_at
            applied = _apply(server, connection, organization_id, plan, author=author, at=at)
            return applied.created[0]

        return self._write(organization_id, create, seconds=deadline - monotonic())

    def _write(
        self, organization_id: OrganizationId, work: Work[T], *, seconds: float = CALL_TIMEOUT
    ) -> T:
        """Return the result of the work, which is one transaction in the locked catalog."""
        return self._database.write(
            work, first=lock_catalog(organization_id), pipelinable=True, seconds=seconds
        )


def _apply(
    server: Server,
    connection: Connection[Any],
    organization_id: OrganizationId,
    plan: CatalogPlanner,
    *,
    author: Author,
    at: datetime,
) -> AppliedChanges:
    """Store the changes that `plan` returns for the locked catalog."""
    rows = PlannedRows.of(plan(_CatalogView(connection, organization_id)))
    return rows.store(server, connection, organization_id, author=author, at=at)


class _CatalogView(CatalogView):
    """The locked catalog of an organization."""

    def __init__(self, connection: Connection[Any], organization_id: OrganizationId) -> None:
        self._connection = connection
        self._organization_id = organization_id
        self._values = {"organization_id": storable_id(organization_id)}
        self._api_fields: int | None = None
        """The number of API-managed fields, if a statement has returned it."""

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        statement = _FIND_BY_KEY if isinstance(reference, str) else _FIND_BY_ID
        values = {**self._values, **_bind(reference)}
        row = self._connection.execute(statement, values).fetchone()
        if row is None:
            return None
        self._api_fields, *field = row
        return None if field[0] is None else read_field(field)

    def count(self, source: Source, /) -> int:
        if source is Source.API and self._api_fields is not None:
            return self._api_fields
        row = self._connection.execute(
            COUNT_FIELDS, {**self._values, "source": source.value}
        ).fetchone()
        if row is None:
            raise OrganizationNotFound
        return int(row[0])

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        values = {**self._values, "id": storable_id(field_id)}
        row = self._connection.execute(_SELECT_LAST_DELETION, values).fetchone()
        return None if row is None else read_record(row).before

    def all(self) -> Catalog:
        return select_catalog(self._connection, self._organization_id)


def select_catalog(connection: Connection[Any], organization_id: OrganizationId) -> Catalog:
    """Return the organization's fields by ascending id, with the revision of their catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    values = {"organization_id": storable_id(organization_id)}
    rows = connection.execute(_SELECT_ALL, values).fetchall()
    if not rows:
        raise OrganizationNotFound
    revision: int = rows[0][0]
    fields = tuple(read_field(row[1:]) for row in rows if row[1] is not None)
    return Catalog(organization_id, revision, fields)


def _bind(reference: FieldReference) -> Mapping[str, object]:
    """Return the value for a statement that selects the field."""
    return {"key": reference} if isinstance(reference, str) else {"id": storable_id(reference)}


def read_field(row: Sequence[Any]) -> RecipientField:
    """Return the field in a row of COLUMNS."""
    *plain, allowed_values, created_at, updated_at = row
    with RowMapping("recipient_fields", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_optional_json(allowed_values),
            from_utc(created_at),
            from_utc(updated_at),
        )
    return stored_field(*values)
