"""The recipient fields in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import FieldChange, FieldCheck
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
    OrganizationNotFound,
    RecipientField,
    folded,
)

from ..rows import plain_values, stored_field
from .columns import from_utc, optional_json, storable_id, to_milliseconds
from .database import Database
from .organizations import MOVE_REVISION, lock_catalog
from .queries import bind, select_statement

Row: TypeAlias = tuple[Any, ...]

_COLUMNS = (
    "id, organization_id, name, key, data_type, insertable, source, integration_id,"
    " esp_field_name, custom_insertion_code, custom_value_expression, version, allowed_values,"
    " created_at AT TIME ZONE 'UTC' AS created_at, updated_at AT TIME ZONE 'UTC' AS updated_at"
)
_SELECT = f"SELECT {_COLUMNS} FROM recipient_fields WHERE organization_id = %(organization_id)s"
_SELECT_BY_ID = f"{_SELECT} AND id = %(id)s"
_SELECT_BY_KEY = f"{_SELECT} AND key = %(key)s"

# One statement, so that the revision and the fields are of one moment.
_SELECT_ALL = f"""
    SELECT revision, field.*
    FROM organizations LEFT JOIN ({_SELECT}) AS field ON true
    WHERE organizations.id = %(organization_id)s ORDER BY field.id
"""
_SELECT_OBSTACLES = """
    SELECT (
        SELECT id FROM recipient_fields
        WHERE organization_id = %(organization_id)s AND key = %(key)s
    ), (
        SELECT count(*) FROM recipient_fields
        WHERE organization_id = %(organization_id)s AND source = %(source)s
    )
"""
_INSERT = f"""
    {MOVE_REVISION} INSERT INTO recipient_fields (
        organization_id, name, folded_name, key, data_type, allowed_values, insertable, source,
        integration_id, esp_field_name, folded_esp_field_name, custom_insertion_code,
        custom_value_expression, created_at, updated_at, version
    ) VALUES (
        %(organization_id)s, %(name)s, %(folded_name)s, %(key)s, %(data_type)s, %(allowed_values)s,
        %(insertable)s, %(source)s, %(integration_id)s, %(esp_field_name)s,
        %(folded_esp_field_name)s, %(custom_insertion_code)s, %(custom_value_expression)s,
        %(created_at)s, %(created_at)s, 1
    ) RETURNING id
"""
_UPDATE = f"""
    {MOVE_REVISION} UPDATE recipient_fields SET
        name = %(name)s, folded_name = %(folded_name)s, allowed_values = %(allowed_values)s,
        insertable = %(insertable)s,
        custom_insertion_code = %(custom_insertion_code)s,
        custom_value_expression = %(custom_value_expression)s,
        updated_at = %(updated_at)s, version = %(version)s
    WHERE organization_id = %(organization_id)s AND id = %(id)s
"""
_DELETE = f"""
    {MOVE_REVISION} DELETE FROM recipient_fields
    WHERE organization_id = %(organization_id)s AND id = %(id)s
"""


@frozen
class PostgresFieldRepository:
    """See FieldRepository. Whatever writes to a catalog does so alone."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        """See FieldRepository."""
        values = {"organization_id": storable_id(organization_id)}
        rows = self._database.read(lambda c: c.execute(_SELECT_ALL, values).fetchall())
        if not rows:
            raise OrganizationNotFound
        revision: int = rows[0][0]
        fields = tuple(_field(row[1:]) for row in rows if row[1] is not None)
        return Catalog(organization_id, revision, fields)

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        """See FieldRepository."""
        statement, values = select_statement(_COLUMNS, query), bind(organization_id, query)
        rows = self._database.read(lambda c: c.execute(statement, values).fetchall())
        if not rows:
            raise OrganizationNotFound
        revision, total = rows[0][:2]
        fields = [_field(row[2:]) for row in rows if row[2] is not None]
        return query.page(organization_id, revision, fields, total)

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        """See FieldRepository."""
        return self._database.read(lambda c: _get(c, organization_id, reference))

    def add(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
    ) -> RecipientField:
        """See FieldRepository."""
        values = {"organization_id": organization_id, **_values(definition)}

        def add(connection: Connection[Any]) -> RecipientField:
            if not lock_catalog(connection, organization_id):
                raise OrganizationNotFound
            [(holder, count)] = connection.execute(_SELECT_OBSTACLES, values)
            if holder is not None:
                raise KeyTaken(definition.key, holder)
            if limit is not None and count >= limit:
                raise FieldLimitReached(limit)
            [(field_id,)] = connection.execute(_INSERT, values)
            return definition.stored(FieldId(field_id), organization_id)

        return self._database.write(add)

    def update(
        self, organization_id: OrganizationId, reference: FieldReference, change: FieldChange, /
    ) -> RecipientField:
        """See FieldRepository."""

        def update(connection: Connection[Any]) -> RecipientField:
            lock_catalog(connection, organization_id)
            field = _get(connection, organization_id, reference)
            changed = change(field)
            if changed != field:
                connection.execute(
                    _UPDATE,
                    {
                        "organization_id": organization_id,
                        "id": field.id,
                        **_values(changed),
                        "updated_at": to_milliseconds(changed.updated_at),
                        "version": changed.version,
                    },
                )
            return changed

        return self._database.write(update)

    def delete(
        self, organization_id: OrganizationId, reference: FieldReference, check: FieldCheck, /
    ) -> None:
        """See FieldRepository."""

        def delete(connection: Connection[Any]) -> None:
            lock_catalog(connection, organization_id)
            field = _get(connection, organization_id, reference)
            check(field)
            connection.execute(_DELETE, {"organization_id": organization_id, "id": field.id})

        self._database.write(delete)


def _get(
    connection: Connection[Any], organization_id: OrganizationId, reference: FieldReference
) -> RecipientField:
    values: dict[str, object] = {"organization_id": storable_id(organization_id)}
    if isinstance(reference, str):
        cursor = connection.execute(_SELECT_BY_KEY, {**values, "key": reference})
    else:
        cursor = connection.execute(_SELECT_BY_ID, {**values, "id": storable_id(reference)})
    row = cursor.fetchone()
    if row is None:
        raise FieldNotFound
    return _field(row)


def _values(definition: FieldDefinition) -> Mapping[str, object]:
    return {
        **plain_values(definition),
        # PostgreSQL's own case folding depends on its version and locale.
        "folded_name": folded(definition.name),
        "folded_esp_field_name": folded(definition.origin.esp_field_name or "") or None,
        "allowed_values": optional_json(definition.allowed_values),
        "created_at": to_milliseconds(definition.created_at),
    }


def _field(row: Row) -> RecipientField:
    *plain, created_at, updated_at = row
    values: Row = (*plain, from_utc(created_at), from_utc(updated_at))
    return stored_field(*values)
