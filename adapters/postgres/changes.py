"""Changes of fields in PostgreSQL, which are stored together with their records.

Each statement assigns the sequence numbers and the time of its records while it advances the locked
catalog. The transactions of an organization commit in the order in which they get this lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from json import JSONEncoder
from typing import Any, TypeAlias

from attrs import frozen
from psycopg import Connection, Cursor

from recipient_fields.domain import (
    AppliedChanges,
    Author,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldUpdate,
    HistoryRecord,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    RecordedOperation,
    Source,
    epoch_milliseconds,
    fold_case,
)

from ..relational.columns import storable_id
from ..row_mapping import (
    CHANGING_COLUMNS,
    author_document,
    field_document,
    plain_values,
    stored_record,
)
from .columns import FIELD_TYPES, from_utc, optional_json, stored_expression
from .distributed import insert_field, insert_records, read_rows, select_new_id

RECORD_COLUMNS = (
    "organization_id, sequence, operation, field_id, author::text AS author,"
    " before::text AS before, after::text AS after,"
    " occurred_at AT TIME ZONE 'UTC' AS occurred_at"
)

_TYPES_OF_CHANGE = {**FIELD_TYPES, "id": "bigint", "before": "text", "after": "text"}
"""The type of each member of a row in a batch. Those that an operation does not need are absent."""

_AT = "to_timestamp({} / 1000.0)"
# At least the current time: a failover or restore can lose revisions, which must not be reused.
_NEXT_REVISION = (
    "greatest(revision + 1, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)"
)
# Only API-managed fields have a limit in the service, so the others have no counter.
KNOWN_COUNT = "CASE WHEN counted_revision = revision THEN api_field_count END"
"""The number of API-managed fields, or NULL if the counter of the organization is not current."""
COUNT_FIELDS = """
    SELECT (
        SELECT count(*) FROM recipient_fields
        WHERE organization_id = %(organization_id)s AND source = %(source)s
    ) FROM organizations WHERE id = %(organization_id)s
"""
_API_FIELD_COUNT = f"""
    coalesce({KNOWN_COUNT}, (
        SELECT count(*) FROM recipient_fields
        WHERE organization_id = %(organization_id)s AND source = 'api'
    ))
