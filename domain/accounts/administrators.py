"""Administrators of the console: accounts, roles, passwords, sessions, links and their tokens."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from hashlib import sha256

from attrs import Attribute, evolve, field, frozen

from ..arguments import require_type
from ..choices import Choice
from ..errors import InvalidAdministrator, Rule, Violation
from ..identity import AdministratorId, InvitationId, OrganizationId, SessionId
from ..instants import whole_milliseconds
from ..text import (
    MAX_LINE_LENGTH,
    fold_case,
    length_violation,
    normalize_line,
    normalize_nfc,
    to_line,
)
from .errors import AdministratorShared, LastAdministrator

__all__ = [
    "IDLE_TIMEOUT",
    "LINK_LIFETIME",
    "MAX_EMAIL_LENGTH",
    "MAX_PASSWORD_LENGTH",
    "MAX_SESSION_AGE",
    "MIN_PASSWORD_LENGTH",
    "Administrator",
    "EmailAddress",
    "FoundLink",
    "Invitation",
    "InvitationDraft",
    "Link",
    "LinkPurpose",
    "Membership",
    "Role",
    "SecretToken",
    "Session",
    "SignedInAdministrator",
    "clean_user_agent",
    "normalize_password",
    "require_password",
    "require_remaining_admin",
    "require_unshared",
]

MAX_EMAIL_LENGTH = 254
"""RFC 5321 limits a path to 256 octets, and two of them are its angle brackets."""

MIN_PASSWORD_LENGTH = 12
MAX_PASSWORD_LENGTH = 1_024

IDLE_TIMEOUT = timedelta(minutes=30)
MAX_SESSION_AGE = timedelta(hours=12)
LINK_LIFETIME = timedelta(hours=24)

_TOKEN_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def _parse_email(text: str) -> str:
    require_type(str, text=text)
    email = normalize_line(text)
    violation = length_violation(email, max_length=MAX_EMAIL_LENGTH) or _form_violation(email)
    if violation is not None:
        raise InvalidAdministrator([violation.prefixed("email")])
    return email


def _form_violation(email: str) -> Violation | None:
    if not email.isprintable() or " " in email:
        message = "Remove spaces, line breaks and characters that can't be displayed."
        return Violation(Rule.INVALID_CHARACTERS, message)
    local, _, domain = email.partition("@")
    if not local or not domain or "@" in domain:
        return Violation(Rule.FORMAT, "Write an email address such as dana@example.com.")
    return None


@frozen
class EmailAddress:
    """An email address: one line of at most 254 characters with text on both sides of one `@`.

    Two addresses are equal if they differ only in case. Only delivery shows whether an address
    exists, so the rules are deliberately fewer than those of RFC 5322.

    Raises: InvalidAdministrator, with the path `email`, if the text breaks a rule.
    """

    text: str = field(converter=_parse_email, eq=False)
    """The address as it was written."""
    folded: str = field(init=False)
    """The address with its case folded, by which storages find it."""

    @folded.default
    def _fold(self) -> str:
        return fold_case(self.text)

    def __str__(self) -> str:
        return self.text


class SecretToken:
    """The token of a session, a link or a form: 256 random bits.

    Only `reveal` returns its text, and no storage contains it.
    """

    # This is not an attrs class: `attrs.asdict` of an object with a token would reveal the token.
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def generate(cls) -> SecretToken:
        """Generate a token."""
        return cls(secrets.token_urlsafe(_TOKEN_BYTES))

    @classmethod
    def parse(cls, presented: str) -> SecretToken | None:
        """Parse the token that a client presents. Return None if its format is wrong."""
        return cls(presented) if _TOKEN.fullmatch(presented) is not None else None

    def reveal(self) -> str:
        """Return the text: 43 characters of URL-safe base64."""
        return self._text

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the token, 32 bytes. Storages find the token's owner by it."""
        return sha256(self._text.encode("ascii")).digest()

    def __repr__(self) -> str:
        return "<SecretToken>"


