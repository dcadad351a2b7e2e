"""API keys: format, lifetime, access, rotation."""

from __future__ import annotations

import re
import secrets
import string
from datetime import datetime, timedelta
from enum import Enum
from hashlib import sha256
from zlib import crc32

from attrs import asdict, evolve, field, frozen
from attrs.converters import optional

from ..arguments import require_type
from ..choices import Choice
from ..errors import InvalidApiKey, Rule, Violation
from ..identity import ApiKeyId, OrganizationId
from ..instants import whole_milliseconds
from ..text import parse_name
from .errors import ApiKeyNotActive, InsufficientAccess

__all__ = [
    "DEFAULT_GRACE_PERIOD",
    "DEFAULT_LIFETIME",
    "MAX_GRACE_PERIOD",
    "MAX_LIFETIME",
    "MIN_LIFETIME",
    "Access",
    "ApiKey",
    "Credential",
    "FoundKey",
    "KeyGrant",
    "KeyState",
    "PlainKey",
    "Rejection",
    "RejectionReason",
    "grant_key",
    "redact_keys",
]

DEFAULT_LIFETIME = timedelta(days=90)
MIN_LIFETIME = timedelta(seconds=1)
MAX_LIFETIME = timedelta(days=366)
DEFAULT_GRACE_PERIOD = timedelta(hours=24)
MAX_GRACE_PERIOD = timedelta(days=7)

_PREFIX = "rfk_"
_RANDOM_LENGTH = 32
_CHECKSUM_LENGTH = 6
_BASE_62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORMAT = re.compile(rf"{_PREFIX}[0-9A-Za-z]{{{_RANDOM_LENGTH + _CHECKSUM_LENGTH}}}")
_KEY_OR_PART = re.compile(rf"{_PREFIX}[0-9A-Za-z]{{5,}}")
"""A key, or more of its beginning than `PlainKey.display` shows."""


class PlainKey:
    """A full API key. Only `reveal` returns its text, and no storage contains it."""

    # This is not an attrs class: `attrs.asdict` of an object with a key would reveal the key.
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def generate(cls) -> PlainKey:
        """Generate a key of 190 random bits."""
        random = _PREFIX + "".join(secrets.choice(_BASE_62) for _ in range(_RANDOM_LENGTH))
        return cls(random + _checksum(random))

    @classmethod
    def parse(cls, presented: str) -> PlainKey | None:
        """Parse the key that a client presents. Return None if its format or checksum is wrong."""
        if _FORMAT.fullmatch(presented) is None:
            return None
        random, checksum = presented[:-_CHECKSUM_LENGTH], presented[-_CHECKSUM_LENGTH:]
        return cls(presented) if _checksum(random) == checksum else None

    def reveal(self) -> str:
        """Return the full key, to show it once to its owner."""
        return self._text

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the key, 32 bytes. Storages find the key by it."""
        return sha256(self._text.encode("ascii")).digest()

    @property
    def display(self) -> str:
        """The form of the key for display: `rfk_` + first 4 + `…` + last 4 characters."""
        return f"{self._text[: len(_PREFIX) + 4]}…{self._text[-4:]}"

    def __repr__(self) -> str:
        return f"<PlainKey {self.display}>"


class Access(Choice):
    """The access that a key permits."""

    READ_WRITE = "read_write"
    READ_ONLY = "read_only"


def _to_access(access: Access | str) -> Access:
    return Access(access)


class KeyState(Enum):
    """The state of a key. Only active keys are valid."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen
class Credential:
    """The result of validating a key: the organization that it belongs to, and its access.

    `key_id` identifies the key in the log: the id of a stored key, the identifier that another
    validator uses, or None.

    `catalog_revision` is the revision of the organization's catalog at the time of the lookup, or
    None if the validator does not know it. Caches compare it with the revision of their entries.

    `catalog_size` is the number of bytes of the list of its fields at that time, or None if it is
    not known.

    `key_display` is the form of a stored key for display, which the history records.

    `expires_at` is the expiry of a stored key, of which a metric warns, or None if it has none.

    Raises: ValueError if `access` is the text of no access.
    """

    organization_id: OrganizationId
    key_id: ApiKeyId | str | None
    access: Access = field(converter=_to_access)
    catalog_revision: int | None = field(default=None, eq=False)
    key_display: str | None = field(default=None, eq=False)
    catalog_size: int | None = field(default=None, eq=False)
    expires_at: datetime | None = field(default=None, eq=False)

    def require_write(self) -> None:
        """Check that the key permits writing. Raises: InsufficientAccess if it is read-only."""
        if self.access is not Access.READ_WRITE:
            raise InsufficientAccess


