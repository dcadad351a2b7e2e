"""The recipient fields in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from attrs import evolve, frozen

from recipient_fields.application import (
    CatalogPlanner,
    FieldRepository,
    PublishedCatalog,
    published,
)
from recipient_fields.domain import (
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
    RecipientField,
    Source,
)

from ..relational.columns import storable_id
from ..relational.organizations import catalog_revision, require_organization
from ..row_mapping import CHANGING_COLUMNS, FIELD_COLUMNS, field_values, read_field
from .database import Database
from .dialect import SqliteConnection
from .queries import COUNT, bind, select_statement
from .recording import find_deleted_field, record_changes

COLUMNS = ", ".join(FIELD_COLUMNS)
_SELECT = f"SELECT {COLUMNS} FROM recipient_fields WHERE organization_id = :organization_id"
_SELECT_ALL = f"{_SELECT} ORDER BY id"
_SELECT_BY_ID = f"{_SELECT} AND id = :id"
_SELECT_BY_KEY = f"{_SELECT} AND key = :key"
_COUNT = (
    "SELECT count(*) FROM recipient_fields"
    " WHERE organization_id = :organization_id AND source = :source"
)
_INSERT = f"""
    INSERT INTO recipient_fields ({COLUMNS})
    VALUES ({", ".join(f":{column}" for column in FIELD_COLUMNS)})
"""
_INSERT_NEW = f"{_INSERT} RETURNING id"
_UPDATE = f"""
    UPDATE recipient_fields SET {", ".join(f"{column} = :{column}" for column in CHANGING_COLUMNS)}
    WHERE organization_id = :organization_id AND id = :id
"""
_DELETE = "DELETE FROM recipient_fields WHERE organization_id = ? AND id = ?"
_UNASSIGNED = FieldId(0)


@frozen
class SqliteFieldRepository(FieldRepository):
    """The recipient fields in a SQLite file.

    Only one write transaction runs at a time, so that what it has read stays valid.
    """

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        with self._database.reading() as connection:
            return _select_catalog(connection, organization_id)

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        return published(self.all(organization_id))

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        with self._database.reading() as connection:
            revision = catalog_revision(SqliteConnection(connection), organization_id)
            values = bind(organization_id, query)
            rows = connection.execute(select_statement(COLUMNS, query), values)
            fields = [read_field(row) for row in rows]
            (total,) = connection.execute(COUNT, values).fetchone()
            return query.page(organization_id, revision, fields, total)

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        with self._database.reading() as connection:
            field = _find(connection, organization_id, reference)
        if field is None:
            raise FieldNotFound
        return field

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        with self._database.writing() as connection:
            changes = plan(_CatalogView(connection, organization_id))
            if changes != CatalogChanges():
                require_organization(SqliteConnection(connection), organization_id)
            return apply_changes(connection, organization_id, changes, author=author, at=at)


@frozen
class _CatalogView(CatalogView):
    """The catalog of an organization in a write transaction."""

    _connection: sqlite3.Connection
    _organization_id: OrganizationId

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        return _find(self._connection, self._organization_id, reference)

    def count(self, source: Source, /) -> int:
        require_organization(SqliteConnection(self._connection), self._organization_id)
        values = {"organization_id": self._organization_id, "source": source.value}
        (count,) = self._connection.execute(_COUNT, values).fetchone()
        return int(count)

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        return find_deleted_field(self._connection, self._organization_id, field_id)

    def all(self) -> Catalog:
        return _select_catalog(self._connection, self._organization_id)


def select_fields(
    connection: sqlite3.Connection, organization_id: OrganizationId
) -> tuple[RecipientField, ...]:
    """Return the organization's fields by ascending id."""
    rows = connection.execute(_SELECT_ALL, {"organization_id": organization_id})
    return tuple(read_field(row) for row in rows)


def apply_changes(
    connection: sqlite3.Connection,
    organization_id: OrganizationId,
    changes: CatalogChanges,
    *,
    author: Author,
    at: datetime,
) -> AppliedChanges:
    """Store and record the changes, and return them with the created fields."""
    connection.executemany(_DELETE, [(organization_id, each.id) for each in changes.deleted])
    connection.executemany(_UPDATE, [field_values(each.after) for each in changes.updated])
    connection.executemany(_INSERT, [field_values(each) for each in changes.restored])
    created = (_insert(connection, organization_id, each) for each in changes.created)
    applied = AppliedChanges(changes, tuple(created))
    record_changes(connection, organization_id, [*applied.recorded()], author=author, at=at)
    return applied


def _select_catalog(connection: sqlite3.Connection, organization_id: OrganizationId) -> Catalog:
    """Return the organization's catalog.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    revision = catalog_revision(SqliteConnection(connection), organization_id)
    return Catalog(organization_id, revision, select_fields(connection, organization_id))


def _find(
    connection: sqlite3.Connection, organization_id: OrganizationId, reference: FieldReference
) -> RecipientField | None:
    values: dict[str, object] = {"organization_id": storable_id(organization_id)}
    if isinstance(reference, str):
        cursor = connection.execute(_SELECT_BY_KEY, {**values, "key": reference})
    else:
        cursor = connection.execute(_SELECT_BY_ID, {**values, "id": storable_id(reference)})
    row = cursor.fetchone()
    return None if row is None else read_field(row)


def _insert(
    connection: sqlite3.Connection, organization_id: OrganizationId, definition: FieldDefinition
) -> RecipientField:
    """Store a new field, and return it with the id that SQLite assigns."""
    field = definition.with_id(_UNASSIGNED, organization_id)
    values = {**field_values(field), "id": None}
    (field_id,) = connection.execute(_INSERT_NEW, values).fetchone()
    return evolve(field, id=FieldId(field_id))
