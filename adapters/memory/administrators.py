"""The administrators in memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import RLock

from attrs import Factory, asdict, define, evolve

from recipient_fields.application import AdministratorRepository, AdministratorsCheck
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    EmailAddress,
    FoundLink,
    Invitation,
    InvitationDraft,
    InvitationId,
    InvitationNotFound,
    Link,
    LinkNotValid,
    LinkPurpose,
    Membership,
    OrganizationId,
    Role,
)

from .catalogs import Catalogs
from .records import OwnedTable, Table


@define(slots=False, eq=False)
class MemoryAdministratorRepository(AdministratorRepository):
    """The administrators and invitations in memory, by id."""

    _lock: RLock
    _catalogs: Catalogs
    _accounts: Table[Administrator]
    _end_sessions: Callable[[AdministratorId], object]
    _links: dict[tuple[AdministratorId, LinkPurpose], Link] = Factory(dict)
    _invitations: OwnedTable[Invitation] = Factory(lambda: OwnedTable(InvitationNotFound))

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        with self._lock:
            self._catalogs.get(organization_id)
            everyone = self._accounts.rows.values()
            members = (each for each in everyone if each.role_in(organization_id) is not None)
            return tuple(sorted(members, key=lambda each: each.email.folded))

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        with self._lock:
            administrator = self._accounts.rows.get(administrator_id)
        if administrator is None or administrator.role_in(organization_id) is None:
            raise AdministratorNotFound
        return administrator

    def find(self, email: EmailAddress, /) -> Administrator | None:
        with self._lock:
            everyone = self._accounts.rows.values()
            return next((each for each in everyone if each.email == email), None)

    def invite(
        self, organization_id: OrganizationId, draft: InvitationDraft, /
    ) -> Invitation | None:
        with self._lock:
            if any(each.email == draft.email for each in self.all(organization_id)):
                return None
            replaced = [
                each.id for each in self.invitations(organization_id) if each.email == draft.email
            ]
            invitation = Invitation(
                id=replaced[0] if replaced else InvitationId(self._invitations.assign_id()),
                organization_id=organization_id,
                **asdict(draft, recurse=False),
            )
            return self._invitations.put(invitation)

    def invitations(self, organization_id: OrganizationId, /) -> tuple[Invitation, ...]:
        with self._lock:
            self._catalogs.get(organization_id)
            invitations = self._invitations.of(organization_id)
            return tuple(sorted(invitations, key=lambda each: each.email.folded))

    def find_invitation(self, digest: bytes, at: datetime, /) -> Invitation | None:
        with self._lock:
            valid = (each for each in self._invitations.rows.values() if not each.is_expired(at))
            return next((each for each in valid if each.digest == digest), None)

    def withdraw_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId, /
    ) -> Invitation:
        with self._lock:
            invitation = self._invitations.get(organization_id, invitation_id)
            self._invitations.delete(invitation)
            return invitation

    def accept_invitation(
        self,
        organization_id: OrganizationId,
        digest: bytes,
        at: datetime,
        password_hash: str | None,
        /,
    ) -> Administrator:
        with self._lock:
            invitation = self.find_invitation(digest, at)
            if invitation is None or invitation.organization_id != organization_id:
                raise LinkNotValid
            found = self.find(invitation.email)
            if found is not None and found.password_hash != password_hash:
                raise AdministratorNotFound
            if found is None:
                administrator = Administrator(
                    id=AdministratorId(self._accounts.assign_id()),
                    email=invitation.email,
                    password_hash=password_hash,
                    created_at=at,
                    memberships=(Membership(organization_id, invitation.role),),
                )
            else:
                administrator = found.joining(invitation)
            self._invitations.delete(invitation)
            self._end(administrator.id)
            return self._accounts.put(administrator)

    def change_role(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        role: Role,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        with self._lock:
            administrator = self.get(organization_id, administrator_id)
            changed = administrator.with_role(organization_id, role)
            before = self.all(organization_id)
            check(before, (*(each for each in before if each.id != changed.id), changed))
            return self._accounts.put(changed)

    def revoke(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        check: AdministratorsCheck,
        /,
    ) -> Administrator:
        with self._lock:
            administrator = self.get(organization_id, administrator_id)
            before = self.all(organization_id)
            check(before, tuple(each for each in before if each.id != administrator_id))
            self._remove(organization_id, administrator)
            self._end_sessions(administrator_id)
            return administrator

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        with self._lock:
            administrator = self._accounts.rows.get(administrator_id)
            if administrator is not None and administrator.password_hash == old:
                self._accounts.put(evolve(administrator, password_hash=new))

    def add_link(self, link: Link, /) -> Administrator:
        with self._lock:
            administrator = self._accounts.rows.get(link.administrator_id)
            if administrator is None:
                raise AdministratorNotFound
            self._links[administrator.id, link.purpose] = link
            return administrator

    def find_link(self, digest: bytes, at: datetime, /) -> FoundLink | None:
        with self._lock:
            valid = (each for each in self._links.values() if at < each.expires_at)
            link = next((each for each in valid if each.digest == digest), None)
            if link is None:
                return None
            return FoundLink(
                administrator=self._accounts.rows[link.administrator_id],
                purpose=link.purpose,
                expires_at=link.expires_at,
            )

    def redeem_link(
        self, digest: bytes, purpose: LinkPurpose, at: datetime, password_hash: str | None, /
    ) -> Administrator:
        with self._lock:
            link = self.find_link(digest, at)
            if link is None or link.purpose is not purpose:
                raise LinkNotValid
            administrator = link.administrator
            del self._links[administrator.id, purpose]
            if password_hash is not None:
                administrator = evolve(administrator, password_hash=password_hash)
                self._accounts.put(administrator)
                self._end_sessions(administrator.id)
            return administrator

    def delete_of(self, organization_id: OrganizationId) -> None:
        """Delete all memberships and invitations of the organization."""
        for administrator in self.all(organization_id):
            self._remove(organization_id, administrator)
        self._invitations.delete_of(organization_id)

    def _remove(self, organization_id: OrganizationId, administrator: Administrator) -> None:
        """Delete the membership, and the account if it has no other one."""
        remaining = administrator.without(organization_id)
        if remaining is not None:
            self._accounts.put(remaining)
        else:
            del self._accounts.rows[administrator.id]
            self._end(administrator.id)

    def _end(self, administrator_id: AdministratorId) -> None:
        """Delete the links and the sessions of the account."""
        for purpose in LinkPurpose:
            self._links.pop((administrator_id, purpose), None)
        self._end_sessions(administrator_id)