class RejectionReason(Enum):
    """The reason why a request has no valid key. The log contains the values."""

    MISSING = "missing"
    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    REVOKED = "revoked"


_VERBS = {RejectionReason.EXPIRED: "expired", RejectionReason.REVOKED: "was revoked"}


@frozen
class Rejection:
    """The result of validating a key that is not valid.

    `key_id` is the id of an expired or revoked key, otherwise None. `since` is the time since which
    the key has this reason, or None if the validator does not know it.

    The log contains the reason and the id. A client learns the reason and the time only if there is
    `since`: whoever presents the full key may know it. Otherwise, all responses are equal.
    """

    reason: RejectionReason
    key_id: ApiKeyId | str | None = None
    since: datetime | None = field(default=None, eq=False)

    @property
    def explanation(self) -> str | None:
        """The sentence that the client receives about its key, or None."""
        if self.since is None:
            return None
        verb = _VERBS.get(self.reason)
        return None if verb is None else f"The API key {verb} on {self.since.date()}."


def _parse_name(text: str) -> str:
    return parse_name(text, max_length=100, error=InvalidApiKey)


@frozen(kw_only=True)
class KeyGrant:
    """A new API key to which no storage has assigned an id.

    Raises: InvalidApiKey if the name is invalid, ValueError if `access` is the text of no access.
    """

    organization_id: OrganizationId
    name: str = field(converter=_parse_name)
    access: Access = field(converter=_to_access)
    digest: bytes = field(repr=False)
    display: str
    created_at: datetime = field(converter=whole_milliseconds)
    expires_at: datetime | None = field(converter=optional(whole_milliseconds))
    created_by: str | None = None
    """The email address of the administrator who created it, `operator`, or None if unknown."""

    def with_id(self, key_id: ApiKeyId) -> ApiKey:
        """Return the API key to store under the id that the storage assigns."""
        return ApiKey(**asdict(self, recurse=False), id=key_id, last_used_at=None, revoked_at=None)


@frozen(kw_only=True)
class FoundKey:
    """The members of a stored API key that every request needs to validate it.

    `catalog_revision` is the revision of the organization's catalog at the time of the lookup, and
    `catalog_size` the number of bytes of its list. It is None before the migration to this version
    has counted them. Changes by a process of an older version are not counted until the next change
    by this version.
    """

    id: ApiKeyId
    organization_id: OrganizationId
    access: Access
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    catalog_revision: int
    catalog_size: int | None = None

    def to_credential(self, key: PlainKey) -> Credential:
        """Return the credential of the presented key while it is active."""
        return Credential(
            self.organization_id,
            self.id,
            self.access,
            self.catalog_revision,
            key.display,
            self.catalog_size,
            self.expires_at,
        )

    def reject(self, at: datetime) -> Rejection | None:
        """Return why the key is not valid at this time, or None if it is."""
        match _state(self.revoked_at, self.expires_at, at):
            case KeyState.REVOKED:
                return Rejection(RejectionReason.REVOKED, self.id, self.revoked_at)
            case KeyState.EXPIRED:
                return Rejection(RejectionReason.EXPIRED, self.id, self.expires_at)
            case KeyState.ACTIVE:
                return None


