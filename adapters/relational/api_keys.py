"""The API keys in a database."""

from __future__ import annotations

from datetime import datetime

from attrs import asdict, frozen

from recipient_fields.application import ApiKeyRepository, KeyChange, KeySuccession
from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    FoundKey,
    KeyGrant,
    OrganizationId,
    OrganizationNotFound,
)

from ..row_mapping import found_key, stored_key
from .database import (
    Connection,
    Database,
    Row,
    id_values,
    keep_organization,
    storable_id,
    with_instants,
)
from .statements import SQL, NamedStatement

_RECORD_USE_TIMEOUT = 1.0
"""Seconds. A request waits for this write before its own work."""


@frozen
class RelationalApiKeyRepository(ApiKeyRepository):
    """The API keys of all organizations in one database."""

    _database: Database

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        values = id_values(organization_id=organization_id)
        rows = self._database.read(lambda c: c.all(SQL.select_keys, values))
        if not rows:
            raise OrganizationNotFound
        return tuple(read_api_key(row) for row in rows if row[0] is not None)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        return self._database.read(lambda c: _get(c, SQL.select_key, organization_id, key_id))

    def find(self, digest: bytes, /) -> FoundKey | None:
        row = self._database.read(lambda c: self._look_up(c, digest))
        return None if row is None else found_key(*with_instants("api_keys", row, 4, 5, 6))

    def add(self, grant: KeyGrant, /) -> ApiKey:
        return self._database.write(
            lambda c: self._add(c, grant), lock=keep_organization(grant.organization_id)
        )

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        def update(connection: Connection) -> ApiKey:
            key = _get(connection, SQL.select_key_for_change, organization_id, key_id)
            return _update(connection, key, change(key))

        return self._database.write(update)

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        def rotate(connection: Connection) -> tuple[ApiKey, ApiKey]:
            key = _get(connection, SQL.select_key_for_change, organization_id, key_id)
            replaced, grant = succession(key)
            return _update(connection, key, replaced), self._add(connection, grant)

        return self._database.write(rotate, lock=keep_organization(organization_id))

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        values = {**id_values(organization_id=organization_id, id=key_id), "at": at}
        self._database.write(
            lambda c: c.execute(SQL.record_key_use, values), seconds=_RECORD_USE_TIMEOUT
        )

    def _look_up(self, connection: Connection, digest: bytes) -> Row | None:
        """Return the row of `found_key_columns` of the key with this digest, or None."""
        return connection.one(SQL.find_key, {"digest": digest})

    def _add(self, connection: Connection, grant: KeyGrant) -> ApiKey:
        """Insert a key in a transaction that has locked its organization."""
        organization_id = storable_id(grant.organization_id)
        values = {
            **asdict(grant),
            "organization_id": organization_id,
            "access": grant.access.value,
        }
        row = connection.one(SQL.insert_key, values)
        if row is None:
            raise OrganizationNotFound
        return grant.with_id(ApiKeyId(row[0]))


def read_api_key(row: Row) -> ApiKey:
    """Return the API key in a row of `key_columns`."""
    return stored_key(*with_instants("api_keys", row, 7, 8, 9, 10))


def _get(
    connection: Connection,
    select: NamedStatement,
    organization_id: OrganizationId,
    key_id: ApiKeyId,
) -> ApiKey:
    row = connection.one(select, id_values(organization_id=organization_id, id=key_id))
    if row is None:
        raise ApiKeyNotFound
    return read_api_key(row)


def _update(connection: Connection, key: ApiKey, changed: ApiKey) -> ApiKey:
    """Store the changed expiry and revocation of the key, and return the key with them."""
    changed = key.with_validity_of(changed)
    values = {
        **id_values(organization_id=key.organization_id, id=key.id),
        "expires_at": changed.expires_at,
        "revoked_at": changed.revoked_at,
    }
    connection.execute(SQL.update_key, values)
    return changed
