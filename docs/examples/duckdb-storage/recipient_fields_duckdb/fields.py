"""Store recipient fields in DuckDB."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.adapters.row_mapping import FIELD_COLUMNS, field_values, read_field
from recipient_fields.application import (
    CatalogPlanner,
    PublishedCatalog,
    published,
)
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
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

from .database import Connection, Database, insert, last_id, next_id, update
from .organizations import current_revision, fields_size
from .recording import find_deleted_field, record_changes, removed_records

_SELECT = f"SELECT {', '.join(FIELD_COLUMNS)} FROM recipient_fields WHERE organization_id = ?"


@frozen
class DuckdbFieldRepository:
    """The FieldRepository of DuckDB. Only one writer runs at a time."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        with self._database.reading() as connection:
            return catalog(connection, organization_id)

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        return published(self.all(organization_id))

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        # A catalog has about 1,000 fields. For more, write the query in SQL.
        return query.select(self.all(organization_id))

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
    ) -> CatalogChanges[RecipientField]:
        with self._database.writing() as connection:
            return change_fields(connection, organization_id, plan, author=author, at=at)


@frozen
class _CatalogView:
    """The CatalogView of DuckDB."""

    _connection: Connection
    _organization_id: OrganizationId

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        return _find(self._connection, self._organization_id, reference)

    def count(self, source: Source, /) -> int:
        return sum(field.origin.source is source for field in self.all().fields)

    def fields_size(self) -> int:
        return fields_size(self._connection, self._organization_id)

    def next_id(self) -> FieldId:
        return FieldId(last_id(self._connection, "field_ids") + 1)

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        return find_deleted_field(self._connection, self._organization_id, field_id)

    def removed_records(self) -> int:
        return removed_records(self._connection, self._organization_id)

    def all(self) -> Catalog:
        return catalog(self._connection, self._organization_id)


def catalog(connection: Connection, organization_id: OrganizationId) -> Catalog:
    """Return the organization's fields, ordered by id, with the revision.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    revision = current_revision(connection, organization_id)
    rows = connection.execute(f"{_SELECT} ORDER BY id", [organization_id]).fetchall()
    return Catalog(organization_id, revision, tuple(map(read_field, rows)))


def change_fields(
    connection: Connection,
    organization_id: OrganizationId,
    plan: CatalogPlanner,
    *,
    author: Author,
    at: datetime,
) -> CatalogChanges[RecipientField]:
    """Store and record the changes that `plan` returns, as `FieldRepository.change` does."""
    changes = plan(_CatalogView(connection, organization_id))
    if changes.changes:
        current_revision(connection, organization_id)  # Requires the organization.
    return apply_changes(connection, organization_id, changes, author=author, at=at)


def apply_changes(
    connection: Connection,
    organization_id: OrganizationId,
    changes: CatalogChanges[FieldDefinition],
    *,
    author: Author,
    at: datetime,
) -> CatalogChanges[RecipientField]:
    """Delete, update, restore and create fields, in this order: new fields can take deleted keys.

    Record the changes, and return them with the created fields.
    """
    for field in changes.deleted:
        connection.execute("DELETE FROM recipient_fields WHERE id = ?", [field.id])
    for each in changes.updated:
        update(connection, "recipient_fields", each.field.id, field_values(each.field))
    for field in changes.restored:
        insert(connection, "recipient_fields", field_values(field))
    stored = changes.with_ids(_insert(connection, organization_id, new) for new in changes.created)
    recorded_at = changes.recorded_at(at)
    record_changes(connection, organization_id, stored, author=author, at=recorded_at)
    return stored


def _find(
    connection: Connection, organization_id: OrganizationId, reference: FieldReference
) -> RecipientField | None:
    column = "key" if isinstance(reference, str) else "id"
    row = connection.execute(f"{_SELECT} AND {column} = ?", [organization_id, reference]).fetchone()
    return None if row is None else read_field(row)


def _insert(
    connection: Connection, organization_id: OrganizationId, definition: FieldDefinition
) -> RecipientField:
    field = definition.with_id(FieldId(next_id(connection, "field_ids")), organization_id)
    insert(connection, "recipient_fields", field_values(field))
    return field
