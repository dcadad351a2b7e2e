"""What Citus executes instead of some of the shared statements.

Citus can't execute an INSERT that selects its organization, because it would need several workers.
It does not find a key by its digest in one shard either: a reference table has the organization.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..relational.api_keys import find_key, found_key_columns, insert_key
from ..relational.columns import storable_id
from ..relational.database import NO_VALUES, Connection, Row, Values
from ..relational.dialect import Dialect, Statement
from ..relational.integrations import insert_integration
from ..relational.organizations import select_revision
from .dialect import PostgresConnection
from .distributed import OWNERS


class CitusConnection(PostgresConnection):
    """A connection to Citus, which executes several statements instead of some."""

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        execute = _INSTEAD.get(statement)
        return super().one(statement, values) if execute is None else execute(self, values)


def _find_key(connection: Connection, values: Values) -> Row | None:
    """Look up the organization first. The second statement reads one shard, in one snapshot."""
    owner = connection.one(select_owner, values)
    if owner is None:
        return None
    organization_id, key_id = map(storable_id, owner)
    return connection.one(
        find_key_of_organization, {"organization_id": organization_id, "id": key_id}
    )


def _insert_key(connection: Connection, values: Values) -> Row | None:
    if connection.one(select_revision, values) is None:
        return None
    [key] = connection.all(insert_distributed_key, values)
    connection.execute(insert_owner, {**values, "id": key[0]})
    return key


def _insert_integration(connection: Connection, values: Values) -> Row | None:
    if connection.one(select_revision, values) is None:
        return None
    return connection.one(insert_distributed_integration, values)


_INSTEAD: Mapping[Statement, Callable[[Connection, Values], Row | None]] = {
    find_key: _find_key,
    insert_key: _insert_key,
    insert_integration: _insert_integration,
}


def select_owner(_: Dialect) -> str:
    """Select the organization and the id of the key with this digest."""
    return f"SELECT organization_id, key_id FROM {OWNERS} WHERE digest = :digest"


def find_key_of_organization(sql: Dialect) -> str:
    """Select a key, and the revision of the catalog of its organization."""
    return f"""
        SELECT {found_key_columns(sql)}
        FROM api_keys JOIN organizations ON organizations.id = organization_id
        WHERE api_keys.id = :id AND organization_id = :organization_id
        AND organizations.id = :organization_id
    """


def insert_distributed_key(_: Dialect) -> str:
    """Insert a key of an organization that exists, and return its id."""
    return """
        INSERT INTO api_keys (
            organization_id, name, access, digest, display, created_by, created_at, expires_at
        ) VALUES (
            :organization_id, :name, :access, :digest, :display, :created_by, :created_at,
            :expires_at
        ) RETURNING id
    """


def insert_owner(_: Dialect) -> str:
    """Insert the organization of a key."""
    return f"""
        INSERT INTO {OWNERS} (digest, key_id, organization_id)
        VALUES (:digest, :id, :organization_id)
    """


def insert_distributed_integration(_: Dialect) -> str:
    """Insert an integration of an organization that exists, and return its id."""
    return """
        INSERT INTO integrations (organization_id, esp, name, created_at)
        VALUES (:organization_id, :esp, :name, :created_at) RETURNING id
    """
