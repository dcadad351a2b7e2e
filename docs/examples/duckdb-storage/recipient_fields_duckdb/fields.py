"""Store recipient fields in DuckDB."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from recipient_fields.adapters.row_mapping import field_values, read_field
from recipient_fields.application import FieldChange, FieldCheck, PublishedCatalog, published
from recipient_fields.domain import (
    Catalog,
    FieldDefinition,
    FieldId,
    FieldLimitReached,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    KeyTaken,
    OrganizationId,
    RecipientField,
)

from .database import Connection, Database, insert, next_id, update
from .organizations import current_revision, move_revision

# The columns have the order of `field_values`, which `read_field` expects.
_SELECT = """
    SELECT id, organization_id, name, key, data_type, insertable, source, integration_id,
        esp_field_name, custom_insertion_code, custom_value_expression, version, allowed_values,
        created_at, updated_at
    FROM recipient_fields WHERE organization_id = ?
"""
_COUNT = "SELECT count(*) FROM recipient_fields WHERE organization_id = ? AND source = ?"


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
    ) -> RecipientField:
        with self._database.writing() as connection:
            current_revision(connection, organization_id)
            holder = _find(connection, organization_id, definition.key)
            if holder is not None:
                raise KeyTaken(holder.key, holder.id)
            origin = [organization_id, definition.origin.source.value]
            (held,) = connection.execute(_COUNT, origin).fetchone() or (0,)
            if limit is not None and held >= limit:
                raise FieldLimitReached(limit)
            field = _insert(connection, organization_id, definition)
            move_revision(connection, organization_id)
            return field

    def update(
        self, organization_id: OrganizationId, reference: FieldReference, change: FieldChange, /
    ) -> RecipientField:
        with self._database.writing() as connection:
            field = _get(connection, organization_id, reference)
            changed = change(field)
            if changed != field:
                _update(connection, changed)
                move_revision(connection, organization_id)
            return changed

    def delete(
        self, organization_id: OrganizationId, reference: FieldReference, check: FieldCheck, /
    ) -> None:
        with self._database.writing() as connection:
            field = _get(connection, organization_id, reference)
            check(field)
            replace_fields(connection, organization_id, removed=[field])


def catalog(connection: Connection, organization_id: OrganizationId) -> Catalog:
    """Return the organization's fields, ordered by id, with the revision.

    Raises: OrganizationNotFound if the organization does not exist.
    """
    revision = current_revision(connection, organization_id)
    rows = connection.execute(f"{_SELECT} ORDER BY id", [organization_id]).fetchall()
    return Catalog(organization_id, revision, tuple(map(read_field, rows)))


def replace_fields(
    connection: Connection,
    organization_id: OrganizationId,
    *,
    removed: Iterable[RecipientField] = (),
    updated: Iterable[RecipientField] = (),
    created: Iterable[FieldDefinition] = (),
) -> None:
    """Remove, update and create fields, in this order: created fields can take removed keys."""
    for field in removed:
        connection.execute("DELETE FROM recipient_fields WHERE id = ?", [field.id])
    for field in updated:
        _update(connection, field)
    for definition in created:
        _insert(connection, organization_id, definition)
    if any((removed, updated, created)):
        move_revision(connection, organization_id)


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


def _update(connection: Connection, field: RecipientField) -> None:
    update(connection, "recipient_fields", field.id, field_values(field))
