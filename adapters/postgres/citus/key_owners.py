"""The organizations of API keys on Citus.

A reference table contains the digest and the organization of each API key. Without it, Citus would
search all shards for a digest.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from ...relational.api_keys import find_key, found_key_columns, insert_key
from ...relational.columns import storable_id
from ...relational.database import NO_VALUES, Row, Values
from ...relational.dialect import Dialect, Statement
from ..dialect import PostgresConnection


class CitusConnection(PostgresConnection):
    """A connection to Citus, which executes two statements instead of some."""

    def one(self, statement: Statement, values: Values = NO_VALUES, /) -> Row | None:
        if statement is find_key:
            return self._find_key(values)
        if statement is insert_key:
            return self._insert_key(values)
        return super().one(statement, values)

    def _find_key(self, values: Values) -> Row | None:
        """Look up the organization first. The second statement reads one shard, in one snapshot."""
        owner = super().one(select_owner, values)
        if owner is None:
            return None
        organization_id, key_id = map(storable_id, owner)
        ids = {"organization_id": organization_id, "id": key_id}
        return super().one(find_key_of_organization, ids)

    def _insert_key(self, values: Values) -> Row | None:
        key = super().one(insert_key, values)
        if key is not None:
            self.execute(insert_owner, {**values, "id": key[0]})
        return key


def insert_all_owners(connection: Connection[Any]) -> None:
    """Insert the digests and the organizations of all API keys."""
    connection.execute("""
        INSERT INTO api_key_owners (digest, key_id, organization_id)
        SELECT digest, id, organization_id FROM api_keys
    """)


def select_owner(_: Dialect) -> str:
    """Select the organization and the id of the key with this digest."""
    return "SELECT organization_id, key_id FROM api_key_owners WHERE digest = :digest"


def find_key_of_organization(sql: Dialect) -> str:
    """Select a key, and the revision and the size of the catalog of its organization."""
    return f"""
        SELECT {found_key_columns(sql)}
        FROM api_keys JOIN organizations ON organizations.id = organization_id
        WHERE api_keys.id = :id AND organization_id = :organization_id
        AND organizations.id = :organization_id
    """


def insert_owner(_: Dialect) -> str:
    """Insert the digest and the organization of a key."""
    return """
        INSERT INTO api_key_owners (digest, key_id, organization_id)
        VALUES (:digest, :id, :organization_id)
    """
