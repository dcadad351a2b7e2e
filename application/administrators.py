"""The use cases of administrators: invitations, roles, passwords, sign-in and sessions."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address, ip_network
from math import ceil

from attrs import frozen

from recipient_fields.domain import (
    LINK_LIFETIME,
    MAX_PASSWORD_LENGTH,
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    EmailAddress,
    FoundLink,
    InvalidAdministrator,
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

from .audit import OPERATOR, audit
from .clock import system_clock
from .extras import MissingExtra
from .identifiers import require_ids
from .ports import (
    AdministratorRepository,
    AdministratorsCheck,
    Clock,
    PasswordHasher,
    SessionRepository,
)

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
class Invitation:
    """An administrator, and the token of a link that works once and until `expires_at`.

    Both are None if the administrator has a password already, and so needs no link. The token is
    not stored.
    """

    administrator: Administrator
    token: SecretToken | None
    expires_at: datetime | None


@frozen(kw_only=True)
class SignedIn:
    """A new session. `token.reveal()` returns the text for its cookie, which is not stored."""

    session: Session
    token: SecretToken
    administrator: Administrator


@frozen(kw_only=True)
class AdministratorService:
    """The use cases of administrators and their sessions.

    `by` is the author of a change in the audit log: the email address of an administrator, or
    `OPERATOR`. `address` is the IP address of the client. Every method raises StorageUnavailable if
    the storage fails or does not respond in time. Those that hash passwords raise MissingExtra
    without a `hasher`, and PasswordHashingBusy if the process already hashes two passwords and
    neither ends within 2 seconds.
    """

    administrators: AdministratorRepository
    sessions: SessionRepository
    hasher: PasswordHasher | None = None
    clock: Clock = system_clock

    def invite(
        self, organization_id: OrganizationId, email: str, role: Role, *, by: str
    ) -> Invitation:
        """Give the owner of the email address this role in the organization.

        The invitation has a token unless the administrator has a password. Its link sets one.
        Raises: InvalidAdministrator if the address is invalid; OrganizationNotFound if the
        organization does not exist; LastAdministrator if its last `admin` would become a viewer;
        AdministratorShared if the account belongs to another organization too and `by` is not the
        operator.
        """
        require_ids(organization_id=organization_id)
        address = EmailAddress(email)

        def check(before: tuple[Administrator, ...], after: tuple[Administrator, ...]) -> None:
            require_remaining_admin(organization_id, before, after)
            if by != OPERATOR:
                require_unshared(address, after)

        administrator = self.administrators.grant(
            organization_id, address, role, self.clock(), check
        )
        _note("invited", administrator, by=by, organization=organization_id, role=role.value)
        if administrator.has_password:
            return Invitation(administrator=administrator, token=None, expires_at=None)
        return self._add_link(
            administrator.id, LinkPurpose.SET_PASSWORD, only_unshared=by != OPERATOR
        )

    def list_administrators(self, organization_id: OrganizationId) -> tuple[Administrator, ...]:
        """Return the organization's administrators by email address.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self.administrators.all(organization_id)

    def get_administrator(
        self, organization_id: OrganizationId, administrator_id: AdministratorId
    ) -> Administrator:
        """Return the administrator.

        Raises: AdministratorNotFound if the organization has no such administrator.
        """
        require_ids(organization_id=organization_id, administrator_id=administrator_id)
        return self.administrators.get(organization_id, administrator_id)

    def change_role(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        role: Role,
        *,
        by: str,
    ) -> Administrator:
        """Change the role of an administrator. The next request has the new role.

        Raises: AdministratorNotFound if the organization has no such administrator;
        LastAdministrator if its last `admin` would become a viewer.
        """
        require_ids(organization_id=organization_id, administrator_id=administrator_id)
        administrator = self.administrators.change_role(
            organization_id, administrator_id, role, _keeping_admin(organization_id)
        )
        _note("role changed", administrator, by=by, organization=organization_id, role=role.value)
        return administrator

    def revoke(
        self,
        organization_id: OrganizationId,
        administrator_id: AdministratorId,
        *,
        by: str,
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
        administrator = self.administrators.revoke(organization_id, administrator_id, check)
        _note("revoked", administrator, by=by, organization=organization_id)
        return administrator

    def reset(self, email: str, *, by: str) -> Invitation:
        """Create a link with which the administrator sets another password, in any organization.

        The current password stays valid until the link is used. Only the operator may call this:
        an administrator calls `reset_in`.
        Raises: AdministratorNotFound if there is no such administrator; InvalidAdministrator if the
        address is invalid.
        """
        administrator = self.administrators.find(EmailAddress(email))
        if administrator is None:
            raise AdministratorNotFound
        invitation = self._add_link(administrator.id, LinkPurpose.SET_PASSWORD)
        _note("reset", administrator, by=by)
        return invitation

    def reset_in(
        self, organization_id: OrganizationId, administrator_id: AdministratorId, *, by: str
    ) -> Invitation:
        """Do the same as `reset` for an administrator of this organization only.

        Raises: AdministratorNotFound if the organization has no such administrator;
        AdministratorShared if the account belongs to another organization too.
        """
        administrator = self.get_administrator(organization_id, administrator_id)
        require_unshared(administrator.email, (administrator,))
        invitation = self._add_link(administrator.id, LinkPurpose.SET_PASSWORD, only_unshared=True)
        _note("reset", administrator, by=by)
        return invitation

    def create_sign_in_link(self, administrator_id: AdministratorId) -> Invitation:
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
            self.sessions.forget_attempts(subject)
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
        at, parsed = self.clock(), _parse_email(email)
        limits = _attempt_limits(parsed, address)
        for subject, limit in limits.items():
            self._count_attempt(subject, at, limit, address)
        administrator = None if parsed is None else self.administrators.find(parsed)
        password = normalize_password(password)
        try:
            correct = self._is_password(administrator, password)
        except PasswordHashingBusy:
            for subject in limits:
                self.sessions.uncount_attempt(subject, at, window=ATTEMPT_WINDOW)
            raise
        if administrator is None or not correct:
            _note_failure(administrator, address)
            raise SignInFailed
        try:
            signed_in = self._begin(administrator, user_agent)
        except AdministratorNotFound:
            _note_failure(administrator, address)
            raise SignInFailed from None
        self.sessions.forget_attempts(_pair_subject(administrator.email, address))
        for subject in (_address_subject(address), _account_subject(administrator.email)):
            self.sessions.uncount_attempt(subject, at, window=ATTEMPT_WINDOW)
        _note("signed in", administrator, by=administrator.email.text, address=address)
        self._rehash(administrator, password)
        return signed_in

    def authenticate(self, token: str) -> SignedInAdministrator | None:
        """Return the active session with this token and its administrator, or None.

        Record the use of the session, at most once per minute. Delete a session that is not active.
        """
        parsed = SecretToken.parse(token)
        found = None if parsed is None else self.sessions.find(parsed.digest)
        if found is None:
            return None
        session, now = found.session, self.clock()
        if not session.is_active(now):
            self.sessions.delete(session.administrator_id, session.id)
            return None
        if now - session.last_used_at >= USE_RECORDED_EVERY:
            try:
                self.sessions.record_use(session.id, now)
            except StorageUnavailable as unavailable:
                # A read-only storage can still serve reads, until the session is idle for too long.
                _log.warning("Can't record the use of session %d: %s", session.id, unavailable)
        return found

    def list_sessions(self, administrator_id: AdministratorId) -> tuple[Session, ...]:
        """Return the active sessions of the administrator by ascending id."""
        require_ids(administrator_id=administrator_id)
        now = self.clock()
        sessions = self.sessions.all(administrator_id)
        return tuple(session for session in sessions if session.is_active(now))

    def end_session(self, administrator_id: AdministratorId, session_id: SessionId) -> bool:
        """End a session. Return False if the administrator has no such session."""
        require_ids(administrator_id=administrator_id, session_id=session_id)
        return self.sessions.delete(administrator_id, session_id)

    def end_all_sessions(self, administrator_id: AdministratorId, *, by: str) -> int:
        """End all sessions of the administrator. Return their number."""
        require_ids(administrator_id=administrator_id)
        ended = self.sessions.delete_all(administrator_id)
        facts = {"administrator": administrator_id, "sessions": ended}
        audit("Administrator", "signed out everywhere", by=by, **facts)
        return ended

    def sign_out(self, token: str) -> None:
        """End the session with this token, if there is one."""
        parsed = SecretToken.parse(token)
        found = None if parsed is None else self.sessions.find(parsed.digest)
        if found is not None:
            self.sessions.delete(found.session.administrator_id, found.session.id)

    def use_form(self, session_id: SessionId, token: str) -> bool:
        """Return True for the first use of a form token in the session, otherwise False."""
        require_ids(session_id=session_id)
        parsed = SecretToken.parse(token)
        return parsed is not None and self.sessions.use_form(session_id, parsed.digest)

    def release_form(self, session_id: SessionId, token: str) -> None:
        """Undo `use_form`, because the submission of the form had no effect."""
        require_ids(session_id=session_id)
        parsed = SecretToken.parse(token)
        if parsed is not None:
            self.sessions.release_form(session_id, parsed.digest)

    @property
    def _hashing(self) -> PasswordHasher:
        if self.hasher is None:
            raise MissingExtra("console", "argon2")
        return self.hasher

    def _add_link(
        self,
        administrator_id: AdministratorId,
        purpose: LinkPurpose,
        *,
        only_unshared: bool = False,
    ) -> Invitation:
        token = SecretToken.generate()
        expires_at = self.clock() + LINK_LIFETIME
        link = Link(
            administrator_id=administrator_id,
            purpose=purpose,
            digest=token.digest,
            expires_at=expires_at,
        )
        administrator = self.administrators.add_link(link)
        if only_unshared:
            # Since the caller's check, the account can have joined another organization.
            require_unshared(administrator.email, (administrator,))
        return Invitation(administrator=administrator, token=token, expires_at=link.expires_at)

    def _find_link(self, token: SecretToken) -> FoundLink:
        link = self.administrators.find_link(token.digest, self.clock())
        if link is None:
            raise LinkNotValid
        return link

    def _redeem(
        self, token: SecretToken, purpose: LinkPurpose, password_hash: str | None, user_agent: str
    ) -> SignedIn:
        administrator = self.administrators.redeem_link(
            token.digest, purpose, self.clock(), password_hash
        )
        try:
            return self._begin(administrator, user_agent)
        except AdministratorNotFound:
            raise LinkNotValid from None

    def _begin(self, administrator: Administrator, user_agent: str) -> SignedIn:
        now = self.clock()
        self.sessions.purge(now)
        token = SecretToken.generate()
        session = self.sessions.add(administrator, token.digest, now, user_agent)
        return SignedIn(session=session, token=token, administrator=administrator)

    def _count_attempt(self, subject: bytes, at: datetime, limit: int, address: str) -> None:
        until = self.sessions.count_attempt(subject, at, limit=limit, window=ATTEMPT_WINDOW)
        if until is not None:
            audit("Sign-in", "throttled", by="unknown", address=address)
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
                self.administrators.replace_password_hash(administrator.id, stored, new)


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


def _note(act: str, administrator: Administrator, *, by: str, **facts: object) -> None:
    email = administrator.email.text
    audit("Administrator", act, by=by, administrator=administrator.id, email=email, **facts)


def _note_failure(administrator: Administrator | None, address: str) -> None:
    if administrator is None:
        audit("Sign-in", "failed", by="unknown", address=address)
    else:
        _note("failed to sign in", administrator, by="unknown", address=address)
