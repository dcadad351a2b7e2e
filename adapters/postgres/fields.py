"""Recipient fields in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from json import JSONEncoder
from typing import Any

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import FieldChange, FieldCheck, PublishedCatalog
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
    epoch_milliseconds,
    fold_case,
)
from recipient_fields.domain.esp import SyncPlan

from ..row_mapping import RowMapping, plain_values, stored_field
from .columns import from_optional_json, from_utc, optional_json, storable_id
from .organizations import (
    MOVE_REVISION,
    NEXT_REVISION,
    lock_catalog,
    move_revision,
)
from .queries import bind, select_statement
from .transactions import Transactions

COLUMNS = (
    "id, organization_id, name, key, data_type, insertable, source, integration_id,"
    " esp_field_name, custom_insertion_code, custom_value_expression, version,"
    " allowed_values::text AS allowed_values, created_at AT TIME ZONE 'UTC' AS created_at,"
    " updated_at AT TIME ZONE 'UTC' AS updated_at"
)
_SELECT = f"SELECT {COLUMNS} FROM recipient_fields WHERE organization_id = %(organization_id)s"
_SELECT_BY_ID = f"{_SELECT} AND id = %(id)s"
_SELECT_BY_KEY = f"{_SELECT} AND key = %(key)s"

# One statement, so that the revision and the fields are of one snapshot.
_SELECT_ALL = f"""
    SELECT revision, field.*
    FROM organizations LEFT JOIN ({_SELECT}) AS field ON true
    WHERE organizations.id = %(organization_id)s ORDER BY field.id
"""
# PostgreSQL renders the documents 30 times as fast as Python would from rows.
_INSTANT = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS {}"""
_PUBLISH = f"""
    SELECT revision, count(field.id),
        coalesce('[' || string_agg(row_to_json(field)::text, ',' ORDER BY field.id) || ']', '[]')
    FROM organizations LEFT JOIN (
        SELECT id, name, key, data_type, allowed_values, insertable, source, integration_id,
            esp_field_name, custom_insertion_code, custom_value_expression,
            {_INSTANT.format("created_at", "created_at")},
            {_INSTANT.format("updated_at", "updated_at")}
        FROM recipient_fields WHERE organization_id = %(organization_id)s
    ) AS field ON true
    WHERE organizations.id = %(organization_id)s GROUP BY organizations.id
"""
_AT = "to_timestamp({} / 1000.0)"
_TYPES = {
    "name": "text",
    "folded_name": "text",
    "key": "text",
    "data_type": "text",
    "allowed_values": "text",
    "insertable": "boolean",
    "source": "text",
    "integration_id": "bigint",
    "esp_field_name": "text",
    "folded_esp_field_name": "text",
    "custom_insertion_code": "text",
    "custom_value_expression": "text",
    "created_at": "bigint",
}
"""The type of each member of `_values`."""
_INSERT = f"""
    INSERT INTO recipient_fields (
        organization_id, name, folded_name, key, data_type, allowed_values, insertable, source,
        integration_id, esp_field_name, folded_esp_field_name, custom_insertion_code,
        custom_value_expression, created_at, updated_at, version
    ) SELECT
        %(organization_id)s, name, folded_name, key, data_type, allowed_values::json,
        insertable, source, integration_id, esp_field_name, folded_esp_field_name,
        custom_insertion_code, custom_value_expression, {_AT.format("created_at")},
        {_AT.format("created_at")}, 1
"""
_ONE = ", ".join(f"%({name})s::{kind} AS {name}" for name, kind in _TYPES.items())
# Rows are sent as one JSON document: one statement stores a thousand of them.
_MEMBERS = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
_INSERT_ALL = f"""
    {_INSERT} FROM ROWS FROM (json_to_recordset(%(fields)s::json) AS ({_MEMBERS}))
        WITH ORDINALITY AS field ({", ".join(_TYPES)}, place)
    ORDER BY place
"""
# Returns the id of the field that has the key, and the id of the new field unless the key is taken
# or the limit is reached. The catalog is locked, so no other transaction interferes.
_ADD = f"""
    WITH holder AS (
        SELECT id FROM recipient_fields
        WHERE organization_id = %(organization_id)s AND key = %(key)s
    ), catalog AS (
        UPDATE organizations SET revision = {NEXT_REVISION}
        WHERE id = %(organization_id)s AND NOT EXISTS (SELECT FROM holder) AND (
            %(limit)s::bigint IS NULL OR %(limit)s::bigint > (
                SELECT count(*) FROM recipient_fields
                WHERE organization_id = %(organization_id)s AND source = %(source)s
            )
        )
        RETURNING id
    ), added AS (
        {_INSERT} FROM catalog, (SELECT {_ONE}) AS field RETURNING id
    )
    SELECT (SELECT id FROM holder), (SELECT id FROM added)
    FROM organizations WHERE id = %(organization_id)s
"""
_UPDATE = f"""
    UPDATE recipient_fields AS field SET
        name = changed.name, folded_name = changed.folded_name, data_type = changed.data_type,
        allowed_values = changed.allowed_values::json, insertable = changed.insertable,
        custom_insertion_code = changed.custom_insertion_code,
        custom_value_expression = changed.custom_value_expression,
        updated_at = {_AT.format("changed.updated_at")}, version = changed.version
    FROM json_to_recordset(%(fields)s::json) AS changed (
        {_MEMBERS}, id bigint, updated_at bigint, version bigint
    )
    WHERE organization_id = %(organization_id)s AND field.id = changed.id
"""
_DELETE = """
    DELETE FROM recipient_fields
    WHERE organization_id = %(organization_id)s AND id = ANY(%(ids)s)
"""

