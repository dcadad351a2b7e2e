"""The ports for organizations, API keys, administrators and their sessions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    ApiKey,
    ApiKeyId,
    Credential,
    EmailAddress,
    FoundKey,
    FoundLink,
    Invitation,
    InvitationDraft,
    InvitationId,
    KeyGrant,
    Link,
    LinkPurpose,
    Organization,
    OrganizationContents,
    OrganizationId,
    Rejection,
    Role,
    Session,
    SessionId,
    SignedInAdministrator,
)

__all__ = [
    "AdministratorRepository",
    "AdministratorsCheck",
    "ApiKeyRepository",
    "KeyChange",
    "KeySuccession",
    "KeyValidator",
    "OrganizationCheck",
    "OrganizationRepository",
    "PasswordHasher",
    "SessionRepository",
]

OrganizationCheck: TypeAlias = Callable[[OrganizationContents], None]
"""Raise if an organization with these contents may not be deleted."""


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


AdministratorsCheck: TypeAlias = Callable[
    [tuple[Administrator, ...], tuple[Administrator, ...]], None
]
"""Raise if an organization's administrators may not change from the first to the second.

It has no side effects. The order of the second is not defined."""


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
