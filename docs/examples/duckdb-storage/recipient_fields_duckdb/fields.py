"""Store recipient fields in DuckDB."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from recipient_fields.adapters.row_mapping import field_values, read_field
from recipient_fields.application import (
    CatalogPlanner,
    FieldChange,
    FieldCheck,
    PublishedCatalog,
    published,
)
from recipient_fields.domain import (
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    FieldUpdate,
    OrganizationId,
    RecipientField,
    RecordedChange,
    RecordedOperation,
)

from .database import Connection, Database, insert, next_id, update
from .organizations import current_revision
from .recording import find_deleted_field, record_changes

# The columns have the order of `field_values`, which `read_field` expects.
_SELECT = """
    SELECT id, organization_id, name, key, data_type, insertable, source, integration_id,
        esp_field_name, custom_insertion_code, custom_value_expression, version, allowed_values,
        created_at, updated_at
    FROM recipient_fields WHERE organization_id = ?
"""


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
            return _get(connection, organization_id, reference)

    def add(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        changes, at = CatalogChanges(created=(definition,)), definition.created_at
        with self._database.writing() as connection:
            catalog(connection, organization_id).require_addable(definition, limit=limit)
            applied = apply_changes(connection, organization_id, changes, author=author, at=at)
            return applied.created[0]

    def update(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        change: FieldChange,
        /,
        *,
        author: Author,
    ) -> RecipientField:
        with self._database.writing() as connection:
            field = _get(connection, organization_id, reference)
            changed = change(field)
            if changed != field:
                changes = CatalogChanges(updated=(FieldUpdate(field, changed),))
                at = changed.updated_at
                apply_changes(connection, organization_id, changes, author=author, at=at)
            return changed

    def delete(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        check: FieldCheck,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> None:
        with self._database.writing() as connection:
            field = _get(connection, organization_id, reference)
            check(field)
            changes = CatalogChanges(deleted=(field,))
            apply_changes(connection, organization_id, changes, author=author, at=at)

    def restore(
        self,
        organization_id: OrganizationId,
        field_id: FieldId,
        restoration: FieldChange,
        /,
        *,
        limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        with self._database.writing() as connection:
            field = _find(connection, organization_id, field_id) or find_deleted_field(
                connection, organization_id, field_id
            )
            if field is None:
                raise FieldNotFound
            restored = restoration(field)
            catalog(connection, organization_id).require_addable(restored, limit=limit)
            insert(connection, "recipient_fields", field_values(restored))
            change = RecordedChange(RecordedOperation.RESTORED, None, restored)
            record_changes(
                connection, organization_id, [change], author=author, at=restored.updated_at
            )
            return restored

    def apply(
        self,
        organization_id: OrganizationId,
        planner: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        with self._database.writing() as connection:
            changes = planner(catalog(connection, organization_id))
            return apply_changes(connection, organization_id, changes, author=author, at=at)


def catalog(connection: Connection, organization_id: OrganizationId) -> Catalog:
    """Return the organization's fields, ordered by id, with the revision.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    revision = current_revision(connection, organization_id)
    rows = connection.execute(f"{_SELECT} ORDER BY id", [organization_id]).fetchall()
    return Catalog(organization_id, revision, tuple(map(read_field, rows)))


def apply_changes(
    connection: Connection,
    organization_id: OrganizationId,
    changes: CatalogChanges,
    *,
    author: Author,
    at: datetime,
) -> AppliedChanges:
    """Delete, update and create fields, in this order: created fields can take deleted keys.

    Record the changes, and return them with the created fields.
    """
    for field in changes.deleted:
        connection.execute("DELETE FROM recipient_fields WHERE id = ?", [field.id])
    for each in changes.updated:
        update(connection, "recipient_fields", each.after.id, field_values(each.after))
    created = tuple(_insert(connection, organization_id, new) for new in changes.created)
    applied = AppliedChanges(changes, created)
    record_changes(connection, organization_id, [*applied.recorded()], author=author, at=at)
    return applied


def _get(
    connection: Connection, organization_id: OrganizationId, reference: FieldReference
) -> RecipientField:
    field = _find(connection, organization_id, reference)
    if field is None:
        raise FieldNotFound
    return field


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