"""
"""The number of API-managed fields before a statement that changes the locked catalog."""
_ADVANCE_WITH_COUNT = f"""
    UPDATE organizations SET
        revision = {_NEXT_REVISION}, counted_revision = {_NEXT_REVISION},
        api_field_count = {{count}} + %(added_api_fields)s,
        last_sequence = last_sequence + %(count)s,
        last_change_at = coalesce(
            {_AT.format("%(occurred_at)s")},
            greatest(
                {_AT.format("%(at)s")},
                (last_change_at AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC'
            )
        )
    WHERE id = %(organization_id)s
"""
"""`occurred_at` is the time of the transaction's records, or NULL in its first statement."""
_ADVANCE = _ADVANCE_WITH_COUNT.format(count=_API_FIELD_COUNT)
# Each use appends a FROM clause with the rows.
_INSERT = f"""
    INSERT INTO recipient_fields (
        organization_id, {", ".join(FIELD_TYPES)}{{id}}
    ) {{overriding}} SELECT
        %(organization_id)s,
        {", ".join(stored_expression(column, column) for column in FIELD_TYPES)}{{id}}
"""
_INSERT_NEW = _INSERT.format(id="", overriding="")
_INSERT_WITH_ID = _INSERT.format(id=", id", overriding="OVERRIDING SYSTEM VALUE")
_RECORD = """
    INSERT INTO recipient_field_changes (
        organization_id, sequence, occurred_at, operation, field_id, key, source, author, before,
        after
    ) SELECT %(organization_id)s
"""

_ONE = ", ".join(f"%({name})s::{kind} AS {name}" for name, kind in FIELD_TYPES.items())
_ADVANCE_IF_COUNTED = f"""
    WITH holder AS (
        SELECT id FROM recipient_fields
        WHERE organization_id = %(organization_id)s AND key = %(key)s
    ), catalog AS (
        {_ADVANCE_WITH_COUNT.format(count="api_field_count")}
            AND counted_revision = revision AND NOT EXISTS (SELECT FROM holder)
            AND (%(limit)s::bigint IS NULL OR
                %(limit)s::bigint > CASE WHEN %(source)s = 'api' THEN api_field_count END)
        RETURNING last_sequence, last_change_at
    )
"""
"""Advances the catalog for a new field, unless its key is taken, the limit is reached, or only a
count could decide whether it is."""
# After a wait for the lock, PostgreSQL evaluates the conditions and new values on the newest row of
# the organization, but sees the other tables as before. So the statement does not count the fields,
# and a constraint rejects a key that was taken meanwhile.
ADD_AND_LOCK = f"""
    {_ADVANCE_IF_COUNTED}, added AS (
        {_INSERT_NEW} FROM catalog, (SELECT {_ONE}) AS field RETURNING id
    ), recorded AS (
        {_RECORD}, last_sequence, last_change_at, %(operation)s, added.id, %(key)s, %(source)s,
            %(author)s::json, NULL, %(after)s::json
        FROM catalog, added
    )
    SELECT id FROM added
"""
"""Locks the catalog itself, and returns the id of the new field. Returns no row if it stored
nothing: then a plan, in the locked catalog, stores the field or finds the reason."""
_ADVANCE_DISTRIBUTED = f"""
    {_ADVANCE_IF_COUNTED}
    SELECT catalog.last_sequence, (extract(epoch FROM catalog.last_change_at) * 1000)::bigint
    FROM organizations LEFT JOIN catalog ON true WHERE id = %(organization_id)s
"""
"""The part of `ADD_AND_LOCK` that is one task on Citus, whose planner requires a table in FROM."""

# Rows are sent as one JSON document: one statement stores and records a thousand of them.
_MEMBERS = ", ".join(f"{name} {kind}" for name, kind in _TYPES_OF_CHANGE.items())
_ADVANCE_FOR_ALL = f"""
    WITH change AS (
        SELECT * FROM ROWS FROM (json_to_recordset(%(rows)s::json) AS ({_MEMBERS}))
            WITH ORDINALITY AS change ({", ".join(_TYPES_OF_CHANGE)}, place)
    ), catalog AS (
        {_ADVANCE} RETURNING last_sequence - %(count)s AS previous_sequence, last_change_at
    ), stored AS (
        {{statement}}
    )
"""
_STORE_ALL = f"""
    {_ADVANCE_FOR_ALL}, recorded AS (
        {_RECORD}, previous_sequence + place, last_change_at, %(operation)s, stored.id, key, source,
            %(author)s::json, before::json, after::json
        FROM catalog, stored JOIN change USING (key)
    )
    SELECT (extract(epoch FROM last_change_at) * 1000)::bigint,
        ARRAY(SELECT stored.id FROM stored JOIN change USING (key) ORDER BY place)
    FROM catalog
"""
_DELETE = """
    DELETE FROM recipient_fields AS field USING change
    WHERE organization_id = %(organization_id)s AND field.id = change.id
    RETURNING field.id, field.key
"""
_SET = ", ".join(
    f"{column} = {stored_expression(column, f'change.{column}')}"
    for column in (*CHANGING_COLUMNS, "folded_name")
)
_UPDATE = f"""
    UPDATE recipient_fields AS field SET {_SET}
    FROM change WHERE organization_id = %(organization_id)s AND field.id = change.id
    RETURNING field.id, field.key
"""
_INSERT_DISTRIBUTED: Mapping[RecordedOperation, str] = {
    operation: f"""
        {insert} FROM json_to_recordset(%(rows)s::json) AS change ({_MEMBERS}) RETURNING key, id
    """
    for operation, insert in {
        RecordedOperation.RESTORED: _INSERT_WITH_ID,
        RecordedOperation.CREATED: _INSERT_NEW,
    }.items()
}
_STORE_DISTRIBUTED: Mapping[RecordedOperation, str] = {
    operation: f"""
        {_ADVANCE_FOR_ALL.format(statement=statement)}
        SELECT (extract(epoch FROM last_change_at) * 1000)::bigint, previous_sequence FROM catalog
    """
    for operation, statement in {
        RecordedOperation.DELETED: _DELETE,
        RecordedOperation.UPDATED: _UPDATE,
        RecordedOperation.RESTORED: "SELECT",
        RecordedOperation.CREATED: "SELECT",
    }.items()
}
"""The parts of the statements below that are one task on Citus."""
_STORE: Mapping[RecordedOperation, str] = {
    operation: _STORE_ALL.format(statement=statement)
    for operation, statement in {
        RecordedOperation.DELETED: _DELETE,
        RecordedOperation.UPDATED: _UPDATE,
        RecordedOperation.RESTORED: f"{_INSERT_WITH_ID} FROM catalog, change RETURNING id, key",
        RecordedOperation.CREATED: f"""
            {_INSERT_NEW} FROM catalog, change ORDER BY place RETURNING id, key
        """,
    }.items()
}
"""Each returns the time of the records in milliseconds since 1970, and the ids of the fields."""

_ADDED: Mapping[RecordedOperation, int] = {
    RecordedOperation.DELETED: -1,
    RecordedOperation.UPDATED: 0,
    RecordedOperation.RESTORED: 1,
    RecordedOperation.CREATED: 1,
}
"""The number of fields that a change adds to the catalog."""

_ROWS_AT_ONCE = 1_000
"""Few enough that a statement ends long before a `statement_timeout`."""

_Row: TypeAlias = Mapping[str, object]

_json = JSONEncoder(check_circular=False).encode


@frozen
class _Batch:
    """Rows of one operation as a JSON document of limited size."""

    operation: RecordedOperation
    count: int
    added_api_fields: int
    rows: str


@frozen
class PlannedRows:
    """Changes to a catalog, serialized before the catalog is locked."""

    _changes: CatalogChanges
    _batches: tuple[_Batch, ...]

    @classmethod
    def of(cls, changes: CatalogChanges) -> PlannedRows:
        """Serialize the changes."""
        rows = {
            RecordedOperation.DELETED: map(_deletion, changes.deleted),
            RecordedOperation.UPDATED: map(_update, changes.updated),
            RecordedOperation.RESTORED: map(_addition, changes.restored),
            RecordedOperation.CREATED: map(_addition, changes.created),
        }
        return cls(changes, tuple(_batches(rows)))

    def store(
        self,
        connection: Connection[Any],
        organization_id: OrganizationId,
        *,
        author: Author,
        at: datetime,
        distributed: bool,
    ) -> AppliedChanges:
        """Store and record the changes at this time in the locked catalog.

        Raises: OrganizationNotFound if there are changes, and the organization does not exist.
        """
        values = {
            "organization_id": storable_id(organization_id),
            "author": author_document(author),
            "at": epoch_milliseconds(at),
        }
        occurred_at = None
        ids: dict[RecordedOperation, list[int]] = {each: [] for each in _STORE}
        for batch in self._batches:
            store = _store_distributed if distributed else _store
            occurred_at, stored = store(
                connection,
                batch,
                {
                    **values,
                    "occurred_at": occurred_at,
                    "operation": batch.operation.value,
                    "count": batch.count,
                    "added_api_fields": batch.added_api_fields,
                    "rows": batch.rows,
                },
            )
            ids[batch.operation] += stored
        created = zip(self._changes.created, ids[RecordedOperation.CREATED], strict=True)
        return AppliedChanges(
            self._changes,
            tuple(each.with_id(FieldId(field_id), organization_id) for each, field_id in created),
        )


def try_creation(
    connection: Connection[Any], values: Mapping[str, object], *, distributed: bool
) -> FieldId | None:
    """Store and record a new field in the locked catalog, and return its id.

    Return None, and store nothing, if a plan has to decide whether the field can be stored.
    """
    if not distributed:
        row = connection.execute(ADD_AND_LOCK, values).fetchone()
        return None if row is None else FieldId(row[0])
    advance = connection.execute(_ADVANCE_DISTRIBUTED, values)
    [(field_id,)] = select_new_id(connection).fetchall()
    row = advance.fetchone()
    if row is None or row[0] is None:
        return None
    sequence, occurred_at = row
    insert_field(connection, {**values, "id": field_id})
    insert_records(
        connection, values, [values], [field_id], first=sequence, occurred_at=occurred_at
    )
    return FieldId(field_id)


def _store(
    connection: Connection[Any], batch: _Batch, values: Mapping[str, object]
) -> tuple[int, list[int]]:
    """Return the time of the records, and the ids of the fields."""
    occurred_at, stored = _advanced(connection.execute(_STORE[batch.operation], values))
    return occurred_at, stored


def _store_distributed(
    connection: Connection[Any], batch: _Batch, values: Mapping[str, object]
) -> tuple[int, list[int]]:
    """Do the same on Citus."""
    statement = _STORE_DISTRIBUTED[batch.operation]
    occurred_at, previous = _advanced(connection.execute(statement, values))
    rows = read_rows(batch.rows)
    insert = _INSERT_DISTRIBUTED.get(batch.operation)
    if insert is None:
        ids = [int(str(row["id"])) for row in rows]
    else:
        by_key = dict(connection.execute(insert, values).fetchall())
        ids = [by_key[row["key"]] for row in rows]
    insert_records(connection, values, rows, ids, first=previous + 1, occurred_at=occurred_at)
    return occurred_at, ids


def _advanced(cursor: Cursor[Any]) -> tuple[Any, ...]:
    """Return the row of a statement that has advanced the catalog."""
    row: tuple[Any, ...] | None = cursor.fetchone()
    if row is None:
        raise OrganizationNotFound
    return row


def bind_creation(
    organization_id: OrganizationId,
    definition: FieldDefinition,
    *,
    limit: int | None,
    author: Author,
) -> Mapping[str, object]:
    """Return the values for `ADD_AND_LOCK` and `try_creation`."""
    values = stored_values(definition)
    return {
        **values,
        "organization_id": storable_id(organization_id),
        "operation": RecordedOperation.CREATED.value,
        "limit": limit,
        "author": author_document(author),
        "after": field_document(definition),
        "count": 1,
        "added_api_fields": _count_api_fields([values]),
        "at": values["updated_at"],
        "occurred_at": None,
    }


def stored_values(field: FieldDefinition) -> _Row:
    """Return the values of the field by column, times in milliseconds since 1970.

    A definition has the values of the new field, which has no id yet.
    """
    created_at = epoch_milliseconds(field.created_at)
    values = {
        **plain_values(field),
        # PostgreSQL's own case folding depends on its version and locale.
        "folded_name": fold_case(field.name),
        "folded_esp_field_name": fold_case(field.origin.esp_field_name or "") or None,
        "allowed_values": optional_json(field.allowed_values),
        "created_at": created_at,
    }
    if not isinstance(field, RecipientField):
        return {**values, "updated_at": created_at, "version": 1}
    return {
        **values,
        "organization_id": field.organization_id,
        "id": field.id,
        "updated_at": epoch_milliseconds(field.updated_at),
        "version": field.version,
    }


def read_record(row: tuple[Any, ...]) -> HistoryRecord:
    """Return the record in a row of RECORD_COLUMNS."""
    *plain, occurred_at = row
    values: tuple[Any, ...] = (*plain, from_utc(occurred_at))
    return stored_record(*values)


def _batches(rows: Mapping[RecordedOperation, Iterable[_Row]]) -> Iterator[_Batch]:
    for operation, all_rows in rows.items():
        remaining = iter(all_rows)
        while batch := list(islice(remaining, _ROWS_AT_ONCE)):
            added_api_fields = _ADDED[operation] * _count_api_fields(batch)
            yield _Batch(operation, len(batch), added_api_fields, _json(batch))


def _count_api_fields(rows: Iterable[_Row]) -> int:
    return sum(row["source"] == Source.API.value for row in rows)


def _deletion(field: RecipientField) -> _Row:
    return {
        "id": field.id,
        "key": field.key,
        "source": field.origin.source.value,
        "before": field_document(field),
    }


def _update(update: FieldUpdate) -> _Row:
    return {
        **stored_values(update.after),
        "before": field_document(update.before),
        "after": field_document(update.after),
    }


def _addition(definition: FieldDefinition) -> _Row:
    return {**stored_values(definition), "after": field_document(definition)}
