"""What the core needs from outside, as protocols that a contract suite can hold an adapter to.

Every method of a repository is one transaction: it happens whole or, where it raises, not at all.
Each raises StorageUnavailable where the technology fails or does not answer in time; that alone
can follow a change that was stored, where only the answer was lost. All methods may be called from
several threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    Catalog,
    Credential,
    FieldDefinition,
    FieldPage,
    FieldQuery,
    FieldReference,
    FoundKey,
    IntegrationId,
    KeyGrant,
    Organization,
    OrganizationContents,
    OrganizationId,
    RecipientField,
    Rejection,
)
from recipient_fields.domain.esp import (
    Integration,
    IntegrationDraft,
    ReportedField,
    SyncPlan,
)

from .publication import PublishedCatalog
from .snapshots import Snapshot

Clock: TypeAlias = Callable[[], datetime]
"""Now: aware, UTC, whole milliseconds."""

FieldChange: TypeAlias = Callable[[RecipientField], RecipientField]
"""What becomes of a field. Has no other effect: a storage may call it more than once."""

FieldCheck: TypeAlias = Callable[[RecipientField], None]
"""Raises where a field may not go."""

KeyChange: TypeAlias = Callable[[ApiKey], ApiKey]
"""What becomes of an API key. Has no other effect."""

KeySuccession: TypeAlias = Callable[[ApiKey], tuple[ApiKey, KeyGrant]]
"""What becomes of an API key, and the grant that follows it. Has no other effect."""

OrganizationCheck: TypeAlias = Callable[[OrganizationContents], None]
"""Raises if an organization with these contents may not be deleted."""

IntegrationCheck: TypeAlias = Callable[[tuple[RecipientField, ...]], None]
"""Raises where an integration with these fields may not go."""

SyncPlanner: TypeAlias = Callable[[Integration, tuple[RecipientField, ...]], SyncPlan]
"""What a sync run does to an integration and all fields of its organization. Has no other effect:
a storage may call it more than once."""


class FieldRepository(Protocol):
    """The fields of all organizations.

    A field is addressed by its organization and its id or key; in another organization's name it
    is FieldNotFound. Whatever changes a field moves its organization's revision by at least one;
    a method that raises, or that changes nothing, leaves it.
    """

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        """The organization's fields by ascending id, with the revision they belong to.

        OrganizationNotFound where there is no such organization.
        """

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        """What `published` makes of the catalog that `all` gives.

        It has a method of its own because a storage can write documents without making fields of
        its rows first, at a fraction of the cost. OrganizationNotFound.
        """

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        """What the query asks for, of one state of the catalog: see `FieldQuery.select`.

        OrganizationNotFound where there is no such organization.
        """

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        """The field; FieldNotFound where there is none."""

    def add(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
    ) -> RecipientField:
        """Store a new field, under an id greater than any the storage has given before.

        KeyTaken where the organization has a field of that key, of whatever origin; then
        FieldLimitReached where it already has `limit` fields of that source. Both hold exactly,
        however many callers add at once. OrganizationNotFound where there is no such organization.
        """

    def update(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        change: FieldChange,
        /,
    ) -> RecipientField:
        """Store what `change` makes of the field, and return it; nothing where it raises.

        No other change of the field happens between what `change` is given and what is stored.
        Where `change` returns the field as it is, nothing is stored. FieldNotFound where there is
        none.
        """

    def delete(
        self, organization_id: OrganizationId, reference: FieldReference, check: FieldCheck, /
    ) -> None:
        """Remove the field unless `check` raises; its key is free at once, its id never returns.

        No change of the field happens between what `check` is given and the removal.
        FieldNotFound where there is none.
        """


class ApiKeyRepository(Protocol):
    """The API keys of all organizations. A digest belongs to one key.

    A key is addressed by its organization and its id; another organization's key is
    ApiKeyNotFound.
    """

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        """The organization's keys by ascending id, revoked and expired ones too.

        OrganizationNotFound where there is no such organization.
        """

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        """Return the key. Raises: ApiKeyNotFound if the organization has no such key."""

    def find(self, digest: bytes, /) -> FoundKey | None:
        """What is known of the key with that SHA-256, whatever its state; None where there is none.

        The key and its organization's catalog revision are of one moment.
        """

    def add(self, grant: KeyGrant, /) -> ApiKey:
        """Store a new key, under an id greater than any the storage has assigned before.

        Raises: OrganizationNotFound if its organization does not exist; then DigestTaken if a key
        has the digest, in any organization.
        """

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        """Store the end and the revocation of the key that `change` returns, and return the key.

        Raises: ApiKeyNotFound if the organization has no such key.
        """

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        """Store the end and the revocation that `succession` returns, and the key's successor.

        Both or neither. Returns both in that order. Raises: ApiKeyNotFound if the organization has
        no such key, and what `add` raises for the successor.
        """

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        """Move the key's `last_used_at` forward to `at`.

        Do nothing if it is later already, or if the organization has no such key.
        """


class IntegrationRepository(Protocol):
    """The integrations of all organizations, and the fields that come and go with them.

    In another organization's name an integration is IntegrationNotFound.
    """

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        """The organization's integrations by ascending id.

        OrganizationNotFound where there is no such organization.
        """

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        """The integration; IntegrationNotFound where there is none."""

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        """Store a new integration, under an id greater than any the storage has given before.

        OrganizationNotFound where there is no such organization.
        """

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        """Store the integration's new name, and return the integration.

        Raises: IntegrationNotFound if the organization has no such integration; then
        InvalidIntegration if the name is not one line of 1 to 255 characters.
        """

    def delete(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        check: IntegrationCheck,
        /,
    ) -> tuple[RecipientField, ...]:
        """Remove the integration and its fields unless `check` raises; return these by id.

        No change of the fields happens between what `check` is given, by ascending id, and the
        removal. The organization's revision moves where there were fields. IntegrationNotFound
        where there is no such integration.
        """

    def sync(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: SyncPlanner,
        /,
    ) -> SyncPlan:
        """Store what `planner` makes of the integration and its organization's fields by id.

        No change of the fields or the integration happens between what `planner` receives and what
        is stored, and no caller sees a part of it. A storage may therefore call `planner` several
        times, each time with the newest state; the result of the last call is stored and returned.
        What is removed frees its keys for what is created; that gets ids greater than any before,
        in the order of the plan. Of the integration, `last_synced_at` is stored; if the plan
        changes no field, that alone, and the revision stays. Nothing is stored if `planner` raises.
        Raises: IntegrationNotFound if there is no such integration.
        """


class OrganizationRepository(Protocol):
    """The organizations."""

    def all(self) -> tuple[Organization, ...]:
        """Every organization by ascending id."""

    def get(self, organization_id: OrganizationId, /) -> Organization:
        """Return the organization. Raises: OrganizationNotFound if it does not exist."""

    def add(self, name: str, created_at: datetime, /) -> Organization:
        """Store a new organization with an empty catalog at `Organization.first_revision`.

        Its id is greater than any the storage has assigned before. Names need not be unique.
        """

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        """Store the organization's new name, and return the organization.

        Raises: OrganizationNotFound if it does not exist.
        """

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        """Delete the organization and its fields, API keys and integrations, unless `check` raises.

        Return how many of each were deleted. The numbers passed to `check` are the same: nothing is
        added to the organization or removed from it in between. No id is assigned again. A method
        that runs at the same time takes effect before the deletion or finds nothing.
        Raises: OrganizationNotFound if the organization does not exist.
        """


class Storage(Protocol):
    """One technology's repositories, over one set of connections."""

    @property
    def fields(self) -> FieldRepository:
        """The fields."""

    @property
    def api_keys(self) -> ApiKeyRepository:
        """The API keys."""

    @property
    def integrations(self) -> IntegrationRepository:
        """The integrations."""

    @property
    def organizations(self) -> OrganizationRepository:
        """The organizations."""

    def check(self) -> None:
        """StorageUnavailable unless the storage answers and has the schema this code needs."""

    def close(self) -> None:
        """Give back every connection, for good. Closing twice is fine."""


