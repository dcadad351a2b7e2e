"""Changes of fields on Citus, where each statement is one task on the worker of the organization.

Citus executes an INSERT in a WITH clause as several tasks on several workers. So the first
statement advances the locked catalog and checks, and the next ones insert.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from psycopg import Connection, Cursor

from recipient_fields.domain import StorageUnavailable

from .columns import FIELD_TYPES, stored_expression

OWNERS = "api_key_owners"
"""The reference table of the organizations of API keys. Only a distributed schema has it."""
_INSERT_OWNERS = f"""
    INSERT INTO {OWNERS} (digest, key_id, organization_id)
    SELECT digest, id, organization_id FROM api_keys
"""

_IS_DISTRIBUTED = f"SELECT to_regclass('{OWNERS}') IS NOT NULL"
_HAS_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_OF_ORGANIZATION = ("recipient_fields", "recipient_field_changes", "integrations", "api_keys")
_LOCK_TIMEOUT = """
    SELECT format('ALTER DATABASE %%I SET lock_timeout = %%L', current_database(), %s::text)
"""
"""Returns a statement that Citus also executes on each worker, unlike the setting of a session."""
_SELECT_NEW_ID = "SELECT nextval(pg_get_serial_sequence('recipient_fields', 'id'))"
_FIELD_VALUES = ", ".join(
    stored_expression(column, f"%({column})s::{kind}") for column, kind in FIELD_TYPES.items()
)
_INSERT_FIELD = f"""
    INSERT INTO recipient_fields (
        id, organization_id, {", ".join(FIELD_TYPES)}
    ) OVERRIDING SYSTEM VALUE VALUES (
        %(id)s::bigint, %(organization_id)s::bigint, {_FIELD_VALUES}
    )
"""
_INSERT_RECORD = """
    INSERT INTO recipient_field_changes (
        organization_id, sequence, occurred_at, operation, field_id, key, source, author, before,
        after
    ) VALUES (
        %(organization_id)s::bigint, %(sequence)s::bigint,
        to_timestamp(%(occurred_at)s::bigint / 1000.0), %(operation)s, %(field_id)s::bigint,
        %(key)s, %(source)s, %(author)s::json, %(before)s::json, %(after)s::json
    )
"""
_INSERT_RECORDS = """
    INSERT INTO recipient_field_changes (
        organization_id, sequence, occurred_at, operation, field_id, key, source, author, before,
        after
    )
    SELECT organization_id, sequence, to_timestamp(occurred_at / 1000.0), operation, field_id, key,
        source, author::json, before::json, after::json
    FROM json_to_recordset(%(records)s::json) AS record (
        organization_id bigint, sequence bigint, occurred_at bigint, operation text,
        field_id bigint, key text, source text, author text, before text, after text
    )
"""


def is_distributed(connection: Connection[Any]) -> bool:
    """Return whether the schema is distributed."""
    [(distributed,)] = connection.execute(_IS_DISTRIBUTED).fetchall()
    return bool(distributed)


def require_citus(connection: Connection[Any]) -> None:
    """Raise StorageUnavailable if the database does not have Citus."""
    [(has_citus,)] = connection.execute(_HAS_CITUS).fetchall()
    if not has_citus:
        raise StorageUnavailable(
            "The database does not have Citus. Run CREATE EXTENSION citus on every node."
        )


def distribute(connection: Connection[Any], lock_timeout: str) -> None:
    """Distribute the current schema over the workers by organization, unless it is distributed.

    The tables of administrators stay on the coordinator. Also set `lock_timeout` of the database on
    every server. The connection is in a transaction.
    """
    if not is_distributed(connection):
        for statement in _conversion():
            connection.execute(statement.encode())
    [(setting,)] = connection.execute(_LOCK_TIMEOUT, (lock_timeout,)).fetchall()
    connection.execute(setting.encode())


def select_new_id(connection: Connection[Any]) -> Cursor[Any]:
    """Return the cursor of a query for the id of a new field."""
    return connection.execute(_SELECT_NEW_ID)


def insert_field(connection: Connection[Any], values: Mapping[str, object]) -> None:
    """Insert the row of a field, which has an id."""
    connection.execute(_INSERT_FIELD, values)


def insert_records(
    connection: Connection[Any],
    values: Mapping[str, object],
    rows: Iterable[Mapping[str, object]],
    ids: Iterable[int],
    *,
    first: int,
    occurred_at: int,
) -> None:
    """Insert the records of these rows, which have these ids. `first`: the first sequence."""
    records: list[dict[str, object]] = [
        {
            "before": None,
            "after": None,
            **row,
            "organization_id": values["organization_id"],
            "author": values["author"],
            "operation": values["operation"],
            "sequence": sequence,
            "occurred_at": occurred_at,
            "field_id": field_id,
        }
        for sequence, (row, field_id) in enumerate(zip(rows, ids, strict=True), first)
    ]
    if len(records) == 1:
        connection.execute(_INSERT_RECORD, records[0])
    else:
        connection.execute(_INSERT_RECORDS, {"records": json.dumps(records)})


def insert_all_owners(connection: Connection[Any]) -> None:
    """Insert the owners of all API keys."""
    connection.execute(_INSERT_OWNERS)


def read_rows(document: str) -> list[dict[str, object]]:
    """Return the rows of a batch."""
    rows: list[dict[str, object]] = json.loads(document)
    return rows


def _conversion() -> Iterable[str]:
    """Return the statements that distribute the schema."""
    for table in (*_OF_ORGANIZATION, "administrator_memberships"):
        yield f"ALTER TABLE {table} DROP CONSTRAINT {table}_organization"
    yield """
        ALTER TABLE api_keys DROP CONSTRAINT api_keys_digest_once,
        ADD CONSTRAINT api_keys_digest_once UNIQUE (organization_id, digest)
    """
    yield "SELECT create_distributed_table('organizations', 'id')"
    for table in _OF_ORGANIZATION:
        yield (
            f"SELECT create_distributed_table('{table}', 'organization_id',"
            " colocate_with => 'organizations')"
        )
        yield (
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_organization"
            " FOREIGN KEY (organization_id) REFERENCES organizations (id)"
        )
    yield f"""
        CREATE TABLE {OWNERS} (
            digest bytea NOT NULL,
            key_id bigint NOT NULL,
            organization_id bigint NOT NULL,
            CONSTRAINT {OWNERS}_pk PRIMARY KEY (digest)
        )
    """
    yield f"SELECT create_reference_table('{OWNERS}')"
    yield _INSERT_OWNERS
