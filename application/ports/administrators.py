"""The port of administrators, who sign in to the console."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias

from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    EmailAddress,
    FoundLink,
    Invitation,
    InvitationDraft,
    InvitationId,
    Link,
    LinkPurpose,
    OrganizationId,
    Role,
)

__all__ = ["AdministratorRepository", "AdministratorsCheck"]

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
