"""The API keys in a database."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen

from recipient_fields.application import ApiKeyRepository, KeyChange, KeySuccession
from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    FoundKey,
    KeyGrant,
    OrganizationId,
    OrganizationNotFound,
    from_epoch_milliseconds,
)

from ..row_mapping import RowMapping, found_key, stored_key
from .columns import optional_instant, storable_id
from .database import Connection, Database, Row, Values
from .dialect import Dialect, Statement
from .locks import keep_organization

_RECORD_USE_TIMEOUT = 1.0
"""Seconds. A request waits for this write before its own work."""


@frozen
class RelationalApiKeyRepository(ApiKeyRepository):
    """The API keys of all organizations in one database."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        values = {"organization_id": storable_id(organization_id)}
        rows = self._database.read(lambda c: c.all(select_keys, values))
        if not rows:
            raise OrganizationNotFound
        return tuple(read_api_key(row) for row in rows if row[0] is not None)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        return self._database.read(lambda c: _get(c, select_key, organization_id, key_id))

    def find(self, digest: bytes, /) -> FoundKey | None:
        row = self._database.read(lambda c: c.one(find_key, {"digest": digest}))
        return None if row is None else _found(row)

    def add(self, grant: KeyGrant, /) -> ApiKey:
        return self._database.write(
            lambda c: _add(c, grant), lock=keep_organization(grant.organization_id)
        )

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        def update(connection: Connection) -> ApiKey:
            key = _get(connection, select_key_for_change, organization_id, key_id)
            return _update(connection, key, change(key))

        return self._database.write(update)

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        def rotate(connection: Connection) -> tuple[ApiKey, ApiKey]:
            key = _get(connection, select_key_for_change, organization_id, key_id)
            replaced, grant = succession(key)
            return _update(connection, key, replaced), _add(connection, grant)

        return self._database.write(rotate, lock=keep_organization(organization_id))

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        values = {**_ids(organization_id, key_id), "at": at}
        self._database.write(
            lambda c: c.execute(record_key_use, values), seconds=_RECORD_USE_TIMEOUT
        )


def read_api_key(row: Row) -> ApiKey:
    """Return the API key in a row of `key_columns`."""
    plain, created_at, optional_instants = row[:7], row[7], row[8:]
    with RowMapping("api_keys", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            from_epoch_milliseconds(created_at),
            *map(optional_instant, optional_instants),
        )
    return stored_key(*values)


def _found(row: Row) -> FoundKey:
    with RowMapping("api_keys", row[0]):
        values: tuple[Any, ...] = (*row[:4], *map(optional_instant, row[4:7]), row[7])
        return found_key(*values)


def _ids(organization_id: OrganizationId, key_id: ApiKeyId) -> Values:
    return {"id": storable_id(key_id), "organization_id": storable_id(organization_id)}


def _get(
    connection: Connection, select: Statement, organization_id: OrganizationId, key_id: ApiKeyId
) -> ApiKey:
    row = connection.one(select, _ids(organization_id, key_id))
    if row is None:
        raise ApiKeyNotFound
    return read_api_key(row)


def _add(connection: Connection, grant: KeyGrant) -> ApiKey:
    """Insert a key of an organization that is kept from deletion."""
    values = {
        "organization_id": storable_id(grant.organization_id),
        "name": grant.name,
        "access": grant.access.value,
        "digest": grant.digest,
        "display": grant.display,
        "created_by": grant.created_by,
        "created_at": grant.created_at,
        "expires_at": grant.expires_at,
    }
    row = connection.one(insert_key, values)
    if row is None:
        raise OrganizationNotFound
    return grant.with_id(ApiKeyId(row[0]))


def _update(connection: Connection, key: ApiKey, changed: ApiKey) -> ApiKey:
    """Store the changed expiry and revocation of the key, and return the key with them."""
    changed = key.with_validity_of(changed)
    values = {
        **_ids(key.organization_id, key.id),
        "expires_at": changed.expires_at,
        "revoked_at": changed.revoked_at,
    }
    connection.execute(update_key, values)
    return changed


def key_columns(sql: Dialect) -> str:
    """Return the columns for `read_api_key`."""
    return f"""
        id, organization_id, name, access, digest, display, created_by,
        {sql.milliseconds("created_at")}, {sql.milliseconds("expires_at")},
        {sql.milliseconds("last_used_at")}, {sql.milliseconds("revoked_at")}
    """


def found_key_columns(sql: Dialect) -> str:
    """Return the columns of the look-up of a key."""
    return f"""
        api_keys.id, organization_id, access, revision,
        {sql.milliseconds("expires_at")}, {sql.milliseconds("revoked_at")},
        {sql.milliseconds("last_used_at")}, fields_size
    """


def select_keys(sql: Dialect) -> str:
    """Select the keys of an organization by ascending id.

    There is no row if there is no organization, and one without a key if it has no keys. So one
    statement reads both.
    """
    return f"""
        SELECT api_key.*
        FROM organizations LEFT JOIN (
            SELECT {key_columns(sql)} FROM api_keys WHERE organization_id = :organization_id
        ) AS api_key ON true
        WHERE organizations.id = :organization_id ORDER BY api_key.id
    """


def select_key(sql: Dialect) -> str:
    """Select a key of an organization."""
    return f"""
        SELECT {key_columns(sql)} FROM api_keys
        WHERE id = :id AND organization_id = :organization_id
    """


def select_key_for_change(sql: Dialect) -> str:
    """Select a key of an organization, and lock it."""
    return f"{select_key(sql)} {sql.lock('NO KEY UPDATE')}"


def find_key(sql: Dialect) -> str:
    """Select the key with this digest, and the revision and size of its organization's catalog."""
    return f"""
        SELECT {found_key_columns(sql)}
        FROM api_keys JOIN organizations ON organizations.id = organization_id
        WHERE digest = :digest
    """


def insert_key(_: Dialect) -> str:
    """Insert a key if its organization exists, and return its id."""
    return """
        INSERT INTO api_keys (
            organization_id, name, access, digest, display, created_by, created_at, expires_at
        )
        SELECT id, :name, :access, :digest, :display, :created_by, :created_at, :expires_at
        FROM organizations WHERE id = :organization_id
        RETURNING id
    """


def update_key(_: Dialect) -> str:
    """Store the expiry and the revocation of a key."""
    return """
        UPDATE api_keys SET expires_at = :expires_at, revoked_at = :revoked_at
        WHERE id = :id AND organization_id = :organization_id
    """


def record_key_use(_: Dialect) -> str:
    """Store the time of the last use of a key, unless a later one is stored."""
    return """
        UPDATE api_keys SET last_used_at = :at
        WHERE id = :id AND organization_id = :organization_id
        AND (last_used_at IS NULL OR last_used_at < :at)
    """
