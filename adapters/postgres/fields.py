"""Recipient fields in PostgreSQL."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from time import monotonic
from typing import Any, TypeVar

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import (
    CatalogPlanner,
    FieldChange,
    FieldCheck,
    PublishedCatalog,
)
from recipient_fields.domain import (
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldLimitReached,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    FieldUpdate,
    KeyTaken,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    RecordedOperation,
)

from ..row_mapping import RowMapping, stored_field
from .changes import (
    ADD_AND_LOCK,
    RECORD_COLUMNS,
    PlannedRows,
    bind_addition,
    read_record,
    store_addition,
)
from .columns import from_optional_json, from_utc, storable_id
from .limits import CALL_TIMEOUT
from .organizations import lock_catalog
from .queries import bind, select_statement
from .transactions import Transactions, Work

T = TypeVar("T")

COLUMNS = (
    "id, organization_id, name, key, data_type, insertable, source, integration_id,"
    " esp_field_name, custom_insertion_code, custom_value_expression, version,"
    " allowed_values::text AS allowed_values, created_at AT TIME ZONE 'UTC' AS created_at,"
    " updated_at AT TIME ZONE 'UTC' AS updated_at"
)
SELECT = f"SELECT {COLUMNS} FROM recipient_fields WHERE organization_id = %(organization_id)s"
_SELECT_BY_ID = f"{SELECT} AND id = %(id)s"
_SELECT_BY_KEY = f"{SELECT} AND key = %(key)s"

# One statement, so that the revision and the fields are of one snapshot.
_SELECT_ALL = f"""
    SELECT revision, field.*
    FROM organizations LEFT JOIN ({SELECT}) AS field ON true
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
        return self._database.read(lambda c: _get(c, organization_id, reference))

    def add(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        values = bind_addition(
            RecordedOperation.CREATED, organization_id, definition, limit=limit, author=author
        )
        deadline = monotonic() + CALL_TIMEOUT
        if (added := self._database.try_statement(ADD_AND_LOCK, values)) is not None:
            return definition.with_id(FieldId(added[0]), organization_id)
        row = self._change(
            organization_id,
            lambda c: store_addition(c, values, distributed=self._database.distributed),
            seconds=deadline - monotonic(),
        )
        return definition.with_id(_added_id(row, definition, limit), organization_id)

    def update(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        change: FieldChange,
        /,
        *,
        author: Author,
    ) -> RecipientField:
        def update(connection: Connection[Any]) -> RecipientField:
            field = _get(connection, organization_id, reference)
            changed = change(field)
            if changed != field:
                changes = CatalogChanges(updated=(FieldUpdate(field, changed),))
                at = changed.updated_at
                self._store(connection, organization_id, changes, author=author, at=at)
            return changed

        return self._change(organization_id, update)

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
        def delete(connection: Connection[Any]) -> None:
            field = _get(connection, organization_id, reference)
            check(field)
            changes = CatalogChanges(deleted=(field,))
            self._store(connection, organization_id, changes, author=author, at=at)

        self._change(organization_id, delete)

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
        def restore(connection: Connection[Any]) -> RecipientField:
            restored = restoration(_get_or_deleted(connection, organization_id, field_id))
            values = bind_addition(
                RecordedOperation.RESTORED, organization_id, restored, limit=limit, author=author
            )
            row = store_addition(connection, values, distributed=self._database.distributed)
            _added_id(row, restored, limit)
            return restored

        return self._change(organization_id, restore)

    def apply(
        self,
        organization_id: OrganizationId,
        planner: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        def apply(connection: Connection[Any]) -> AppliedChanges:
            changes = planner(select_catalog(connection, organization_id))
            return self._store(connection, organization_id, changes, author=author, at=at)

        return self._change(organization_id, apply)

    def _change(
        self, organization_id: OrganizationId, work: Work[T], *, seconds: float = CALL_TIMEOUT
    ) -> T:
        """Return the result of the work, which is one transaction in the locked catalog."""
        return self._database.write(
            work,
            first=lock_catalog(organization_id),
            pipelined=self._database.distributed,
            seconds=seconds,
        )

    def _store(
        self,
        connection: Connection[Any],
        organization_id: OrganizationId,
        changes: CatalogChanges,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        return PlannedRows.of(changes).store(
            connection,
            organization_id,
            author=author,
            at=at,
            distributed=self._database.distributed,
        )


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


def _added_id(
    row: tuple[Any, ...] | None, definition: FieldDefinition, limit: int | None
) -> FieldId:
    """Return the id in the row that `store_addition` returned for this field."""
    if row is None:
        raise OrganizationNotFound
    holder, field_id = row
    if holder is not None:
        raise KeyTaken(definition.key, FieldId(holder))
    if limit is not None and field_id is None:
        raise FieldLimitReached(limit)
    return FieldId(field_id)


def _get_or_deleted(
    connection: Connection[Any], organization_id: OrganizationId, field_id: FieldId
) -> RecipientField:
    """Return the field, or the field as it was before its last deletion.

    Raises: FieldNotFound if neither exists.
    """
    with suppress(FieldNotFound):
        return _get(connection, organization_id, field_id)
    values = {"organization_id": storable_id(organization_id), "id": storable_id(field_id)}
    row = connection.execute(_SELECT_LAST_DELETION, values).fetchone()
    if row is None:
        raise FieldNotFound
    return read_record(row).field


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
