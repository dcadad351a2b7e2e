"""The use cases of administrators: invitations, roles, passwords, sign-in and sessions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address, ip_network
from math import ceil

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    LINK_LIFETIME,
    MAX_PASSWORD_LENGTH,
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    Author,
    EmailAddress,
    FoundLink,
    InvalidAdministrator,
    Invitation,
    InvitationDraft,
    InvitationId,
    InvitationNotFound,
    Link,
    LinkNotValid,
    LinkPurpose,
    OrganizationId,
    PasswordHashingBusy,
    Role,
    SecretToken,
    Session,
    SessionId,
    SignedInAdministrator,
    SignInFailed,
    SignInThrottled,
    StorageUnavailable,
    normalize_password,
    require_password,
    require_remaining_admin,
    require_unshared,
)
from recipient_fields.domain.arguments import require_ids, require_type

from ..clock import Clock, system_clock
from ..extras import MissingExtra
from ..ports.accounts import (
    AdministratorRepository,
    AdministratorsCheck,
    PasswordHasher,
    SessionRepository,
)
from .administration import OPERATOR_AUTHOR, audit

__all__ = ["AdministratorService", "IssuedInvitation", "IssuedLink", "SignedIn"]

ATTEMPT_WINDOW = timedelta(minutes=15)
MAX_ATTEMPTS_PER_ADDRESS = 20
"""People behind one NAT share an address."""
MAX_ATTEMPTS_PER_ACCOUNT_AND_ADDRESS = 5
MAX_ATTEMPTS_PER_ACCOUNT = 100
"""It slows attacks from many addresses. To reach it, a stranger needs 20 of them."""
USE_RECORDED_EVERY = timedelta(minutes=1)

_IPV6_SITE_PREFIX = 64
"""Bits. A site has at least so many addresses that counting each would not limit it."""

_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class IssuedInvitation:
    """A new invitation. `token.reveal()` returns the text for its link, which is not stored."""

    invitation: Invitation
    token: SecretToken


@frozen(kw_only=True)
class IssuedLink:
    """A new link of an administrator, which works once, until `expires_at`.

    `token.reveal()` returns its text, which is not stored.
    """

    administrator: Administrator
    token: SecretToken
    expires_at: datetime


@frozen(kw_only=True)
class SignedIn:
    """A new session. `token.reveal()` returns the text for its cookie, which is not stored."""

    session: Session
    token: SecretToken
    administrator: Administrator


@frozen(kw_only=True)
class AdministratorService:
    """The use cases of administrators and their sessions, for one author.

    The audit log has the name of the author. The methods that use a token or a password, such as
    `sign_in`, log the email address of the account instead. `address` is the IP address of the
    client. Every method raises StorageUnavailable if the storage fails or does not respond in time.
    Those that hash passwords raise MissingExtra without a `hasher`, and PasswordHashingBusy if the
    process already hashes two passwords and neither ends within 2 seconds.
    """

    _administrators: AdministratorRepository = field(alias="administrators")
    _sessions: SessionRepository = field(alias="sessions")
    _hasher: PasswordHasher | None = field(default=None, alias="hasher")
    _clock: Clock = field(default=system_clock, alias="clock")
    author: Author = OPERATOR_AUTHOR

    def by(self, author: Author) -> AdministratorService:
        """Return this service for another author."""
        require_type(Author, author=author)
        return evolve(self, author=author)

    def invite(
        self, organization_id: OrganizationId, email: str, role: Role | str
    ) -> IssuedInvitation | Administrator:
        """Invite the owner of the email address to the organization.

        The invitation gives no access: `accept_invitation` does. It replaces an earlier one for
        the address. The result is the same whether or not the address has an account in another
        organization. `role` can be a text, such as "viewer".

        If it belongs to an administrator of this organization, change the role instead, and return
        the administrator.
        Raises: InvalidAdministrator if the address is invalid; ValueError if `role` is the text of
        no role; OrganizationNotFound if the organization does not exist; LastAdministrator if its
        last `admin` would become a viewer.
        """
        require_ids(organization_id=organization_id)
        address, token, at = EmailAddress(email), SecretToken.generate(), self._clock()
        draft = InvitationDraft(
            email=address,
            role=role,
            digest=token.digest,
            created_at=at,
            expires_at=at + LINK_LIFETIME,
        )
        invitation = self._administrators.invite(organization_id, draft)
        if invitation is None:
            member = self._find_member(organization_id, address)
            return self.change_role(organization_id, member.id, role)
        _note_invitation("invited", invitation, by=self.author.name)
        return IssuedInvitation(invitation=invitation, token=token)

    def list_invitations(self, organization_id: OrganizationId) -> tuple[Invitation, ...]:
        """Return the pending invitations by email address, including those with an expired link.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self._administrators.invitations(organization_id)

    def get_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId
    ) -> Invitation:
        """Return the pending invitation.

        Raises: InvitationNotFound if the organization has no such invitation.
        """
        require_ids(organization_id=organization_id, invitation_id=invitation_id)
        for invitation in self._administrators.invitations(organization_id):
            if invitation.id == invitation_id:
                return invitation
        raise InvitationNotFound

    def withdraw_invitation(
        self, organization_id: OrganizationId, invitation_id: InvitationId
    ) -> Invitation:
        """Delete a pending invitation, and return it. Its link does not work any more.

        Raises: InvitationNotFound if the organization has no such invitation.
        """
        require_ids(organization_id=organization_id, invitation_id=invitation_id)
        invitation = self._administrators.withdraw_invitation(organization_id, invitation_id)
        _note_invitation("invitation withdrawn", invitation, by=self.author.name)
        return invitation

    def find_invitation(self, token: str) -> Invitation:
        """Return the invitation with this token, without accepting it.

        Raises: LinkNotValid if it was accepted, replaced or withdrawn, has expired, or never
        existed.
        """
        invitation = self._administrators.find_invitation(_parse_token(token).digest, self._clock())
        if invitation is None:
            raise LinkNotValid
        return invitation

    def accept_invitation(
        self, token: str, password: str, *, address: str, user_agent: str
    ) -> SignedIn:
        """Use an invitation's link and a password to get its role, and begin a session.

        If the email address has an account, the password must be that of the account, because the
        inviting organization has the link, too. Otherwise it becomes the password of a new account.
        End all other sessions of the account. Attempts count as those of `sign_in`.
        Raises: LinkNotValid, as `find_invitation` does; InvalidAdministrator if the password
        breaks a rule, with the path `password`; SignInFailed if the account has another password;
        SignInThrottled, as `sign_in` does.
        """
        invitation = self.find_invitation(token)
        email, organization_id = invitation.email, invitation.organization_id
        # Before the account is read, so that a rejected password does not reveal whether it exists.
        accepted = require_password(password, email, is_guessable=self._hashing.is_guessable)
        with self._attempt(email, address):
            account = self._administrators.find(email)
            if not self._is_password(account, accepted) and account is not None:
                _note_failure(account, address)
                raise SignInFailed
            password_hash = (
                self._hashing.hash(accepted) if account is None else account.password_hash
            )
            try:
                administrator = self._administrators.accept_invitation(
                    organization_id, invitation.digest, self._clock(), password_hash
                )
                signed_in = self._begin(administrator, user_agent)
            except AdministratorNotFound:  # Another request has created or changed the account.
                _note_failure(account, address)
                raise SignInFailed from None
        facts = {"organization": organization_id, "role": invitation.role.value, "address": address}
        _note("accepted an invitation", administrator, by=administrator.email.text, **facts)
        return signed_in

    def list_administrators(self, organization_id: OrganizationId) -> tuple[Administrator, ...]:
        """Return the organization's administrators by email address.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self._administrators.all(organization_id)

    def find_administrator(self, email: str) -> Administrator | None:
        """Return the account with this email address, in any organization, or None.

        Raises: InvalidAdministrator if it is no email address.
        """
        return self._administrators.find(EmailAddress(email))

    def get_administrator(
        self, organization_id: OrganizationId, administrator_id: AdministratorId
    ) -> Administrator:
        """Return the administrator.

        Raises: AdministratorNotFound if the organization has no such administrator.
        """
        require_ids(organization_id=organization_id, administrator_id=administrator_id)
        return self._administrators.get(organization_id, administrator_id)

    def change_role(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        role: Role | str,
    ) -> Administrator:
        """Change the role of an administrator. The next request has the new role.

        `role` can be a text, such as "viewer".
        Raises: ValueError if `role` is the text of no role; AdministratorNotFound if the
        organization has no such administrator; LastAdministrator if its last `admin` would become a
        viewer.
        """
        require_ids(organization_id=organization_id, administrator_id=administrator_id)
        role = Role(role)
        administrator = self._administrators.change_role(
            organization_id, administrator_id, role, _keeping_admin(organization_id)
        )
        facts = {"organization": organization_id, "role": role.value}
        _note("role changed", administrator, by=self.author.name, **facts)
        return administrator

    def revoke(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        *,
        keep_last: bool = False,
    ) -> Administrator:
        """Remove an administrator from the organization, and end all sessions of the account.

        The account is deleted if it belongs to no other organization. Return the administrator
        before the call.
        Raises: AdministratorNotFound if the organization has no such administrator;
        LastAdministrator if `keep_last` is true and this is its last `admin`.
        """
        require_ids(organization_id=organization_id, administrator_id=administrator_id)
        check = _keeping_admin(organization_id) if keep_last else _permit
        administrator = self._administrators.revoke(organization_id, administrator_id, check)
        _note("revoked", administrator, by=self.author.name, organization=organization_id)
        return administrator

    def reset(self, email: str) -> IssuedLink:
        """Create a link with which the administrator sets another password, in any organization.

        The current password stays valid until the link is used. Only the operator may call this:
        an administrator calls `reset_in`.
        Raises: AdministratorNotFound if there is no such administrator; InvalidAdministrator if the
        address is invalid.
        """
        administrator = self._administrators.find(EmailAddress(email))
        if administrator is None:
            raise AdministratorNotFound
        invitation = self._add_link(administrator.id, LinkPurpose.SET_PASSWORD)
        _note("reset", administrator, by=self.author.name)
        return invitation

    def reset_in(
        self, organization_id: OrganizationId, administrator_id: AdministratorId
    ) -> IssuedLink:
        """Do the same as `reset` for an administrator of this organization only.

        Raises: AdministratorNotFound if the organization has no such administrator;
        AdministratorShared if the account belongs to another organization too.
        """
        administrator = self.get_administrator(organization_id, administrator_id)
        require_unshared(administrator)
        invitation = self._add_link(administrator.id, LinkPurpose.SET_PASSWORD, only_unshared=True)
        _note("reset", administrator, by=self.author.name)
        return invitation

    def create_sign_in_link(self, administrator_id: AdministratorId) -> IssuedLink:
        """Create a link that signs the administrator in without a password.

        Raises: AdministratorNotFound if the account does not exist.
        """
        require_ids(administrator_id=administrator_id)
        return self._add_link(administrator_id, LinkPurpose.SIGN_IN)

    def find_link(self, token: str) -> FoundLink:
        """Return the link, without using it.

        Raises: LinkNotValid if it was used or replaced, has expired, or never existed.
        """
        return self._find_link(_parse_token(token))

    def set_password(self, token: str, password: str, *, address: str, user_agent: str) -> SignedIn:
        """Use a link to set a password, end all sessions of the account, and begin a new one.

        Forget the failed attempts to sign in to the account from this address, and those from all
        addresses together.
        Raises: LinkNotValid if the link does not set passwords, or as `find_link` does;
        InvalidAdministrator if the password breaks a rule, with the path `password`.
        """
        parsed = _parse_token(token)
        link = self._find_link(parsed)
        if link.purpose is not LinkPurpose.SET_PASSWORD:
            raise LinkNotValid
        email = link.administrator.email
        accepted = require_password(password, email, is_guessable=self._hashing.is_guessable)
        signed_in = self._redeem(parsed, link.purpose, self._hashing.hash(accepted), user_agent)
        for subject in (_account_subject(email), _pair_subject(email, address)):
            self._sessions.forget_attempts(subject)
        _note("set a password", signed_in.administrator, by=email.text)
        return signed_in

    def sign_in_with_link(self, token: str, *, user_agent: str) -> SignedIn:
        """Use a link of `create_sign_in_link`, and begin a session.

        Raises: LinkNotValid if the link does not sign in, or as `find_link` does.
        """
        signed_in = self._redeem(_parse_token(token), LinkPurpose.SIGN_IN, None, user_agent)
        administrator = signed_in.administrator
        _note("signed in with a link", administrator, by=administrator.email.text)
        return signed_in

    def sign_in(self, email: str, password: str, *, address: str, user_agent: str) -> SignedIn:
        """Begin a session.

        Attempts in progress count as failed, so concurrent ones can't exceed the limits.
        Raises: SignInThrottled after 20 failed attempts from an address (of IPv6: from a /64
        network), 5 for an account from one address, or 100 for an account, within 15 minutes;
        SignInFailed if the email address or the password is wrong, after the same time for each
        reason.
        """
        parsed, password = _parse_email(email), normalize_password(password)
        with self._attempt(parsed, address):
            administrator = None if parsed is None else self._administrators.find(parsed)
            if not self._is_password(administrator, password) or administrator is None:
                _note_failure(administrator, address)
                raise SignInFailed
            try:
                signed_in = self._begin(administrator, user_agent)
            except AdministratorNotFound:
                _note_failure(administrator, address)
                raise SignInFailed from None
        _note("signed in", administrator, by=administrator.email.text, address=address)
        self._rehash(administrator, password)
        return signed_in

    def authenticate(self, token: str) -> SignedInAdministrator | None:
        """Return the active session with this token and its administrator, or None.

        Record the use of the session, at most once per minute. Delete a session that is not active.
        """
        parsed = SecretToken.parse(token)
        found = None if parsed is None else self._sessions.find(parsed.digest)
        if found is None:
            return None
        session, now = found.session, self._clock()
        if not session.is_active(now):
            self._sessions.delete(session.administrator_id, session.id)
            return None
        if now - session.last_used_at >= USE_RECORDED_EVERY:
            try:
                self._sessions.record_use(session.id, now)
            except StorageUnavailable as unavailable:
                # A read-only storage can still serve reads, until the session is idle for too long.
                _log.warning("Can't record the use of session %d: %s", session.id, unavailable)
        return found

    def list_sessions(self, administrator_id: AdministratorId) -> tuple[Session, ...]:
        """Return the active sessions of the administrator by ascending id."""
        require_ids(administrator_id=administrator_id)
        now = self._clock()
        sessions = self._sessions.all(administrator_id)
        return tuple(session for session in sessions if session.is_active(now))

    def end_session(self, administrator_id: AdministratorId, session_id: SessionId) -> bool:
        """End a session. Return False if the administrator has no such session."""
        require_ids(administrator_id=administrator_id, session_id=session_id)
        return self._sessions.delete(administrator_id, session_id)

    def end_all_sessions(self, administrator_id: AdministratorId) -> int:
        """End all sessions of the administrator. Return their number."""
        require_ids(administrator_id=administrator_id)
        ended = self._sessions.delete_all(administrator_id)
        facts = {"administrator": administrator_id, "sessions": ended}
        audit("Administrator", "signed out everywhere", by=self.author.name, **facts)
        return ended

    def sign_out(self, token: str) -> None:
        """End the session with this token, if there is one."""
        parsed = SecretToken.parse(token)
        found = None if parsed is None else self._sessions.find(parsed.digest)
        if found is not None:
            self._sessions.delete(found.session.administrator_id, found.session.id)

    def use_form(self, session_id: SessionId, token: str) -> bool:
        """Return True for the first use of a form token in the session, otherwise False."""
        require_ids(session_id=session_id)
        parsed = SecretToken.parse(token)
        return parsed is not None and self._sessions.use_form(session_id, parsed.digest)

    def release_form(self, session_id: SessionId, token: str) -> None:
        """Undo `use_form`, because the submission of the form had no effect."""
        require_ids(session_id=session_id)
        parsed = SecretToken.parse(token)
        if parsed is not None:
            self._sessions.release_form(session_id, parsed.digest)

    @property
    def _hashing(self) -> PasswordHasher:
        if self._hasher is None:
            raise MissingExtra("console", "argon2")
        return self._hasher

    def _find_member(self, organization_id: OrganizationId, email: EmailAddress) -> Administrator:
        for administrator in self._administrators.all(organization_id):
            if administrator.email == email:
                return administrator
        raise AdministratorNotFound

    def _add_link(
        self,
        administrator_id: AdministratorId,
        purpose: LinkPurpose,
        *,
        only_unshared: bool = False,
    ) -> IssuedLink:
        token = SecretToken.generate()
        expires_at = self._clock() + LINK_LIFETIME
        link = Link(
            administrator_id=administrator_id,
            purpose=purpose,
            digest=token.digest,
            expires_at=expires_at,
        )
        administrator = self._administrators.add_link(link)
        if only_unshared:
            # Since the caller's check, the account can have joined another organization.
            require_unshared(administrator)
        return IssuedLink(administrator=administrator, token=token, expires_at=link.expires_at)

    def _find_link(self, token: SecretToken) -> FoundLink:
        link = self._administrators.find_link(token.digest, self._clock())
        if link is None:
            raise LinkNotValid
        return link

    def _redeem(
        self, token: SecretToken, purpose: LinkPurpose, password_hash: str | None, user_agent: str
    ) -> SignedIn:
        administrator = self._administrators.redeem_link(
            token.digest, purpose, self._clock(), password_hash
        )
        try:
            return self._begin(administrator, user_agent)
        except AdministratorNotFound:
            raise LinkNotValid from None

    def _begin(self, administrator: Administrator, user_agent: str) -> SignedIn:
        now = self._clock()
        self._sessions.purge(now)
        token = SecretToken.generate()
        session = self._sessions.add(administrator, token.digest, now, user_agent)
        return SignedIn(session=session, token=token, administrator=administrator)

    @contextmanager
    def _attempt(self, email: EmailAddress | None, address: str) -> Iterator[None]:
        """Count an attempt to sign in, which fails if the block raises.

        It does not count if the block raises PasswordHashingBusy.
        """
        at, limits = self._clock(), _attempt_limits(email, address)
        for subject, limit in limits.items():
            self._count_attempt(subject, at, limit, address)
        try:
            yield
        except PasswordHashingBusy:
            for subject in limits:
                self._sessions.uncount_attempt(subject, at, window=ATTEMPT_WINDOW)
            raise
        if email is not None:
            self._sessions.forget_attempts(_pair_subject(email, address))
            for subject in (_address_subject(address), _account_subject(email)):
                self._sessions.uncount_attempt(subject, at, window=ATTEMPT_WINDOW)

    def _count_attempt(self, subject: bytes, at: datetime, limit: int, address: str) -> None:
        until = self._sessions.count_attempt(subject, at, limit=limit, window=ATTEMPT_WINDOW)
        if until is not None:
            audit("Sign-in", "throttled", by=None, address=address)
            raise SignInThrottled(max(1, ceil((until - at).total_seconds())))

    def _is_password(self, administrator: Administrator | None, password: str) -> bool:
        """Return whether the normalized password is the administrator's.

        It takes the same time if there is no administrator, or no password.
        """
        stored = None if administrator is None else administrator.password_hash
        if len(password) > MAX_PASSWORD_LENGTH:
            stored, password = None, ""
        return self._hashing.verify(stored, password)

    def _rehash(self, administrator: Administrator, password: str) -> None:
        """Store a hash with the current parameters if the stored one has others."""
        stored = administrator.password_hash
        if stored is not None and self._hashing.needs_rehash(stored):
            with suppress(PasswordHashingBusy):  # The next sign-in tries again.
                new = self._hashing.hash(password)
                self._administrators.replace_password_hash(administrator.id, stored, new)


def _keeping_admin(organization_id: OrganizationId) -> AdministratorsCheck:
    def check(before: tuple[Administrator, ...], after: tuple[Administrator, ...]) -> None:
        require_remaining_admin(organization_id, before, after)

    return check


def _permit(_before: tuple[Administrator, ...], _after: tuple[Administrator, ...]) -> None:
    pass


def _parse_token(token: str) -> SecretToken:
    parsed = SecretToken.parse(token)
    if parsed is None:
        raise LinkNotValid
    return parsed


def _parse_email(text: str) -> EmailAddress | None:
    try:
        return EmailAddress(text)
    except InvalidAdministrator:
        return None


def _attempt_limits(email: EmailAddress | None, address: str) -> dict[bytes, int]:
    """Return the limit of each subject, in the order in which they count an attempt.

    A subject after one that has reached its limit does not count the attempt. So an address counts
    at most 5 attempts for an account.
    """
    limits = {_address_subject(address): MAX_ATTEMPTS_PER_ADDRESS}
    if email is not None:
        limits[_pair_subject(email, address)] = MAX_ATTEMPTS_PER_ACCOUNT_AND_ADDRESS
        limits[_account_subject(email)] = MAX_ATTEMPTS_PER_ACCOUNT
    return limits


def _account_subject(email: EmailAddress) -> bytes:
    return _subject("account", email.folded)


def _address_subject(address: str) -> bytes:
    return _subject("address", _network(address))


def _pair_subject(email: EmailAddress, address: str) -> bytes:
    # An email address has no spaces.
    return _subject("pair", f"{email.folded} {_network(address)}")


def _subject(kind: str, text: str) -> bytes:
    return sha256(f"{kind}:{text}".encode()).digest()


def _network(address: str) -> str:
    """Return the address, or the site's network of an IPv6 address."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return str(ip)
    mapped = ip.ipv4_mapped
    return str(mapped or ip_network((ip, _IPV6_SITE_PREFIX), strict=False))


def _note(act: str, administrator: Administrator, *, by: str | None, **facts: object) -> None:
    email = administrator.email.text
    audit("Administrator", act, by=by, administrator=administrator.id, email=email, **facts)


def _note_invitation(act: str, invitation: Invitation, *, by: str | None) -> None:
    audit(
        "Administrator",
        act,
        by=by,
        email=invitation.email.text,
        organization=invitation.organization_id,
        role=invitation.role.value,
    )


def _note_failure(administrator: Administrator | None, address: str) -> None:
    if administrator is None:
        audit("Sign-in", "failed", by=None, address=address)
    else:
        _note("failed to sign in", administrator, by=None, address=address)
