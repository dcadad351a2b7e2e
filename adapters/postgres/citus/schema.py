"""The distribution of the tables over the workers of Citus, by organization."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psycopg import Connection

from recipient_fields.domain import StorageUnavailable

from ...relational.repositories import OWNED
from ..dialect import render
from .api_keys import CITUS_SQL

_IS_LOCAL = "SELECT NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = %s::regclass)"
_IS_DISTRIBUTED = "SELECT to_regclass('api_key_owners') IS NOT NULL"
_HAS_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_DISTRIBUTED = tuple(each for each in OWNED if not each.startswith("administrator_"))
_FIRST = ("recipient_fields", "recipient_field_changes", "integrations", "api_keys")
"""The tables that every process deletes with an organization. Migrations have added the others."""
_LOCK_TIMEOUT = """
    SELECT format('ALTER DATABASE %%I SET lock_timeout = %%L', current_database(), %s::text)
"""
"""Returns a statement that Citus also executes on each worker, unlike the setting of a session."""


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
        connection.execute(render(CITUS_SQL.insert_all_owners))
    distribute_new_tables(connection)
    [(setting,)] = connection.execute(_LOCK_TIMEOUT, (lock_timeout,)).fetchall()
    connection.execute(setting.encode())


def distribute_new_tables(connection: Connection[Any]) -> None:
    """Distribute the tables that migrations have added after the schema was distributed."""
    for table in _DISTRIBUTED:
        [(is_local,)] = connection.execute(_IS_LOCAL, (table,)).fetchall()
        if is_local:
            for statement in _distribution(table):
                connection.execute(statement.encode())


def _distribution(table: str) -> Iterable[str]:
    """Return the statements that distribute a table by organization."""
    deletion = "" if table in _FIRST else "ON DELETE CASCADE"
    yield (
        f"SELECT create_distributed_table('{table}', 'organization_id',"
        " colocate_with => 'organizations')"
    )
    yield (
        f"ALTER TABLE {table} ADD CONSTRAINT {table}_organization"
        f" FOREIGN KEY (organization_id) REFERENCES organizations (id) {deletion}"
    )


def _conversion() -> Iterable[str]:
    """Return the statements that distribute the schema."""
    for table in (*_DISTRIBUTED, "administrator_memberships"):
        yield f"ALTER TABLE {table} DROP CONSTRAINT {table}_organization"
    yield """
        ALTER TABLE api_keys DROP CONSTRAINT api_keys_digest_once,
        ADD CONSTRAINT api_keys_digest_once UNIQUE (organization_id, digest)
    """
    yield "SELECT create_distributed_table('organizations', 'id')"
    for table in _DISTRIBUTED:
        yield from _distribution(table)
    yield """
        CREATE TABLE api_key_owners (
            digest bytea NOT NULL,
            key_id bigint NOT NULL,
            organization_id bigint NOT NULL,
            CONSTRAINT api_key_owners_pk PRIMARY KEY (digest)
        )
    """
    yield "SELECT create_reference_table('api_key_owners')"