class Role(Choice):
    """The role of an administrator in one organization."""

    ADMIN = "admin"
    VIEWER = "viewer"

    @property
    def may_change(self) -> bool:
        """Whether the role permits changes. A viewer sees everything and changes nothing."""
        return self is Role.ADMIN


def _to_role(role: Role | str) -> Role:
    return Role(role)


@frozen
class Membership:
    """The role of an administrator in an organization.

    Raises: ValueError if `role` is the text of no role.
    """

    organization_id: OrganizationId
    role: Role = field(converter=_to_role)


def _require_order(
    _instance: object,
    _attribute: Attribute[tuple[Membership, ...]],
    memberships: tuple[Membership, ...],
) -> None:
    require_type(tuple, memberships=memberships)
    ids = [each.organization_id for each in memberships]
    if not ids or ids != sorted(set(ids)):
        raise ValueError("an administrator has one or more memberships by ascending organization")


@frozen(kw_only=True)
class InvitationDraft:
    """A role in an organization that the owner of an email address gets with a link.

    Raises: ValueError if `role` is the text of no role.
    """

    email: EmailAddress
    role: Role = field(converter=_to_role)
    digest: bytes = field(repr=False)
    """The SHA-256 of the link's token."""
    created_at: datetime = field(converter=whole_milliseconds)
    expires_at: datetime = field(converter=whole_milliseconds)


@frozen(kw_only=True)
class Invitation(InvitationDraft):
    """A pending membership: an invitation that was not accepted yet.

    It gives no access, and has no connection to an account, so it does not reveal whether the
    email address has one in another organization. To accept it, a person needs its link and the
    password of the account. If there is no account, the person chooses a password, and the account
    begins with this membership.

    An organization has at most one invitation for an email address.
    """

    id: InvitationId
    organization_id: OrganizationId

    def is_expired(self, at: datetime) -> bool:
        """Return whether the link does not work any more. A new invitation replaces this one."""
        return self.expires_at <= at


@frozen(kw_only=True)
class Administrator:
    """A person who can sign in to the console: an account with a role in each organization.

    An account exists if and only if it has a membership.
    """

    id: AdministratorId
    email: EmailAddress
    password_hash: str | None = field(repr=False)
    """None until the administrator has set a password."""
    created_at: datetime = field(converter=whole_milliseconds)
    memberships: tuple[Membership, ...] = field(validator=_require_order)
    """At least one, by ascending organization id."""

    @property
    def has_password(self) -> bool:
        """Whether the administrator has set a password."""
        return self.password_hash is not None

    def role_in(self, organization_id: OrganizationId) -> Role | None:
        """Return the role in the organization, or None if there is no membership."""
        for membership in self.memberships:
            if membership.organization_id == organization_id:
                return membership.role
        return None

    def with_role(self, organization_id: OrganizationId, role: Role | str) -> Administrator:
        """Return this administrator with the role in the organization."""
        memberships = (*self._others(organization_id), Membership(organization_id, role))
        ordered = sorted(memberships, key=lambda each: each.organization_id)
        return evolve(self, memberships=tuple(ordered))

    def joining(self, invitation: Invitation) -> Administrator:
        """Return this administrator with the invitation's role, or unchanged if there is a role."""
        if self.role_in(invitation.organization_id) is not None:
            return self
        return self.with_role(invitation.organization_id, invitation.role)

    def without(self, organization_id: OrganizationId) -> Administrator | None:
        """Return this administrator without the membership, or None if there is no other."""
        others = self._others(organization_id)
        return evolve(self, memberships=others) if others else None

    def _others(self, organization_id: OrganizationId) -> tuple[Membership, ...]:
        return tuple(each for each in self.memberships if each.organization_id != organization_id)


def require_remaining_admin(
    organization_id: OrganizationId,
    before: tuple[Administrator, ...],
    after: tuple[Administrator, ...],
) -> None:
    """Check that a change of the organization's administrators does not remove the last `admin`.

    Raises: LastAdministrator if it does.
    """
    require_type(tuple, before=before, after=after)

    def has_admin(administrators: tuple[Administrator, ...]) -> bool:
        return any(each.role_in(organization_id) is Role.ADMIN for each in administrators)

    if has_admin(before) and not has_admin(after):
        raise LastAdministrator


