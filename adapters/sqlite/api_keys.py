"""The API keys in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.application import ApiKeyRepository, KeyChange, KeySuccession
from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    DigestTaken,
    FoundKey,
    KeyGrant,
    OrganizationId,
    epoch_milliseconds,
    from_epoch_milliseconds,
)

from ..row_mapping import RowMapping, found_key, stored_key
from .columns import optional_instant, optional_milliseconds, storable_id
from .database import Database
from .organizations import require_organization

COLUMNS = (
    "id, organization_id, name, access, digest, display, created_by,"
    " created_at, expires_at, last_used_at, revoked_at"
)
_SELECT_ALL = f"SELECT {COLUMNS} FROM api_keys WHERE organization_id = ? ORDER BY id"
_SELECT_BY_ID = f"SELECT {COLUMNS} FROM api_keys WHERE id = ? AND organization_id = ?"
_FIND = """
    SELECT api_keys.id, organization_id, access, revision, expires_at, revoked_at, last_used_at
    FROM api_keys JOIN organizations ON organizations.id = organization_id WHERE digest = ?
"""
_INSERT = """
    INSERT INTO api_keys (
        organization_id, name, access, digest, display, created_by, created_at, expires_at
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING RETURNING id
"""
_UPDATE = "UPDATE api_keys SET expires_at = ?, revoked_at = ? WHERE id = ?"
_RECORD_USE = """
    UPDATE api_keys SET last_used_at = :at
    WHERE id = :id AND organization_id = :organization_id
    AND (last_used_at IS NULL OR last_used_at < :at)
"""


@frozen
class SqliteApiKeyRepository(ApiKeyRepository):
    """The API keys in a SQLite file."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        with self._database.reading() as connection:
            require_organization(connection, organization_id)
            rows = connection.execute(_SELECT_ALL, (organization_id,))
            return tuple(read_api_key(row) for row in rows)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        with self._database.reading() as connection:
            return _get(connection, organization_id, key_id)

    def find(self, digest: bytes, /) -> FoundKey | None:
        with self._database.reading() as connection:
            row = connection.execute(_FIND, (digest,)).fetchone()
            return None if row is None else _found(row)

    def add(self, grant: KeyGrant, /) -> ApiKey:
        with self._database.writing() as connection:
            return _add(connection, grant)

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        with self._database.writing() as connection:
            key = _get(connection, organization_id, key_id)
            changed = change(key)
            key = key.with_validity_of(changed)
            _update(connection, key)
            return key

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        with self._database.writing() as connection:
            key = _get(connection, organization_id, key_id)
            replaced, grant = succession(key)
            replaced = key.with_validity_of(replaced)
            _update(connection, replaced)
            return replaced, _add(connection, grant)

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        values = {
            "id": storable_id(key_id),
            "organization_id": storable_id(organization_id),
            "at": epoch_milliseconds(at),
        }
        with self._database.writing() as connection:
            connection.execute(_RECORD_USE, values)


def _get(
    connection: sqlite3.Connection, organization_id: OrganizationId, key_id: ApiKeyId
) -> ApiKey:
    ids = (storable_id(key_id), storable_id(organization_id))
    row = connection.execute(_SELECT_BY_ID, ids).fetchone()
    if row is None:
        raise ApiKeyNotFound
    return read_api_key(row)


def _add(connection: sqlite3.Connection, grant: KeyGrant) -> ApiKey:
    require_organization(connection, grant.organization_id)
    row = connection.execute(
        _INSERT,
        (
            grant.organization_id,
            grant.name,
            grant.access.value,
            grant.digest,
            grant.display,
            grant.created_by,
            epoch_milliseconds(grant.created_at),
            optional_milliseconds(grant.expires_at),
        ),
    ).fetchone()
    if row is None:
        raise DigestTaken
    return grant.with_id(ApiKeyId(row[0]))


def _update(connection: sqlite3.Connection, key: ApiKey) -> None:
    connection.execute(
        _UPDATE,
        (optional_milliseconds(key.expires_at), optional_milliseconds(key.revoked_at), key.id),
    )


def _found(row: tuple[Any, ...]) -> FoundKey:
    with RowMapping("api_keys", row[0]):
        return found_key(*row[:4], *map(optional_instant, row[4:]))


def read_api_key(row: tuple[Any, ...]) -> ApiKey:
    """Return the API key of a row of COLUMNS."""
    plain, created_at, optional_instants = row[:7], row[7], row[8:]
    with RowMapping("api_keys", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            *map(optional_instant, optional_instants),
        )
    return stored_key(*values)