@frozen(kw_only=True)
class ApiKey(KeyGrant):
    """A stored API key. It does not contain the key itself, only its digest."""

    id: ApiKeyId
    last_used_at: datetime | None = field(converter=optional(whole_milliseconds))
    revoked_at: datetime | None = field(converter=optional(whole_milliseconds))

    def to_found_key(self, catalog_revision: int, catalog_size: int | None = None) -> FoundKey:
        """Return the members that a lookup of this key returns."""
        return FoundKey(
            id=self.id,
            organization_id=self.organization_id,
            access=self.access,
            expires_at=self.expires_at,
            revoked_at=self.revoked_at,
            last_used_at=self.last_used_at,
            catalog_revision=catalog_revision,
            catalog_size=catalog_size,
        )

    def state(self, at: datetime) -> KeyState:
        """Return the state of the key at this time. REVOKED has precedence over EXPIRED."""
        return _state(self.revoked_at, self.expires_at, at)

    def revoked(self, at: datetime) -> ApiKey:
        """Return this key revoked at this time, or itself if it is already revoked."""
        return self if self.revoked_at is not None else evolve(self, revoked_at=at)

    def with_validity_of(self, changed: ApiKey) -> ApiKey:
        """Return this key with the expiry and the revocation of `changed`.

        These are the only members of a stored key that a change can set.
        """
        return evolve(self, expires_at=changed.expires_at, revoked_at=changed.revoked_at)

    def rotated(
        self, successor: PlainKey, *, at: datetime, grace: timedelta, by: str | None = None
    ) -> tuple[ApiKey, KeyGrant]:
        """Return this key, expiring after the grace period (0 to 7 days), and its successor.

        The successor has the same name and access, and `by` as its creator. Its lifetime is the
        current lifetime of this key, which an earlier rotation may have shortened, but 1 second to
        366 days.

        Raises: InvalidApiKey if the grace period is out of range; ApiKeyNotActive if this key is
        expired or revoked.
        """
        if not timedelta() <= grace <= MAX_GRACE_PERIOD:
            message = "The grace period must be 0 seconds to 7 days."
            raise InvalidApiKey([Violation(Rule.OUT_OF_RANGE, message, ("grace",))])
        if self.state(at) is not KeyState.ACTIVE:
            raise ApiKeyNotActive
        grant = grant_key(
            successor,
            self.organization_id,
            name=self.name,
            access=self.access,
            lifetime=self._lifetime,
            at=at,
            by=by,
        )
        return self._expiring(at + grace), grant

    @property
    def _lifetime(self) -> timedelta | None:
        if self.expires_at is None:
            return None
        lifetime = self.expires_at - self.created_at
        return min(max(lifetime, MIN_LIFETIME), MAX_LIFETIME)

    def _expiring(self, at: datetime) -> ApiKey:
        """Return this key with this expiry, or itself if it expires earlier."""
        if self.expires_at is not None and self.expires_at <= at:
            return self
        return evolve(self, expires_at=at)


def grant_key(
    key: PlainKey,
    organization_id: OrganizationId,
    *,
    name: str,
    access: Access | str,
    lifetime: timedelta | None,
    at: datetime,
    by: str | None = None,
) -> KeyGrant:
    """Return a new API key that expires after `lifetime` (1 second to 366 days), or never if None.

    `by` is its creator.

    Raises: InvalidApiKey if the name (1 to 100 characters) or the lifetime is invalid, ValueError
    if `access` is the text of no access.
    """
    require_type(PlainKey, key=key)
    require_type(timedelta | None, lifetime=lifetime)
    require_type(datetime, at=at)
    if lifetime is not None and not MIN_LIFETIME <= lifetime <= MAX_LIFETIME:
        message = "A key expires after 1 second to 366 days, or never."
        raise InvalidApiKey([Violation(Rule.OUT_OF_RANGE, message, ("expires_in",))])
    return KeyGrant(
        organization_id=organization_id,
        name=name,
        access=access,
        digest=key.digest,
        display=key.display,
        created_at=at,
        expires_at=None if lifetime is None else at + lifetime,
        created_by=by,
    )


def redact_keys(text: str) -> str:
    """Replace every API key in the text, even a mistyped or truncated one, with `[API key]`."""
    if not isinstance(text, str):
        require_type(str, text=text)
    return _KEY_OR_PART.sub("[API key]", text)


def _state(revoked_at: datetime | None, expires_at: datetime | None, at: datetime) -> KeyState:
    if revoked_at is not None:
        return KeyState.REVOKED
    if expires_at is not None and at >= expires_at:
        return KeyState.EXPIRED
    return KeyState.ACTIVE


def _checksum(text: str) -> str:
    number = crc32(text.encode("ascii"))
    digits = ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_BASE_62))
        digits = _BASE_62[digit] + digits
    return digits
