"""The API keys in memory."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from threading import RLock

from attrs import evolve

from recipient_fields.application import (
    ApiKeyRepository,
    KeyChange,
    KeySuccession,
    Records,
)
from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    DigestTaken,
    FoundKey,
    KeyGrant,
    OrganizationId,
    list_size,
)

from .fields import MemoryFieldRepository
from .records import Ids, Organizations


class MemoryApiKeyRepository(ApiKeyRepository):
    """The API keys in memory, by ascending id and by digest."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._ids = Ids()
        self._keys: dict[ApiKeyId, ApiKey] = {}
        self._ids_by_digest: dict[bytes, ApiKeyId] = {}

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        with self._lock:
            self._organizations.get(organization_id)
            return tuple(k for k in self._keys.values() if k.organization_id == organization_id)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        with self._lock:
            key = self._keys.get(key_id)
        if key is None or key.organization_id != organization_id:
            raise ApiKeyNotFound
        return key

    def find(self, digest: bytes, /) -> FoundKey | None:
        with self._lock:
            key_id = self._ids_by_digest.get(digest)
            if key_id is None:
                return None
            key = self._keys[key_id]
            catalog = self._fields.catalog(key.organization_id)
            return key.to_found_key(catalog.revision, list_size(catalog.fields_size))

    def add(self, grant: KeyGrant, /) -> ApiKey:
        with self._lock:
            self._organizations.get(grant.organization_id)
            if grant.digest in self._ids_by_digest:
                raise DigestTaken
            key = grant.with_id(ApiKeyId(self._ids.assign()))
            self._keys[key.id] = key
            self._ids_by_digest[key.digest] = key.id
            return key

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        with self._lock:
            key = self.get(organization_id, key_id)
            changed = change(key)
            key = key.with_validity_of(changed)
            self._keys[key_id] = key
            return key

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        with self._lock:
            key = self.get(organization_id, key_id)
            replaced, grant = succession(key)
            replaced = key.with_validity_of(replaced)
            successor = self.add(grant)
            self._keys[key_id] = replaced
            return replaced, successor

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        with self._lock, suppress(ApiKeyNotFound):
            key = self.get(organization_id, key_id)
            if key.last_used_at is None or key.last_used_at < at:
                self._keys[key_id] = evolve(key, last_used_at=at)

    def delete_all(self, organization_id: OrganizationId) -> None:
        """Delete all API keys of the organization."""
        for key in self.all(organization_id):
            del self._ids_by_digest[key.digest], self._keys[key.id]

    def records(self) -> Records[ApiKey]:
        """Return the API keys of all organizations."""
        return self._ids.records(self._keys.values())

    def load(self, keys: Iterable[ApiKey], last_id: int) -> None:
        """Replace all API keys by these."""
        self._ids.skip_to(last_id)
        self._keys = {key.id: key for key in sorted(keys, key=lambda key: key.id)}
        self._ids_by_digest = {key.digest: key.id for key in self._keys.values()}
