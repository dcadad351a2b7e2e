"""The ports of API keys."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias

from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    Credential,
    FoundKey,
    KeyGrant,
    OrganizationId,
    Rejection,
)

__all__ = ["ApiKeyRepository", "KeyChange", "KeySuccession", "KeyValidator"]

KeyChange: TypeAlias = Callable[[ApiKey], ApiKey]
"""Return the changed API key. It has no side effects."""


KeySuccession: TypeAlias = Callable[[ApiKey], tuple[ApiKey, KeyGrant]]
"""Return the changed API key and the grant of its successor. It has no side effects."""


class ApiKeyRepository(Protocol):
    """The API keys of all organizations. Digests are unique across organizations.

    For each organization, the keys of other organizations do not exist, except in `find`.
    """

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        """Return the organization's keys by ascending id, including expired and revoked ones.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        """Return the key. Raises: ApiKeyNotFound if the organization has no such key."""

    def find(self, digest: bytes, /) -> FoundKey | None:
        """Return the key with this SHA-256 digest in any organization and state, or None.

        One transaction reads the key and the revision of its organization's catalog.
        """

    def add(self, grant: KeyGrant, /) -> ApiKey:
        """Store a new key, and return it.

        Its id is greater than any that the storage has assigned to a key before.
        Raises: OrganizationNotFound if its organization does not exist; then DigestTaken if a key
        has the digest, in any organization.
        """

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        """Store `expires_at` and `revoked_at` of the key that `change` returns, and return the key.

        Other attributes stay the same. The key does not change between the call of `change` and
        the commit. If `change` raises, nothing is stored and the exception is raised.
        Raises: ApiKeyNotFound if the organization has no such key.
        """

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        """Store the changed key as `update` does, and its successor as `add` does.

        Return both in this order. If one can't be stored, neither is. The key does not change
        between the call of `succession` and the commit. If `succession` raises, nothing is stored
        and the exception is raised.
        Raises: ApiKeyNotFound if the organization has no such key, and the errors of `add`.
        """

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        """Set the key's `last_used_at` to `at`.

        Do nothing if it is `at` or later already, or if the organization has no such key.
        """


class KeyValidator(Protocol):
    """Validates presented API keys."""

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Return the credential of a valid key, or the rejection of any other text.

        A rejection's reason is `malformed` or `unknown` unless the validator knows that the key
        has expired or was revoked; it is never `missing`. Every rejection takes the same steps, so
        that its duration does not disclose the reason; only a malformed text may skip the look-up.
        A credential's `catalog_revision` was read during this call. A validator that uses a cache
        leaves it None.

        Raises: KeyValidationUnavailable if the validator can't validate keys at the moment.
        """
