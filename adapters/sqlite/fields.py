"""The recipient fields in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from attrs import evolve, frozen

from recipient_fields.application import (
    CatalogPlanner,
    FieldRepository,
    PublishedCatalog,
)
from recipient_fields.domain import (
    AppliedChanges,
    Author,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldPage,
    FieldQuery,
    OrganizationId,
    RecipientField,
)

from ..relational.catalogs import RelationalCatalogView
from ..relational.dialect import Dialect
from ..relational.fields import (
    RelationalFields,
    SelectPage,
    query_values,
)
from ..relational.organizations import catalog_revision, require_organization
from ..row_mapping import CHANGING_COLUMNS, FIELD_COLUMNS, field_values, read_field
from .database import Database
from .dialect import SqliteConnection
from .recording import record_changes

_INSERT = f"""
    INSERT INTO recipient_fields ({", ".join(FIELD_COLUMNS)})
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
class SqliteFieldRepository(RelationalFields, FieldRepository):
    """The recipient fields in a SQLite file.

    Only one write transaction runs at a time, so that what it has read stays valid.
    """

    _database: Database

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        page, values = SelectPage.of(query), query_values(organization_id, query)
        with self._database.reading() as connection:
            shared = SqliteConnection(connection)
            revision = catalog_revision(shared, organization_id)
            fields = [read_field(row) for row in shared.all(page, values)]
            [(total,)] = shared.all(page.count, values)
            return query.page(organization_id, revision, fields, total)

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        # Imported here because only services publish catalogs, and it takes all documents.
        from recipient_fields.application import published

        return published(self.all(organization_id))

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
            return change_fields(connection, organization_id, plan, author=author, at=at)


@frozen
class _CatalogView(RelationalCatalogView):
    """The catalog of an organization, in the only write transaction."""

    def next_id(self) -> FieldId:
        row = self._connection.one(select_next_id)
        return FieldId(1 if row is None else row[0])


def select_next_id(_: Dialect) -> str:
    """Select the id of the next field. There is no row before the first id."""
    return "SELECT seq + 1 FROM sqlite_sequence WHERE name = 'recipient_fields'"


def change_fields(
    connection: sqlite3.Connection,
    organization_id: OrganizationId,
    plan: CatalogPlanner,
    *,
    author: Author,
    at: datetime,
) -> AppliedChanges:
    """Store and record the changes that `plan` returns, as `FieldRepository.change` does."""
    shared = SqliteConnection(connection)
    changes = plan(_CatalogView(shared, organization_id))
    if changes != CatalogChanges():
        require_organization(shared, organization_id)
    return apply_changes(connection, organization_id, changes, author=author, at=at)


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
    recorded_at = changes.recorded_at(at)
    record_changes(connection, organization_id, applied, author=author, at=recorded_at)
    return applied


def _insert(
    connection: sqlite3.Connection, organization_id: OrganizationId, definition: FieldDefinition
) -> RecipientField:
    """Store a new field, and return it with the id that SQLite assigns."""
    field = definition.with_id(_UNASSIGNED, organization_id)
    values = {**field_values(field), "id": None}
    (field_id,) = connection.execute(_INSERT_NEW, values).fetchone()
    return evolve(field, id=FieldId(field_id))
