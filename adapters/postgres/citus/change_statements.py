"""The statements that store changes of fields on Citus, each as one task on one worker.

Citus executes an INSERT in a WITH clause as several tasks on several workers. So the first
statement advances the locked catalog and checks, and the next ones insert.
"""

from __future__ import annotations

from functools import cache

from ...relational.columns import RECORD_COLUMNS
from ..change_statements import (
    ChangeStatement,
    advance_for_changes,
    advance_for_new_field,
    can_add_field,
    field_columns,
    field_parameters,
    field_values,
    row_types,
)
from ..columns import milliseconds


@cache
def advance_for_creation() -> str:
    """Advance the catalog for a new field, and return the sequence and the time of its record.

    They are NULL if the catalog did not advance. Citus requires a table in FROM, so that the
    statement is one task. `count_id_digits` adds the digits of the id, which is not known yet.
    """
    return f"""
        WITH holder AS (
            SELECT id FROM recipient_fields
            WHERE organization_id = %(organization_id)s AND key = %(key)s
        ), catalog AS (
            {advance_for_new_field("0")}
            WHERE {can_add_field()}
            RETURNING last_sequence, last_change_at
        )
        SELECT catalog.last_sequence, {milliseconds("catalog.last_change_at")}
        FROM organizations LEFT JOIN catalog ON true WHERE id = %(organization_id)s
    """


def count_id_digits() -> str:
    """Add the digits of the id of a new field to the size of the catalog."""
    return """
        UPDATE organizations SET fields_size = fields_size + length(%(id)s::bigint::text)
        WHERE id = %(organization_id)s::bigint
    """


def select_new_ids() -> str:
    """Select the ids of new fields, because the sizes of catalogs depend on their digits.

    The coordinator has the sequence, so this waits for no worker.
    """
    return """
        SELECT nextval(pg_get_serial_sequence('recipient_fields', 'id'))
        FROM generate_series(1, %(count)s)
    """


@cache
def insert_field() -> str:
    """Insert a new field, which has an id."""
    return f"""
        INSERT INTO recipient_fields (id, organization_id, {field_columns()})
        OVERRIDING SYSTEM VALUE
        VALUES (%(id)s::bigint, %(organization_id)s::bigint, {field_parameters()})
    """


@cache
def advance_for_additions() -> str:
    """Advance the catalog for the new or restored fields of a batch.

    Return the time of the records, and the last sequence before them.
    """
    return f"""
        WITH catalog AS (
            {advance_for_changes()}
        )
        SELECT {milliseconds("last_change_at")}, previous_sequence FROM catalog
    """


@cache
def change_fields(change: ChangeStatement) -> str:
    """Delete or update the fields of a batch, and advance the catalog, which one task can do.

    Return the time of the records, and the last sequence before them.
    """
    return f"""
        WITH change AS (
            SELECT * FROM json_to_recordset(%(rows)s::json) AS change ({row_types()})
        ), catalog AS (
            {advance_for_changes()}
        ), stored AS (
            {change()}
        )
        SELECT {milliseconds("last_change_at")}, previous_sequence FROM catalog
    """


@cache
def insert_fields() -> str:
    """Insert the new or restored fields of a batch, which have ids."""
    return f"""
        INSERT INTO recipient_fields (organization_id, id, {field_columns()})
        OVERRIDING SYSTEM VALUE
        SELECT %(organization_id)s, id, {field_values()}
        FROM json_to_recordset(%(rows)s::json) AS change ({row_types()})
    """


def insert_record() -> str:
    """Insert the record of a change."""
    return f"""
        INSERT INTO recipient_field_changes ({", ".join(RECORD_COLUMNS)})
        VALUES (
            %(organization_id)s::bigint, %(sequence)s::bigint,
            to_timestamp(%(occurred_at)s::bigint / 1000.0), %(operation)s, %(field_id)s::bigint,
            %(key)s, %(source)s, %(author)s::json, %(before)s::json, %(after)s::json, %(bytes)s
        )
    """


def insert_records() -> str:
    """Insert the records of a batch, which are one JSON document."""
    return f"""
        INSERT INTO recipient_field_changes ({", ".join(RECORD_COLUMNS)})
        SELECT
            organization_id, sequence, to_timestamp(occurred_at / 1000.0), operation, field_id, key,
            source, author::json, before::json, after::json, bytes
        FROM json_to_recordset(%(records)s::json) AS record (
            organization_id bigint, sequence bigint, occurred_at bigint, operation text,
            field_id bigint, key text, source text, author text, before text, after text,
            bytes bigint
        )
    """
