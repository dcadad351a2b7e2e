"""The API keys in PostgreSQL. On Citus, a reference table has the organization of each key.

Without this table, Citus would search all shards for a digest.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from recipient_fields.domain import ApiKey, KeyGrant

from ...relational.api_keys import RelationalApiKeyRepository
from ...relational.database import Connection, Row, Values
from ...relational.repositories import API_KEYS
from ...relational.statements import SQL, Statements

CITUS_SQL = Statements(__package__, SQL)


@frozen
class PostgresApiKeyRepository(RelationalApiKeyRepository):
    """The API keys of all organizations in one PostgreSQL database."""

    _is_distributed: Callable[[], bool]

    def _look_up(self, connection: Connection, digest: bytes) -> Row | None:
        """Look up the organization first. The second statement reads one shard, in one snapshot."""
        if not self._is_distributed():
            return super()._look_up(connection, digest)
        owner = connection.one(CITUS_SQL.select_owner, {"digest": digest})
        if owner is None:
            return None
        organization_id, key_id = owner
        ids = {"organization_id": organization_id, "id": key_id}
        return connection.one(CITUS_SQL.find_key_of_organization, ids)

    def _add(self, connection: Connection, grant: KeyGrant) -> ApiKey:
        key = super()._add(connection, grant)
        if self._is_distributed():
            connection.execute(CITUS_SQL.insert_owner, _owner(key))
        return key


def _owner(key: ApiKey) -> Values:
    return {"digest": key.digest, "key_id": key.id, "organization_id": key.organization_id}


OWNED_KEYS = evolve(API_KEYS, details=(("api_key_owners", lambda key: [_owner(key)]),))
"""The API keys in a copy, with the organizations of their digests."""
