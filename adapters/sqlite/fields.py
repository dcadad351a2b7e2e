"""The recipient fields in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from attrs import frozen

from recipient_fields.application import (
    FieldChange,
    FieldCheck,
    FieldRepository,
    PublishedCatalog,
    published,
)
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
    epoch_milliseconds,
)
from recipient_fields.domain.esp import SyncPlan

from ..row_mapping import field_values, plain_values, read_field
from .columns import storable_id
from .database import Database
from .organizations import catalog_revision, move_revision
from .queries import COUNT, bind, select_statement

COLUMNS = (
    "id, organization_id, name, key, data_type, insertable, source, integration_id,"
    " esp_field_name, custom_insertion_code, custom_value_expression, version, allowed_values,"
    " created_at, updated_at"
)
_SELECT = f"SELECT {COLUMNS} FROM recipient_fields WHERE organization_id = :organization_id"
_SELECT_ALL = f"{_SELECT} ORDER BY id"
_SELECT_BY_ID = f"{_SELECT} AND id = :id"
_SELECT_BY_KEY = f"{_SELECT} AND key = :key"
_COUNT = (
    "SELECT count(*) FROM recipient_fields"
    " WHERE organization_id = :organization_id AND source = :source"
)
_INSERT = f"""
    INSERT INTO recipient_fields ({COLUMNS}) VALUES (
        NULL, :organization_id, :name, :key, :data_type, :insertable, :source, :integration_id,
        :esp_field_name, :custom_insertion_code, :custom_value_expression, 1, :allowed_values,
        :created_at, :created_at
    ) RETURNING id
"""
_UPDATE = """
    UPDATE recipient_fields SET
        name = :name, data_type = :data_type, allowed_values = :allowed_values,
        insertable = :insertable,
        custom_insertion_code = :custom_insertion_code,
        custom_value_expression = :custom_value_expression,
        updated_at = :updated_at, version = :version
    WHERE organization_id = :organization_id AND id = :id
"""
_DELETE = "DELETE FROM recipient_fields WHERE organization_id = ? AND id = ?"


@frozen
class SqliteFieldRepository(FieldRepository):
    """The recipient fields in a SQLite file.

    A write transaction is the only one, so that what it has read stays valid.
    """

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        with self._database.reading() as connection:
            revision = catalog_revision(connection, organization_id)
            return Catalog(organization_id, revision, select_fields(connection, organization_id))

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        return published(self.all(organization_id))

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        with self._database.reading() as connection:
            revision = catalog_revision(connection, organization_id)
            values = bind(organization_id, query)
            rows = connection.execute(select_statement(COLUMNS, query), values)
            fields = [read_field(row) for row in rows]
            (total,) = connection.execute(COUNT, values).fetchone()
            return query.page(organization_id, revision, fields, total)

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
            catalog_revision(connection, organization_id)
            holder = _find(connection, organization_id, definition.key)
            if holder is not None:
                raise KeyTaken(holder.key, holder.id)
            values = {"organization_id": organization_id, **_values(definition)}
            if limit is not None and connection.execute(_COUNT, values).fetchone()[0] >= limit:
                raise FieldLimitReached(limit)
            (field_id,) = connection.execute(_INSERT, values).fetchone()
            move_revision(connection, organization_id)
            return definition.with_id(FieldId(field_id), organization_id)

    def update(
        self, organization_id: OrganizationId, reference: FieldReference, change: FieldChange, /
    ) -> RecipientField:
        with self._database.writing() as connection:
            field = _get(connection, organization_id, reference)
            changed = change(field)
            if changed != field:
                connection.execute(_UPDATE, field_values(changed))
                move_revision(connection, organization_id)
            return changed

    def delete(
        self, organization_id: OrganizationId, reference: FieldReference, check: FieldCheck, /
    ) -> None:
        with self._database.writing() as connection:
            field = _get(connection, organization_id, reference)
            check(field)
            delete_fields(connection, organization_id, [field])


def select_fields(
    connection: sqlite3.Connection, organization_id: OrganizationId
) -> tuple[RecipientField, ...]:
    """Return the organization's fields by ascending id."""
    rows = connection.execute(_SELECT_ALL, {"organization_id": organization_id})
    return tuple(read_field(row) for row in rows)


def delete_fields(
    connection: sqlite3.Connection,
    organization_id: OrganizationId,
    fields: Sequence[RecipientField],
) -> None:
    """Delete these fields, which must exist."""
    connection.executemany(_DELETE, [(organization_id, field.id) for field in fields])
    if fields:
        move_revision(connection, organization_id)


def apply_plan(
    connection: sqlite3.Connection, organization_id: OrganizationId, plan: SyncPlan
) -> None:
    """Store the changes of the plan to the fields."""
    delete_fields(connection, organization_id, plan.removed)
    connection.executemany(_UPDATE, map(field_values, plan.updated))
    for definition in plan.created:
        connection.execute(_INSERT, {"organization_id": organization_id, **_values(definition)})
    if plan.updated or plan.created:
        move_revision(connection, organization_id)


def _get(
    connection: sqlite3.Connection, organization_id: OrganizationId, reference: FieldReference
) -> RecipientField:
    field = _find(connection, organization_id, reference)
    if field is None:
        raise FieldNotFound
    return field


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


def _values(definition: FieldDefinition) -> Mapping[str, object]:
    allowed = definition.allowed_values
    return {
        **plain_values(definition),
        "allowed_values": None if allowed is None else json.dumps(allowed.values),
        "created_at": epoch_milliseconds(definition.created_at),
    }