_ROWS_AT_ONCE = 1_000
"""Few enough that a statement ends long before a `statement_timeout`."""

_json = JSONEncoder(check_circular=False).encode


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
        return self._database.read(lambda c: _get(c, organization_id, reference))

    def add(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
    ) -> RecipientField:
        values = {
            "organization_id": storable_id(organization_id),
            "limit": limit,
            **_values(definition),
        }
        row = self._database.write(
            lambda c: c.execute(_ADD, values).fetchone(), first=lock_catalog(organization_id)
        )
        if row is None:
            raise OrganizationNotFound
        holder, field_id = row
        if holder is not None:
            raise KeyTaken(definition.key, FieldId(holder))
        if limit is not None and field_id is None:
            raise FieldLimitReached(limit)
        return definition.with_id(FieldId(field_id), organization_id)

    def update(
        self, organization_id: OrganizationId, reference: FieldReference, change: FieldChange, /
    ) -> RecipientField:
        def update(connection: Connection[Any]) -> RecipientField:
            field = _get(connection, organization_id, reference)
            changed = change(field)
            if changed != field:
                values = {
                    "organization_id": organization_id,
                    "fields": _json([stored_values(changed)]),
                }
                connection.execute(f"{MOVE_REVISION} {_UPDATE}", values)
            return changed

        return self._database.write(update, first=lock_catalog(organization_id))

    def delete(
        self, organization_id: OrganizationId, reference: FieldReference, check: FieldCheck, /
    ) -> None:
        def delete(connection: Connection[Any]) -> None:
            field = _get(connection, organization_id, reference)
            check(field)
            delete_fields(connection, organization_id, [field])

        self._database.write(delete, first=lock_catalog(organization_id))


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


def delete_fields(
    connection: Connection[Any], organization_id: OrganizationId, fields: Iterable[RecipientField]
) -> None:
    """Delete these fields of a catalog that is locked."""
    ids = [field.id for field in fields]
    if ids:
        values = {"organization_id": organization_id, "ids": ids}
        connection.execute(f"{MOVE_REVISION} {_DELETE}", values)


@frozen
class PlannedRows:
    """The rows of a sync plan, serialized before the catalog is locked."""

    removed: tuple[RecipientField, ...]
    updates: tuple[str, ...]
    inserts: tuple[str, ...]

    @classmethod
    def of(cls, plan: SyncPlan) -> PlannedRows:
        """Serialize the plan."""
        updates, inserts = map(stored_values, plan.updated), map(_values, plan.created)
        return cls(tuple(plan.removed), tuple(_batches(updates)), tuple(_batches(inserts)))

    def store(self, connection: Connection[Any], organization_id: OrganizationId) -> None:
        """Store the plan in the locked catalog."""
        delete_fields(connection, organization_id, self.removed)
        values = {"organization_id": organization_id}
        for statement, batches in ((_UPDATE, self.updates), (_INSERT_ALL, self.inserts)):
            for fields in batches:
                connection.execute(statement, {**values, "fields": fields})
        if self.updates or self.inserts:
            move_revision(connection, organization_id)


def _batches(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield the rows as JSON documents of limited size."""
    remaining = iter(rows)
    while batch := list(islice(remaining, _ROWS_AT_ONCE)):
        yield _json(batch)


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
    return read_field(row)


def _values(definition: FieldDefinition) -> Mapping[str, object]:
    return {
        **plain_values(definition),
        # PostgreSQL's own case folding depends on its version and locale.
        "folded_name": fold_case(definition.name),
        "folded_esp_field_name": fold_case(definition.origin.esp_field_name or "") or None,
        "allowed_values": optional_json(definition.allowed_values),
        "created_at": epoch_milliseconds(definition.created_at),
    }


def stored_values(field: RecipientField) -> Mapping[str, object]:
    """Return the values of the field by column, times in milliseconds since 1970."""
    return {
        "organization_id": field.organization_id,
        "id": field.id,
        **_values(field),
        "updated_at": epoch_milliseconds(field.updated_at),
        "version": field.version,
    }


def read_field(row: tuple[Any, ...]) -> RecipientField:
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
