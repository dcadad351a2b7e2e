"""The administrators and their sessions in memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from threading import RLock

from attrs import asdict, define, evolve

from recipient_fields.application import (
    AdministratorRepository,
    AdministratorsCheck,
    Records,
    SessionRepository,
)
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
    Session,
    SessionId,
    SignedInAdministrator,
)

from .records import Ids, Organizations


@define
class _Account:
    """An administrator with everything that is deleted with it."""

    administrator: Administrator
    links: dict[LinkPurpose, Link]
    sessions: dict[SessionId, Session]
    forms: dict[SessionId, set[bytes]]

    def end_sessions(self) -> None:
        self.sessions.clear()
        self.forms.clear()


class MemoryAdministratorRepository(AdministratorRepository):
    """The administrators and invitations in memory, by id."""

    def __init__(self, lock: RLock, organizations: Organizations) -> None:
        self._lock = lock
        self._organizations = organizations
        self._ids = Ids()
        self._accounts: dict[AdministratorId, _Account] = {}
        self._invitation_ids = Ids()
        self._invitations: dict[InvitationId, Invitation] = {}

    def all(self, organization_id: OrganizationId, /) -> tuple[Administrator, ...]:
        with self._lock:
            self._organizations.get(organization_id)
            everyone = (account.administrator for account in self._accounts.values())
            members = (each for each in everyone if each.role_in(organization_id) is not None)
            return tuple(sorted(members, key=lambda each: each.email.folded))

    def get(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, /
    ) -> Administrator:
        with self._lock:
            account = self.account(administrator_id)
        if account is None or account.administrator.role_in(organization_id) is None:
            raise AdministratorNotFound
        return account.administrator

    def find(self, email: EmailAddress, /) -> Administrator | None:
        with self._lock:
            for account in self._accounts.values():
                if account.administrator.email == email:
                    return account.administrator
            return None

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
                id=replaced[0] if replaced else InvitationId(self._invitation_ids.assign()),
                organization_id=organization_id,
                **asdict(draft, recurse=False),
            )
            self._invitations[invitation.id] = invitation
            return invitation

    def invitations(self, organization_id: OrganizationId, /) -> tuple[Invitation, ...]:
        with self._lock:
            self._organizations.get(organization_id)
            everyone = self._invitations.values()
            ours = (each for each in everyone if each.organization_id == organization_id)
            return tuple(sorted(ours, key=lambda each: each.email.folded))

    def find_invitation(self, digest: bytes, at: datetime, /) -> Invitation | None:
        with self._lock:
            for invitation in self._invitations.values():
                if invitation.digest == digest and not invitation.is_expired(at):
                    return invitation
            return None

    def withdraw_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId, /
    ) -> Invitation:
        with self._lock:
            invitation = self._invitations.get(invitation_id)
            if invitation is None or invitation.organization_id != organization_id:
                raise InvitationNotFound
            del self._invitations[invitation_id]
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
                    id=AdministratorId(self._ids.assign()),
                    email=invitation.email,
                    password_hash=password_hash,
                    created_at=at,
                    memberships=(Membership(organization_id, invitation.role),),
                )
            else:
                administrator = found.joining(invitation)
            del self._invitations[invitation.id]
            self._accounts[administrator.id] = _Account(administrator, {}, {}, {})
            return administrator

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
            self._accounts[changed.id].administrator = changed
            return changed

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
            account = self.account(administrator_id)
            if account is not None:
                account.end_sessions()
            return administrator

    def replace_password_hash(
        self, administrator_id: AdministratorId, old: str, new: str, /
    ) -> None:
        with self._lock:
            account = self.account(administrator_id)
            if account is not None and account.administrator.password_hash == old:
                account.administrator = evolve(account.administrator, password_hash=new)

    def add_link(self, link: Link, /) -> Administrator:
        with self._lock:
            account = self.account(link.administrator_id)
            if account is None:
                raise AdministratorNotFound
            account.links[link.purpose] = link
            return account.administrator

    def find_link(self, digest: bytes, at: datetime, /) -> FoundLink | None:
        with self._lock:
            for account in self._accounts.values():
                for link in account.links.values():
                    if link.digest == digest and at < link.expires_at:
                        return FoundLink(
                            administrator=account.administrator,
                            purpose=link.purpose,
                            expires_at=link.expires_at,
                        )
            return None

    def redeem_link(
        self, digest: bytes, purpose: LinkPurpose, at: datetime, password_hash: str | None, /
    ) -> Administrator:
        with self._lock:
            link = self.find_link(digest, at)
            if link is None or link.purpose is not purpose:
                raise LinkNotValid
            account = self._accounts[link.administrator.id]
            del account.links[purpose]
            if password_hash is not None:
                account.administrator = evolve(link.administrator, password_hash=password_hash)
                account.end_sessions()
            return account.administrator

    def account(self, administrator_id: AdministratorId) -> _Account | None:
        """Return the account of the administrator, or None. The caller holds the lock."""
        return self._accounts.get(administrator_id)

    def accounts(self) -> Iterable[_Account]:
        """Return all accounts. The caller holds the lock."""
        return self._accounts.values()

    def delete_all(self, organization_id: OrganizationId) -> None:
        """Delete all memberships and invitations of the organization."""
        for administrator in self.all(organization_id):
            self._remove(organization_id, administrator)
        for invitation in self.invitations(organization_id):
            del self._invitations[invitation.id]

    def records(self) -> Records[Administrator]:
        """Return the administrators of all organizations."""
        return self._ids.records(account.administrator for account in self._accounts.values())

    def load(self, administrators: Iterable[Administrator], last_id: int) -> None:
        """Replace all administrators by these."""
        self._ids.skip_to(last_id)
        self._accounts = {each.id: _Account(each, {}, {}, {}) for each in administrators}

    def _remove(self, organization_id: OrganizationId, administrator: Administrator) -> None:
        """Delete the membership, and the account if it has no other one."""
        remaining = administrator.without(organization_id)
        if remaining is None:
            del self._accounts[administrator.id]
        else:
            self._accounts[administrator.id].administrator = remaining


class MemorySessionRepository(SessionRepository):
    """The sessions in memory, with the accounts to which they belong."""

    def __init__(self, lock: RLock, administrators: MemoryAdministratorRepository) -> None:
        self._lock = lock
        self._administrators = administrators
        self._ids = Ids()
        self._attempts: dict[bytes, tuple[datetime, int]] = {}
        """The end of the window and the number of attempts, by subject."""

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        with self._lock:
            account = self._administrators.account(administrator.id)
            if (
                account is None
                or account.administrator.password_hash != administrator.password_hash
            ):
                raise AdministratorNotFound
            session = Session(
                id=SessionId(self._ids.assign()),
                administrator_id=administrator.id,
                digest=digest,
                created_at=at,
                last_used_at=at,
                user_agent=user_agent,
            )
            account.sessions[session.id] = session
            return session

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        with self._lock:
            for account in self._administrators.accounts():
                for session in account.sessions.values():
                    if session.digest == digest:
                        return SignedInAdministrator(session, account.administrator)
            return None

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        with self._lock:
            account = self._administrators.account(administrator_id)
            return () if account is None else tuple(account.sessions.values())

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        with self._lock:
            for account in self._administrators.accounts():
                session = account.sessions.get(session_id)
                if session is not None and session.last_used_at < at:
                    account.sessions[session_id] = evolve(session, last_used_at=at)

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        with self._lock:
            account = self._administrators.account(administrator_id)
            if account is None or session_id not in account.sessions:
                return False
            del account.sessions[session_id]
            account.forms.pop(session_id, None)
            return True

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        with self._lock:
            account = self._administrators.account(administrator_id)
            if account is None:
                return 0
            ended = len(account.sessions)
            account.end_sessions()
            return ended

    def purge(self, at: datetime, /) -> None:
        with self._lock:
            for account in self._administrators.accounts():
                for session in tuple(account.sessions.values()):
                    if not session.is_active(at):
                        self.delete(session.administrator_id, session.id)

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        with self._lock:
            for account in self._administrators.accounts():
                if session_id in account.sessions:
                    used = account.forms.setdefault(session_id, set())
                    if digest in used:
                        return False
                    used.add(digest)
                    return True
            return False

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        with self._lock:
            for account in self._administrators.accounts():
                account.forms.get(session_id, set()).discard(digest)

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        with self._lock:
            end, attempts = self._attempts.get(subject, (at, 0))
            if end <= at:
                self._attempts = {s: a for s, a in self._attempts.items() if a[0] > at}
                end, attempts = at + window, 0
            if attempts >= limit:
                return end
            self._attempts[subject] = end, attempts + 1
            return None

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        with self._lock:
            end, attempts = self._attempts.get(subject, (at, 0))
            if attempts > 0 and end <= at + window:
                self._attempts[subject] = end, attempts - 1

    def forget_attempts(self, subject: bytes, /) -> None:
        with self._lock:
            self._attempts.pop(subject, None)
