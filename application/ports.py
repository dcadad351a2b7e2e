"""The driven ports: what the core requires of adapters. The contract suite tests adapters.

Every method of a repository is one transaction: if it raises, nothing is stored. There is one
exception: every method raises StorageUnavailable if the storage fails or does not respond in time,
and the change may have been stored then. All methods are thread-safe.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    ApiKey,
    ApiKeyId,
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    CatalogView,
    Credential,
    EmailAddress,
    FieldDefinition,
    FieldPage,
    FieldQuery,
    FieldReference,
    FoundKey,
    FoundLink,
    HistoryPage,
    HistoryQuery,
    HistorySize,
    IntegrationId,
    Invitation,
    InvitationDraft,
    InvitationId,
    KeyGrant,
    Link,
    LinkPurpose,
    Organization,
    OrganizationContents,
    OrganizationId,
    RecipientField,
    Rejection,
    Role,
    Session,
    SessionId,
    SignedInAdministrator,
)
from recipient_fields.domain.esp import (
    Integration,
    IntegrationDraft,
    ReportedField,
    SyncPlan,
)

from .fields.publication import PublishedCatalog
from .snapshots import Snapshot

Clock: TypeAlias = Callable[[], datetime]
"""Return the current time: aware, in UTC, in whole milliseconds."""

CatalogPlanner: TypeAlias = Callable[[CatalogView], CatalogChanges]
"""Return the changes to a catalog. It has no side effects: a storage may call it several times."""

KeyChange: TypeAlias = Callable[[ApiKey], ApiKey]
"""Return the changed API key. It has no side effects."""

KeySuccession: TypeAlias = Callable[[ApiKey], tuple[ApiKey, KeyGrant]]
"""Return the changed API key and the grant of its successor. It has no side effects."""

OrganizationCheck: TypeAlias = Callable[[OrganizationContents], None]
"""Raise if an organization with these contents may not be deleted."""

IntegrationCheck: TypeAlias = Callable[[tuple[RecipientField, ...]], None]
"""Raise if an integration with these fields may not be deleted."""

AdministratorsCheck: TypeAlias = Callable[
    [tuple[Administrator, ...], tuple[Administrator, ...]], None
]
"""Raise if an organization's administrators may not change from the first to the second.

It has no side effects. The order of the second is not defined."""

SyncPlanner: TypeAlias = Callable[[Integration, tuple[RecipientField, ...]], SyncPlan]
"""Return the changes of a sync run to the integration and all fields of its organization.

It has no side effects: a storage may call it several times."""


class FieldRepository(Protocol):
    """The fields of all organizations.

    A reference is the id or the key of a field. For each organization, the fields of other
    organizations do not exist. Every change to a field increases the revision of its organization's
    catalog by at least one. A method that raises or changes nothing keeps the revision.

    Every change to a field is recorded in the history, with its author, in the same transaction.
    """

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        """Return the organization's fields by ascending id, and the revision of the catalog.

        One transaction reads both.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        """Return the catalog as JSON: equal to `published(self.all(organization_id))`.

        It is a separate method because a storage can read the documents directly from its rows, at
        a fraction of the cost.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        """Return the page of fields that the query selects, of one revision of the catalog.

        It is equal to `query.select(self.all(organization_id))`.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        """Return the field.

        Raises: FieldNotFound if the organization has no such field, or does not exist.
        """

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        """Store the changes that `plan` returns, and return them with the created fields.

        `plan` receives a view of the catalog, which does not change between the last call of `plan`
        and the commit. `plan` decides everything: the storage checks no rule. If it raises, nothing
        is stored and the exception is raised. It must return changes that fit the catalog: deleted
        fields and fields before their update are those of the catalog, restored fields have ids of
        deleted fields, and all keys are unique afterwards.

        Fields are deleted before others are stored, so that their keys are free. Created fields get
        ids in the order of the changes; each id is greater than any that the storage has assigned
        to a field before. `at` is the time of the change.
        Raises: OrganizationNotFound if the organization does not exist and `plan` returns any
        change.
        """


