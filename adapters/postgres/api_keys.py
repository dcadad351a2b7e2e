"""API keys in PostgreSQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen
from psycopg import Connection

from recipient_fields.application import KeyChange, KeySuccession
from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    FoundKey,
    KeyGrant,
    OrganizationId,
    OrganizationNotFound,
    whole_milliseconds,
)

from ..row_mapping import RowMapping, found_key, stored_key
from .columns import (
    from_utc,
    optional_from_epoch,
    optional_from_utc,
    optional_milliseconds,
    storable_id,
)
from .distributed import SELECT_OWNER, insert_key, owner_ids
from .organizations import keep_if_distributed, keep_organization, select_revision
from .transactions import Transactions

COLUMNS = (
    "id, organization_id, name, access, digest, display, created_by,"
    " created_at AT TIME ZONE 'UTC', expires_at AT TIME ZONE 'UTC',"
    " last_used_at AT TIME ZONE 'UTC', revoked_at AT TIME ZONE 'UTC'"
)
_SELECT = f"SELECT {COLUMNS} FROM api_keys"
_INSTANT = "(extract(epoch FROM {}) * 1000)::bigint"
_SELECT_FOUND = f"""
    SELECT api_keys.id, organization_id, access, revision,
        {_INSTANT.format("expires_at")}, {_INSTANT.format("revoked_at")},
        {_INSTANT.format("last_used_at")}
    FROM api_keys JOIN organizations ON organizations.id = organization_id
"""
_FIND = f"{_SELECT_FOUND} WHERE digest = %s"
_FIND_BY_ID = f"""
    {_SELECT_FOUND} WHERE api_keys.id = %(id)s AND organization_id = %(organization_id)s
    AND organizations.id = %(organization_id)s
"""
_SELECT_BY_ID = f"{_SELECT} WHERE id = %s AND organization_id = %s"
_SELECT_FOR_CHANGE = f"{_SELECT_BY_ID} FOR NO KEY UPDATE"
_SELECT_ALL = f"""
    SELECT api_key.*
    FROM organizations LEFT JOIN (
        {_SELECT} WHERE organization_id = %(organization_id)s
    ) AS api_key ON true
    WHERE organizations.id = %(organization_id)s ORDER BY api_key.id
"""
_INSERT = """
    INSERT INTO api_keys (
        organization_id, name, access, digest, display, created_by, created_at, expires_at
    )
    SELECT id, %(name)s, %(access)s, %(digest)s, %(display)s, %(created_by)s, %(created_at)s,
        %(expires_at)s
    FROM organizations WHERE id = %(organization_id)s FOR KEY SHARE RETURNING id
"""
_UPDATE = """
    UPDATE api_keys SET expires_at = %s, revoked_at = %s WHERE id = %s AND organization_id = %s
"""
_RECORD_USE = """
    UPDATE api_keys SET last_used_at = %(at)s
    WHERE id = %(id)s AND organization_id = %(organization_id)s
    AND (last_used_at IS NULL OR last_used_at < %(at)s)
"""

_RECORD_USE_TIMEOUT = 1.0
"""Seconds. A request waits for this write before its own work."""


@frozen
class PostgresApiKeyRepository:
    """The API keys of all organizations in one PostgreSQL database."""

    _database: Transactions

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        values = {"organization_id": storable_id(organization_id)}
        rows = self._database.read(lambda c: c.execute(_SELECT_ALL, values).fetchall())
        if not rows:
            raise OrganizationNotFound
        return tuple(read_api_key(row) for row in rows if row[0] is not None)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        return self._database.read(lambda c: _get(c, _SELECT_BY_ID, organization_id, key_id))

    def find(self, digest: bytes, /) -> FoundKey | None:
        select = _find_distributed if self._database.distributed else _find
        row = self._database.read(lambda c: select(c, digest))
        return None if row is None else _found(row)

    def add(self, grant: KeyGrant, /) -> ApiKey:
        keep = keep_if_distributed(grant.organization_id, distributed=self._database.distributed)
        return self._database.write(lambda connection: self._add(connection, grant), first=keep)

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        def update(connection: Connection[Any]) -> ApiKey:
            key = _get(connection, _SELECT_FOR_CHANGE, organization_id, key_id)
            return _update(connection, key, change(key))

        return self._database.write(update)

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        def rotate(connection: Connection[Any]) -> tuple[ApiKey, ApiKey]:
            key = _get(connection, _SELECT_FOR_CHANGE, organization_id, key_id)
            replaced, grant = succession(key)
            return _update(connection, key, replaced), self._add(connection, grant)

        return self._database.write(rotate, first=keep_organization(organization_id))

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        values = {
            "id": storable_id(key_id),
            "organization_id": storable_id(organization_id),
            "at": whole_milliseconds(at),
        }
        self._database.write(
            lambda connection: connection.execute(_RECORD_USE, values), seconds=_RECORD_USE_TIMEOUT
        )

    def _add(self, connection: Connection[Any], grant: KeyGrant) -> ApiKey:
        values = {
            "organization_id": storable_id(grant.organization_id),
            "name": grant.name,
            "access": grant.access.value,
            "digest": grant.digest,
            "display": grant.display,
            "created_by": grant.created_by,
            "created_at": whole_milliseconds(grant.created_at),
            "expires_at": optional_milliseconds(grant.expires_at),
        }
        if self._database.distributed:
            if select_revision(connection, grant.organization_id) is None:
                raise OrganizationNotFound
            return grant.with_id(ApiKeyId(insert_key(connection, values)))
        row = connection.execute(_INSERT, values).fetchone()
        if row is None:
            raise OrganizationNotFound
        return grant.with_id(ApiKeyId(row[0]))


def _find(connection: Connection[Any], digest: bytes) -> tuple[Any, ...] | None:
    return connection.execute(_FIND, (digest,)).fetchone()


def _find_distributed(connection: Connection[Any], digest: bytes) -> tuple[Any, ...] | None:
    """Look up the organization first. The second statement reads one shard, in one snapshot."""
    owner = connection.execute(SELECT_OWNER, (digest,)).fetchone()
    return None if owner is None else connection.execute(_FIND_BY_ID, owner_ids(owner)).fetchone()


def _found(row: tuple[Any, ...]) -> FoundKey:
    with RowMapping("api_keys", row[0]):
        instants = map(optional_from_epoch, row[4:])
        return found_key(*row[:4], *instants)


def _get(
    connection: Connection[Any], select: str, organization_id: OrganizationId, key_id: ApiKeyId
) -> ApiKey:
    ids = (storable_id(key_id), storable_id(organization_id))
    row = connection.execute(select, ids).fetchone()
    if row is None:
        raise ApiKeyNotFound
    return read_api_key(row)


def _update(connection: Connection[Any], key: ApiKey, changed: ApiKey) -> ApiKey:
    """Store the changed expiry and revocation of the key, and return the key with them."""
    changed = key.with_validity_of(changed)
    connection.execute(
        _UPDATE,
        (
            optional_milliseconds(changed.expires_at),
            optional_milliseconds(changed.revoked_at),
            key.id,
            key.organization_id,
        ),
    )
    return changed


def read_api_key(row: tuple[Any, ...]) -> ApiKey:
    """Return the API key in a row of COLUMNS."""
    plain, created_at, later = row[:7], row[7], row[8:]
    values: tuple[Any, ...] = (*plain, from_utc(created_at), *map(optional_from_utc, later))
    return stored_key(*values)