def require_unshared(administrator: Administrator) -> None:
    """Check that the administrator belongs to one organization only.

    Otherwise an organization could take over the account of an administrator of another one, with
    a link that sets another password.
    Raises: AdministratorShared if the account belongs to several organizations.
    """
    require_type(Administrator, administrator=administrator)
    if len(administrator.memberships) > 1:
        raise AdministratorShared


def normalize_password(text: str) -> str:
    """Return the password in Unicode NFC.

    Keyboards can encode the same character in different ways.
    """
    require_type(str, text=text)
    return normalize_nfc(text) if len(text) <= MAX_PASSWORD_LENGTH else text


def require_password(
    text: str, email: EmailAddress, *, is_guessable: Callable[[str, EmailAddress], bool]
) -> str:
    """Check a new password, and return it as `normalize_password` does.

    `is_guessable` returns whether a password of the account with this email address is easy to
    guess.
    Raises: InvalidAdministrator, with the path `password`, if it has fewer than 12 or more than
    1,024 characters, is only white space, is the email address, or is easy to guess.
    """
    password = normalize_password(text)
    violation = _password_violation(password, email, is_guessable)
    if violation is not None:
        raise InvalidAdministrator([violation.prefixed("password")])
    return password


def _password_violation(
    password: str, email: EmailAddress, is_guessable: Callable[[str, EmailAddress], bool]
) -> Violation | None:
    if len(password) < MIN_PASSWORD_LENGTH:
        message = f"The password must have at least {MIN_PASSWORD_LENGTH} characters."
        return Violation(Rule.OUT_OF_RANGE, message)
    if len(password) > MAX_PASSWORD_LENGTH:
        message = f"The password must have at most {MAX_PASSWORD_LENGTH:,} characters."
        return Violation(Rule.TOO_LONG, message)
    if password.isspace():
        return Violation(Rule.BLANK, "The password must not be only white space.")
    if fold_case(password.strip()) == email.folded:
        return Violation(Rule.RESERVED, "The password must not be the email address.")
    if is_guessable(password, email):
        message = (
            "This password is easy to guess. Choose another one, for example four random words."
        )
        return Violation(Rule.RESERVED, message)
    return None


def clean_user_agent(text: str) -> str:
    """Return the text as one line of at most 255 characters, without control characters."""
    return to_line(text, max_length=MAX_LINE_LENGTH)


@frozen(kw_only=True)
class Session:
    """A session of an administrator, from sign-in to sign-out."""

    id: SessionId
    administrator_id: AdministratorId
    digest: bytes = field(repr=False)
    created_at: datetime = field(converter=whole_milliseconds)
    last_used_at: datetime = field(converter=whole_milliseconds)
    user_agent: str = field(converter=clean_user_agent)
    """What the browser calls itself: one line of at most 255 characters, possibly empty."""

    def is_active(self, at: datetime) -> bool:
        """Return whether the session was used in the last 30 minutes and is under 12 hours old."""
        return at - self.last_used_at < IDLE_TIMEOUT and at - self.created_at < MAX_SESSION_AGE


@frozen
class SignedInAdministrator:
    """A session and its administrator, as they are now."""

    session: Session
    administrator: Administrator


class LinkPurpose(Enum):
    """The effect of a link."""

    SET_PASSWORD = "set_password"  # noqa: S105  # nosec B105
    SIGN_IN = "sign_in"


@frozen(kw_only=True)
class Link:
    """A link that works once, until it expires."""

    administrator_id: AdministratorId
    purpose: LinkPurpose
    digest: bytes = field(repr=False)
    expires_at: datetime = field(converter=whole_milliseconds)


@frozen(kw_only=True)
class FoundLink:
    """A link that can be used, and the account that it opens."""

    administrator: Administrator
    purpose: LinkPurpose
    expires_at: datetime