@runtime_checkable
class FieldCreator(Protocol):
    """A FieldRepository that can create a field faster than with `change`."""

    def create(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
        size_limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        """Store a new field, and return it.

        It has the same effect and raises the same errors as `change` with `plan_creation` at the
        time `created_at`.
        """


class HistoryRepository(Protocol):
    """The histories of all organizations: one record for each change of a field.

    For each organization, the records of other organizations do not exist. Only `prune`,
    `prune_to_size` and the deletion of the organization remove records. Pruning removes the oldest
    ones first, so the records that are left have consecutive numbers up to the last one.

    The sequence numbers of an organization's records are 1, 2, 3 and so on, without gaps, in the
    order of the commits. The records of one transaction have consecutive numbers in the order of
    `AppliedChanges.recorded`. A reader that continues after the last number that it has seen
    therefore reads no record twice, and misses none unless `select` raises BeforeHistory. A storage
    must assign the numbers while it locks the organization's catalog until the commit. The numbers
    of a database sequence would not be enough: a transaction could take a number, and commit after
    another one with a greater number.

    The records of one transaction have the same `occurred_at`: that of `CatalogChanges.recorded_at`
    for the argument `at` of the change, or 1 ms after the previous transaction of the organization
    if that is later.
    """

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        """Return the page of records that the query selects.

        It is equal to `query.select` with all records of the organization and the number of removed
        ones.
        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory as
        `HistoryQuery.require_recorded` does.
        """

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        """Return the catalog as it was at this time, after all changes that occurred until then.

        It contains the fields that `undo` returns for the later records. Its revision is the
        `occurred_at` of the last record until then, in milliseconds since 1970. One transaction
        reads the fields and the records.
        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory if it has no
        record that occurred until then.
        """

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        """Return the page of fields that the query selects, as they were at this time.

        It is equal to `query.select(self.catalog_at(organization_id, at))`. It is a separate method
        because a storage can read the large members of the fields on the page only.
        Raises: the errors of `catalog_at`.
        """

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        """Delete the records that occurred before this time, and return their number.

        A storage may use several transactions, with the oldest records first.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def size(self, organization_id: OrganizationId, /) -> HistorySize:
        """Return the size of the history.

        A storage maintains it with each change, so that this does not read the records. It may
        count records that another version has stored, once.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        """Delete the oldest records until the history has at most `max_bytes`.

        Return their number. A storage may use several transactions. It deletes no more records than
        necessary, except that it may treat the records of one transaction of a change as one unit;
        also if several processes call this at the same time.
        Raises: OrganizationNotFound if the organization does not exist.
        """


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


class IntegrationRepository(Protocol):
    """The integrations of all organizations. Their sync runs create, change and delete fields.

    For each organization, the integrations of other organizations do not exist.
    """

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        """Return the organization's integrations by ascending id.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        """Return the number of fields of each of the organization's integrations that has any.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        """Return the integration.

        Raises: IntegrationNotFound if the organization has no such integration.
        """

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        """Store a new integration, and return it.

        Its id is greater than any that the storage has assigned to an integration before.
        Raises: OrganizationNotFound if the organization does not exist.
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
        *,
        author: Author,
        at: datetime,
    ) -> tuple[RecipientField, ...]:
        """Delete the integration and its fields at this time, unless `check` raises.

        Return these fields by ascending id, as `check` receives them. They do not change between
        the call of `check` and the commit. The revision of the catalog increases if there are any,
        and the history records each deletion.
        Raises: IntegrationNotFound if the organization has no such integration.
        """

    def sync(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: SyncPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> SyncPlan:
        """Store the plan that `planner` returns, and return the plan.

        `planner` receives the integration and all fields of its organization by ascending id. These
        do not change between its last call and the commit: a storage may call it again with the
        newest state, and stores the result of the last call. If it raises, nothing is stored and
        the exception is raised.

        The changes of the plan are stored and recorded as `FieldRepository.change` does. Only
        `last_synced_at` of the integration is stored. The revision of the catalog increases if the
        plan changes any field. `at` is the time of the change; the run can have begun long before.
        Raises: IntegrationNotFound if the organization has no such integration.
        """


class OrganizationRepository(Protocol):
    """The organizations."""

    def all(self) -> tuple[Organization, ...]:
        """Return all organizations by ascending id."""

    def get(self, organization_id: OrganizationId, /) -> Organization:
        """Return the organization. Raises: OrganizationNotFound if it does not exist."""

    def add(self, name: str, created_at: datetime, /) -> Organization:
        """Store a new organization with an empty catalog at `Organization.first_revision`.

        Its id is greater than any that the storage has assigned to an organization before. Names
        need not be unique.
        Raises: InvalidOrganization if the name is not one line of 1 to 255 characters.
        """

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        """Store the organization's new name, and return the organization.

        Raises: InvalidOrganization if the name is not one line of 1 to 255 characters; then
        OrganizationNotFound if the organization does not exist.
        """

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        """Delete the organization with everything that it has, unless `check` raises.

        These are its fields, their history, its API keys, integrations, memberships and
        invitations. An administrator without another membership is deleted too, with all sessions
        and links.
        Return the numbers of deleted records, which `check` also receives; each membership counts
        as an administrator.
        The contents do not change between the call of `check` and the commit. Ids are never
        reused. A concurrent call takes effect before the deletion, or does not find the
        organization.
        Raises: OrganizationNotFound if the organization does not exist.
        """


class AdministratorRepository(Protocol):
    """The administrators of all organizations, their one-time links, and invitations.

    An account can belong to several organizations, and exists while it belongs to one. Email
    addresses are unique across organizations, without regard to case. For each organization,
    administrators and invitations that don't belong to it do not exist, except in the methods
    without an organization.

    An invitation is no membership, and has no connection to the account with its email address.
    """

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        """Return the organization's administrators by ascending `email.folded`.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        """Return the administrator.

        Raises: AdministratorNotFound if the organization has no such administrator.
        """

    def find(self, email: EmailAddress, /) -> Administrator | None:
        """Return the administrator with this email address in any organization, or None."""

    def invite(
        self, organization_id: OrganizationId, draft: InvitationDraft, /
    ) -> Invitation | None:
        """Store an invitation, and return it.

        It replaces the organization's invitation for this email address, whose id it keeps. The
        id of a new one is greater than any that the storage has assigned to an invitation before.
        Return None, and store nothing, if the address belongs to an administrator of the
        organization. Accounts of other organizations have no effect, also not on the time that
        the call takes.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def invitations(self, organization_id: OrganizationId, /) -> tuple[Invitation, ...]:
        """Return the organization's invitations by ascending `email.folded`, also expired ones.

        Raises: OrganizationNotFound if the organization does not exist.
        """

    def find_invitation(self, digest: bytes, at: datetime, /) -> Invitation | None:
        """Return the invitation with this digest, or None if there is none or it has expired."""

    def withdraw_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId, /
    ) -> Invitation:
        """Delete the invitation, and return it.

        Raises: InvitationNotFound if the organization has no such invitation.
        """

    def accept_invitation(
        self,
        organization_id: OrganizationId,
        digest: bytes,
        at: datetime,
        password_hash: str | None,
        /,
    ) -> Administrator:
        """Turn an invitation into a membership, and return the administrator.

        If there is no account with the email address, create one at `at`, with this password hash.
        Its id is greater than any that the storage has assigned to an administrator before. An
        existing account keeps the spelling of its address, and a role that it already has in the
        organization. Delete its links and sessions: their holders would have access to the
        organization too. Of concurrent calls for one invitation, one succeeds.
        Raises: LinkNotValid if `find_invitation` does not return an invitation of this
        organization; AdministratorNotFound if the account has another password hash.
        """

    def change_role(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        role: Role,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        """Store the administrator's role, unless `check` raises.

        The organization's administrators do not change between the call of `check` and the commit.
        Raises: AdministratorNotFound if the organization has no such administrator.
        """

    def revoke(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        """Delete the membership and all sessions of the account, unless `check` raises.

        Delete the account and its links too if it has no other membership. Return the
        administrator before the call. The organization's administrators do not change between the
        call of `check` and the commit.
        Raises: AdministratorNotFound if the organization has no such administrator.
        """

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        """Store another hash of the same password. Do nothing unless the stored hash is `old`."""

    def add_link(self, link: Link, /) -> Administrator:
        """Store a link, and return its administrator.

        Delete earlier links of the same account and purpose.

        Raises: AdministratorNotFound if the account does not exist.
        """

    def find_link(self, digest: bytes, at: datetime, /) -> FoundLink | None:
        """Return the link with this SHA-256 digest, or None if there is none or it has expired.

        A link has expired if `expires_at` is `at` or earlier.
        """

    def redeem_link(
        self, digest: bytes, purpose: LinkPurpose, at: datetime, password_hash: str | None, /
    ) -> Administrator:
        """Delete a link, and return its administrator.

        If `password_hash` is not None, store it, and delete all sessions of the account. Of
        concurrent calls for one link, one succeeds.
        Raises: LinkNotValid if `find_link` does not return the link, or if it has another purpose.
        """


class SessionRepository(Protocol):
    """The sessions of all administrators, and the counts of sign-in attempts.

    For each administrator, the sessions of others do not exist, except in `find` and `purge`.
    """

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        """Store a new session that begins at `at`, and return it.

        The user agent is stored as `clean_user_agent` returns it. The id of the session is greater
        than any that the storage has assigned to a session before.
        Raises: AdministratorNotFound if the account does not exist or has another password hash
        than `administrator`. A concurrent change of the account takes effect before this check,
        or deletes the session if it deletes sessions.
        """

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        """Return the session with this SHA-256 digest and its administrator, or None.

        Sessions that are not active any more are returned too. One transaction reads both.
        """

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        """Return the administrator's sessions by ascending id, including inactive ones."""

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        """Set the session's `last_used_at` to `at`.

        Do nothing if it is `at` or later already, or if there is no such session.
        """

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        """Delete the session. Return False if the administrator has no such session."""

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        """Delete all sessions of the administrator, and return their number."""

    def purge(self, at: datetime, /) -> None:
        """Delete the sessions of all administrators that are not active at `at`."""

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        """Store that the session has used the form token with this SHA-256 digest.

        Return True for the first call with these arguments, and False for every other one, or if
        there is no such session. Of concurrent calls, one returns True.
        """

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        """Undo `use_form` with the same arguments. Do nothing if there is no such use."""

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        """Count an attempt of the subject, a SHA-256 digest.

        A subject's window begins with its first attempt, and ends after `window`. Return None if
        this is one of the first `limit` attempts in the window, otherwise the end of the window.
        Concurrent calls can't bypass the limit. Once it is reached, calls in the window only read,
        so that a flood of them costs little. Subjects whose window has ended are deleted.
        """

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        """Undo `count_attempt` with the same arguments.

        Do nothing if the window of that attempt has been replaced, or if it has no more attempts.
        """

    def forget_attempts(self, subject: bytes, /) -> None:
        """Begin a new window for the subject with its next attempt."""


class Storage(Protocol):
    """The repositories of one storage, with shared connections."""

    @property
    def fields(self) -> FieldRepository:
        """The fields."""

    @property
    def history(self) -> HistoryRepository:
        """The history of the fields."""

    @property
    def api_keys(self) -> ApiKeyRepository:
        """The API keys."""

    @property
    def integrations(self) -> IntegrationRepository:
        """The integrations."""

    @property
    def organizations(self) -> OrganizationRepository:
        """The organizations."""

    @property
    def administrators(self) -> AdministratorRepository:
        """The administrators."""

    @property
    def sessions(self) -> SessionRepository:
        """The sessions of administrators."""

    def check(self) -> None:
        """Raise StorageUnavailable unless the storage responds and has the required schema."""

    def close(self) -> None:
        """Close every connection. A second call does nothing."""


@runtime_checkable
class Pooled(Protocol):
    """A storage with a connection pool."""

    @property
    def pool_size(self) -> int:
        """The number of calls that can have a connection at the same time."""

    def pool_use(self) -> Mapping[str, int]:
        """Return the numbers of `open` and `in_use` connections, and of `waiting` calls."""


@runtime_checkable
class CallingThreadStorage(Protocol):
    """A storage over a connection of the calling thread. It must not be used in other threads."""

    @property
    def belongs_to_calling_thread(self) -> Literal[True]:
        """Always true."""


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
        not block writers. Records are read from the storage as they are iterated over. There is no
        deadline for the whole copy.

        Raises: StorageUnavailable, also during the iteration, if the storage fails, stops
        responding, or has a record that breaks a rule of the domain.
        """

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot in one transaction. The storage must be empty.

        Ids, revisions and times stay the same. From then on, each new id is greater than the
        `last_id` of its kind, and than any id that this storage has assigned before. If the
        iteration over the snapshot raises, nothing is stored and the exception is raised. Of
        several concurrent callers, at most one succeeds. There is no deadline for the whole copy.

        Raises: StorageNotEmpty if the storage has an organization, StorageUnavailable if the
        storage fails or stops responding.
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


class PasswordHasher(Protocol):
    """Hashes passwords, slowly, and rates new ones.

    At most two calls of `hash`, `verify` and `is_guessable` run at once in a process. Another call
    waits for up to 2 seconds, and then raises PasswordHashingBusy.
    """

    def hash(self, password: str, /) -> str:
        """Return a salted hash of the password."""

    def verify(self, password_hash: str | None, password: str, /) -> bool:
        """Return whether the hash is of this password.

        If it is None, return False after the same time.
        """

    def needs_rehash(self, password_hash: str, /) -> bool:
        """Return whether the hash has other parameters than new ones."""

    def is_guessable(self, password: str, email: EmailAddress, /) -> bool:
        """Return whether the password is probably among the first 100 million guesses.

        The guesses are those of an attacker who knows the email address of the account. The
        password is not empty, and only its first 32 characters count.
        """


class EspFieldSource(Protocol):
    """The fields of one account of an ESP."""

    def fields(self) -> Iterator[ReportedField]:
        """Return an iterator over all fields that the ESP lists, in the ESP's order.

        Pages are requested as the iterator advances; a list is complete only if the iteration ends
        without an error. A field whose type no recipient field can have is reported as refused.

        Raises: EspUnavailable, during the iteration, if the ESP fails, limits the request rate or
        does not respond in time, after several attempts; EspRefused if it rejects the request or
        its response has no fields.
        """
