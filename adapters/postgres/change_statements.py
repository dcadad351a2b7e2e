"""The statements that store changes of fields together with their records.

Each one assigns the sequence numbers and the time of its records while it advances the locked
catalog. The transactions of an organization commit in the order in which they get this lock.

The functions return SQL for psycopg. Citus executes some of them, and parts of the others, in the
statements of `citus.change_statements`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

from ..relational.columns import RECORD_COLUMNS
from ..row_mapping import CHANGING_COLUMNS
from .columns import FIELD_TYPES, milliseconds, stored_expression

ChangeStatement: TypeAlias = Callable[[], str]
"""Returns the SQL of a statement, in which `%(name)s` is the value with this name."""

_ROW_TYPES: Mapping[str, str] = {
    **FIELD_TYPES,
    "id": "bigint",
    "before": "text",
    "after": "text",
    "bytes": "bigint",
}
"""The type of each member of a row in a batch. Those that an operation does not need are absent."""
_ORGANIZATION_EXISTS = "EXISTS (SELECT FROM organizations WHERE id = %(organization_id)s)"
_ASSIGNED_IDS = "(SELECT sum(length(stored.id::text)) FROM stored)"
"""The number of digits of the ids of a batch that were assigned."""


@cache
def insert_field() -> str:
    """Insert and record a new field, and return its id, or no row if it stored nothing.

    One statement, so that a creation is one round trip: it locks the catalog itself. If it stored
    nothing, a plan, in the locked catalog, stores the field or finds the reason.

    After a wait for the lock, PostgreSQL evaluates the conditions and new values on the newest row
    of the organization, but sees the other tables as before. So the statement does not count the
    fields, and a constraint rejects a key that was taken meanwhile.
    """
    return f"""
        WITH holder AS (
            SELECT id FROM recipient_fields
            WHERE organization_id = %(organization_id)s AND key = %(key)s
        ), locked AS (
            SELECT id FROM organizations WHERE {can_add_field()} FOR NO KEY UPDATE
        ), added AS (
            INSERT INTO recipient_fields (organization_id, {field_columns()})
            SELECT %(organization_id)s, {field_parameters()}
            FROM locked
            RETURNING id
        ), catalog AS (
            {advance_for_new_field("length(added.id::text)")}
            FROM added WHERE organizations.id = %(organization_id)s
            RETURNING last_sequence, last_change_at
        ), recorded AS (
            INSERT INTO recipient_field_changes ({", ".join(RECORD_COLUMNS)})
            SELECT
                %(organization_id)s, last_sequence, last_change_at, %(operation)s, added.id,
                %(key)s, %(source)s, %(author)s::json, NULL, %(after)s::json,
                %(bytes)s
            FROM catalog, added
        )
        SELECT id FROM added
    """


@cache
def store_changes(change: ChangeStatement) -> str:
    """Delete, update or insert the fields of a batch, and record this.

    Return the time of the records in milliseconds since 1970, and the ids of the fields in the
    order of the rows. Return no row if the organization does not exist.

    One statement, so that a thousand changes and their records are one round trip under the lock.
    The rows are one JSON document, and their places in it determine the order of the records.
    """
    return f"""
        WITH change AS (
            SELECT * FROM ROWS FROM (json_to_recordset(%(rows)s::json) AS ({row_types()}))
                WITH ORDINALITY AS change ({row_members()}, place)
        ), stored AS (
            {change()}
        ), catalog AS (
            {advance_for_changes(_ASSIGNED_IDS if change is insert_fields else "0")}
        ), recorded AS (
            INSERT INTO recipient_field_changes ({", ".join(RECORD_COLUMNS)})
            SELECT
                %(organization_id)s, previous_sequence + place, last_change_at, %(operation)s,
                stored.id, key, source, %(author)s::json, before::json, after::json,
                bytes + %(author_bytes)s
            FROM catalog, stored JOIN change USING (key)
        )
        SELECT {milliseconds("last_change_at")},
            ARRAY(SELECT stored.id FROM stored JOIN change USING (key) ORDER BY place)
        FROM catalog
    """


def delete_fields() -> str:
    """Delete the fields of a batch, in `store_changes`."""
    return """
        DELETE FROM recipient_fields AS field USING change
        WHERE organization_id = %(organization_id)s AND field.id = change.id
        RETURNING field.id, field.key
    """


def update_fields() -> str:
    """Store the new values of the fields of a batch, in `store_changes`."""
    return f"""
        UPDATE recipient_fields AS field SET {changed_columns()}
        FROM change WHERE organization_id = %(organization_id)s AND field.id = change.id
        RETURNING field.id, field.key
    """


def insert_fields() -> str:
    """Insert the new fields of a batch, in `store_changes`.

    They get their ids in the order of the rows.
    """
    return f"""
        INSERT INTO recipient_fields (organization_id, {field_columns()})
        SELECT %(organization_id)s, {field_values()}
        FROM change WHERE {_ORGANIZATION_EXISTS} ORDER BY place
        RETURNING id, key
    """


def restore_fields() -> str:
    """Insert the deleted fields of a batch with their ids, in `store_changes`."""
    return f"""
        INSERT INTO recipient_fields (organization_id, id, {field_columns()})
        OVERRIDING SYSTEM VALUE
        SELECT %(organization_id)s, id, {field_values()}
        FROM change WHERE {_ORGANIZATION_EXISTS}
        RETURNING id, key
    """


def can_add_field() -> str:
    """Return the condition of an organization that can have a new field, if `holder` has its key.

    It is false if the key is taken, if a limit is reached, or if only a plan could decide that: it
    reads the counters that are not current, and the digits of the id.
    """
    return """
        id = %(organization_id)s
            AND counted_revision = revision AND measured_revision = revision
            AND NOT EXISTS (SELECT FROM holder)
            AND (%(limit)s::bigint IS NULL OR
                %(limit)s::bigint > CASE WHEN %(source)s = 'api' THEN api_field_count END)
            AND (%(max_fields_size)s::bigint IS NULL OR
                fields_size <= %(max_fields_size)s::bigint)
    """


def advance_for_new_field(id_digits: str) -> str:
    """Advance the catalog for a new field whose id has the number of digits of this expression."""
    return f"""
        UPDATE organizations SET
            revision = {next_revision()},
            counted_revision = {next_revision()},
            api_field_count = api_field_count + %(added_api_fields)s,
            measured_revision = {next_revision()},
            fields_size = fields_size + %(added_size)s + {id_digits},
            {counted_records()},
            last_sequence = last_sequence + %(count)s,
            last_change_at = {next_change_at()}
    """


def advance_for_changes(assigned_ids: str = "0") -> str:
    """Advance the locked catalog for the changes of a batch.

    Only API-managed fields have a limit in the service, so the others have no counter. If the
    counter is not current, the statement counts the fields, which are those before it. If the size
    of the catalog is not current, the next plan that needs it measures the fields.

    `assigned_ids` is the expression of the number of digits of the ids that the statement assigns.
    `occurred_at` is the time of the transaction's records, or NULL in its first batch.
    """
    return f"""
        UPDATE organizations SET
            revision = {next_revision()},
            counted_revision = {next_revision()},
            api_field_count = %(added_api_fields)s + coalesce(
                CASE WHEN counted_revision = revision THEN api_field_count END,
                (
                    SELECT count(*) FROM recipient_fields
                    WHERE organization_id = %(organization_id)s AND source = 'api'
                )
            ),
            {counted_records()},
            measured_revision = {next_if_current("measured_revision")},
            fields_size = fields_size + CASE WHEN measured_revision = revision
                THEN %(added_size)s + {assigned_ids} ELSE 0 END,
            last_sequence = last_sequence + %(count)s,
            last_change_at = coalesce(to_timestamp(%(occurred_at)s / 1000.0), {next_change_at()})
        WHERE id = %(organization_id)s
        RETURNING last_sequence - %(count)s AS previous_sequence, last_change_at
    """


def counted_records() -> str:
    """Return the assignments that add the new records to the size of the history.

    If a process of an older version has stored records, these must be counted first, and the new
    ones with them.
    """
    is_counted = "CASE WHEN sized_sequence = last_sequence THEN"
    return (
        f"record_bytes = record_bytes + {is_counted} %(bytes)s::bigint ELSE 0 END,"
        f" sized_sequence = sized_sequence + {is_counted} %(count)s::bigint ELSE 0 END"
    )


def next_revision() -> str:
    """Return the expression of the catalog's next revision.

    It is at least the current time: a failover or restore can lose revisions, which must not be
    reused. The current time is that of the statement, because the transaction can have begun long
    before.
    """
    return f"greatest(revision + 1, {milliseconds('statement_timestamp()')})"


def next_if_current(revision: str) -> str:
    """Return the expression of the next revision if this column has the current one.

    Otherwise it is the value of the column. Citus permits no time in a CASE, so it is calculated.
    """
    return f"{revision} + ({revision} = revision)::int * ({next_revision()} - revision)"


def next_change_at() -> str:
    """Return the expression of the time of the next record, which is later than the last one.

    Citus permits only immutable functions of a column here. The sum is immutable in UTC.
    """
    return (
        "greatest(to_timestamp(%(at)s / 1000.0),"
        " (last_change_at AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC')"
    )


def field_columns() -> str:
    """Return the columns of a new field, except both ids."""
    return ", ".join(FIELD_TYPES)


def field_values() -> str:
    """Return what `field_columns` store of a row in a batch."""
    return ", ".join(stored_expression(column, column) for column in FIELD_TYPES)


def field_parameters() -> str:
    """Return what `field_columns` store of the values of a statement."""
    return ", ".join(
        stored_expression(column, f"%({column})s::{kind}") for column, kind in FIELD_TYPES.items()
    )


def changed_columns() -> str:
    """Return the assignments of the columns that a change can set."""
    return ", ".join(
        f"{column} = {stored_expression(column, f'change.{column}')}"
        for column in (*CHANGING_COLUMNS, "folded_name")
    )


def row_members() -> str:
    """Return the members of a row in a batch."""
    return ", ".join(_ROW_TYPES)


def row_types() -> str:
    """Return the members of a row in a batch with their types."""
    return ", ".join(f"{name} {kind}" for name, kind in _ROW_TYPES.items())