@runtime_checkable
class Pooled(Protocol):
    """A storage with a connection pool."""

    @property
    def pool_size(self) -> int:
        """How many calls can have a connection at once."""

    def pool_use(self) -> Mapping[str, int]:
        """Return how many connections are `open` and `in_use`, and how many calls are `waiting`."""


@runtime_checkable
class Transferable(Protocol):
    """A storage whose whole content can be copied to another storage."""

    def identity(self) -> Hashable:
        """Return a value that is equal for two storages if and only if they share their data.

        Raises: StorageUnavailable if the storage can't be reached.
        """

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a context manager for the content of the storage at one moment.

        The snapshot contains no change that is committed after the context was entered, and does
        not block writers. Records are read from the storage as they are iterated over. No deadline
        limits the whole.

        Raises: StorageUnavailable, also during the iteration, if the storage fails, stops
        responding, or has a record that breaks a rule of the domain.
        """

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot in one transaction. The storage must be empty.

        Ids, revisions and times stay as they are. From then on each new id is greater than the
        `last_id` of its kind, and than any id that this storage has assigned before. If the
        iteration over the snapshot raises, nothing is stored and the exception is raised.

        Raises: StorageNotEmpty if the storage has an organization. Of several callers at once,
        at most one succeeds. StorageUnavailable if the storage fails or stops responding; no
        deadline limits the whole.
        """


class KeyValidator(Protocol):
    """Decides whether a presented API key is valid."""

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Return the credential of a valid key, or the rejection of any other text.

        A rejection's reason is `malformed` or `unknown` unless the validator knows that the key
        has expired or was revoked; it is never `missing`. Every rejection takes the same steps, so
        that its duration does not disclose the reason; only a malformed text may skip the look-up.
        A credential's `catalog_revision` was read during this call: a validator that uses a cache
        leaves it None.

        Raises: KeyValidationUnavailable if the validator can't decide at the moment.
        """


class EspFieldSource(Protocol):
    """One account of an ESP, as far as it lists its fields."""

    def fields(self) -> Iterator[ReportedField]:
        """All fields that the ESP lists, in its order, read page by page while they are taken.

        A field that is of no type a recipient field can have is reported as refused. EspUnavailable
        where the ESP fails, limits the rate or does not answer in time, after several attempts;
        EspRefused where it answers but not with its fields. Whoever takes a part has a part: only
        an iteration that ends by itself was complete.
        """
