"""Store API keys in DuckDB."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.adapters.row_mapping import found_key, stored_key
from recipient_fields.application import KeyChange, KeySuccession
from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    DigestTaken,
    FoundKey,
    KeyGrant,
    OrganizationId,
    epoch_milliseconds,
)

from .database import Connection, Database, insert, instant, milliseconds, next_id, update
from .organizations import current_revision

# The columns have the order of `KEY_COLUMNS`.
_SELECT = """
    SELECT id, organization_id, name, access, digest, display, created_by, created_at,
        expires_at, last_used_at, revoked_at
    FROM api_keys
"""
# The columns have the order that `found_key` expects.
_FIND = """
    SELECT api_keys.id, organization_id, access, revision, expires_at, revoked_at, last_used_at,
        fields_size
    FROM api_keys JOIN organizations ON organizations.id = organization_id WHERE digest = ?
"""


@frozen
class DuckdbApiKeyRepository:
    """The ApiKeyRepository of DuckDB."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        with self._database.reading() as connection:
            current_revision(connection, organization_id)
            ours = f"{_SELECT} WHERE organization_id = ? ORDER BY id"
            return tuple(map(_key, connection.execute(ours, [organization_id]).fetchall()))

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        with self._database.reading() as connection:
            return _get(connection, organization_id, key_id)

    def find(self, digest: bytes, /) -> FoundKey | None:
        with self._database.reading() as connection:
            row = connection.execute(_FIND, [digest]).fetchone()
            if row is None:
                return None
            values: tuple[Any, ...] = (*row[:4], *map(instant, row[4:7]), row[7])
            return found_key(*values)

    def add(self, grant: KeyGrant, /) -> ApiKey:
        with self._database.writing() as connection:
            return _add(connection, grant)

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        with self._database.writing() as connection:
            key = _get(connection, organization_id, key_id)
            key = key.with_validity_of(change(key))
            _store_end(connection, key)
            return key

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        with self._database.writing() as connection:
            key = _get(connection, organization_id, key_id)
            replaced, grant = succession(key)
            replaced = key.with_validity_of(replaced)
            _store_end(connection, replaced)
            return replaced, _add(connection, grant)

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        with self._database.writing() as connection:
            # `greatest` ignores NULL.
            connection.execute(
                "UPDATE api_keys SET last_used_at = greatest(last_used_at, ?)"
                " WHERE id = ? AND organization_id = ?",
                [epoch_milliseconds(at), key_id, organization_id],
            )


def _get(connection: Connection, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey:
    ours = f"{_SELECT} WHERE organization_id = ? AND id = ?"
    row = connection.execute(ours, [organization_id, key_id]).fetchone()
    if row is None:
        raise ApiKeyNotFound
    return _key(row)


def _add(connection: Connection, grant: KeyGrant) -> ApiKey:
    current_revision(connection, grant.organization_id)
    if connection.execute(_FIND, [grant.digest]).fetchone() is not None:
        raise DigestTaken
    key_id = ApiKeyId(next_id(connection, "api_key_ids"))
    row = {
        "id": key_id,
        "organization_id": grant.organization_id,
        "name": grant.name,
        "access": grant.access.value,
        "digest": grant.digest,
        "display": grant.display,
        "created_by": grant.created_by,
        "created_at": epoch_milliseconds(grant.created_at),
        "expires_at": milliseconds(grant.expires_at),
    }
    insert(connection, "api_keys", row)
    return grant.with_id(key_id)


def _store_end(connection: Connection, key: ApiKey) -> None:
    end = {
        "expires_at": milliseconds(key.expires_at),
        "revoked_at": milliseconds(key.revoked_at),
    }
    update(connection, "api_keys", key.id, end)


def _key(row: tuple[Any, ...]) -> ApiKey:
    return stored_key(*row[:7], *map(instant, row[7:]))
