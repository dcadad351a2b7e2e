"""API keys: their format, their life, and what a valid one permits (HTTP contract, section 5)."""

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

from .errors import ApiKeyNotActive, InsufficientAccess, InvalidApiKey, Rule, Violation
from .identity import ApiKeyId, OrganizationId
from .instants import whole_milliseconds
from .text import parse_name

DEFAULT_LIFETIME = timedelta(days=90)
SHORTEST_LIFETIME = timedelta(seconds=1)
LONGEST_LIFETIME = timedelta(days=366)
DEFAULT_GRACE = timedelta(hours=24)
LONGEST_GRACE = timedelta(days=7)

_PREFIX = "rfk_"
_RANDOM_LENGTH = 32
_CHECKSUM_LENGTH = 6
_BASE_62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORMAT = re.compile(rf"{_PREFIX}[0-9A-Za-z]{{{_RANDOM_LENGTH + _CHECKSUM_LENGTH}}}")
_MORE_THAN_MAY_BE_SHOWN = re.compile(rf"{_PREFIX}[0-9A-Za-z]{{5,}}")


class PlainKey:
    """A full API key. It shows itself only when `reveal` is called, and is stored nowhere."""

    # No attrs class: `asdict` of whatever holds the key would show its text.
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def generate(cls) -> PlainKey:
        """A new key of 190 random bits."""
        random = _PREFIX + "".join(secrets.choice(_BASE_62) for _ in range(_RANDOM_LENGTH))
        return cls(random + _checksum(random))

    @classmethod
    def find(cls, presented: str) -> PlainKey | None:
        """The key a client presents; None where the format or the checksum is wrong."""
        if _FORMAT.fullmatch(presented) is None:
            return None
        random, checksum = presented[:-_CHECKSUM_LENGTH], presented[-_CHECKSUM_LENGTH:]
        return cls(presented) if _checksum(random) == checksum else None

    def reveal(self) -> str:
        """The full key, for the one time it is shown."""
        return self._text

    @property
    def digest(self) -> bytes:
        """The SHA-256 by which a storage knows the key: 32 bytes."""
        return sha256(self._text.encode("ascii")).digest()

    @property
    def display(self) -> str:
        """What may be shown of the key: `rfk_` + first 4 + `…` + last 4 characters."""
        return f"{self._text[: len(_PREFIX) + 4]}…{self._text[-4:]}"

    def __repr__(self) -> str:
        return f"<PlainKey {self.display}>"


class Access(Enum):
    """What a key permits."""

    READ_WRITE = "read_write"
    READ_ONLY = "read_only"


class KeyState(Enum):
    """Where a key is in its life."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen
class Credential:
    """What a valid key proves: for whom its bearer acts, and whether it may write.

    `key_id` is what a log may know the key by: the id of one that we store, the text by which
    another validator names its own, or None where it has no name.

    `catalog_revision` is that of the organization's catalog when the key was looked up, so that who
    keeps an answer can tell whether it still holds; None where the validator doesn't know.
    """

    organization_id: OrganizationId
    key_id: ApiKeyId | str | None
    access: Access
    catalog_revision: int | None = field(default=None, eq=False)

    def require_write(self) -> None:
        """InsufficientAccess where the key may only read."""
        if self.access is not Access.READ_WRITE:
            raise InsufficientAccess


class RejectionReason(Enum):
    """Why a request has no valid key. The values are what the log shows."""

    MISSING = "missing"
    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    REVOKED = "revoked"


@frozen
class Rejection:
    """The outcome of validating a text that is no valid key.

    It is for the log alone: clients get the same response for every reason. `key_id` is that of a
    key that is known but no longer valid, otherwise None.
    """

    reason: RejectionReason
    key_id: ApiKeyId | str | None = None


def _parse_name(text: str) -> str:
    return parse_name(text, longest=100, invalid=InvalidApiKey)


@frozen(kw_only=True)
class KeyGrant:
    """What an organization grants to the bearer of a key, before a storage gives it an id."""

    organization_id: OrganizationId
    name: str = field(converter=_parse_name)
    access: Access
    digest: bytes = field(repr=False)
    display: str
    created_at: datetime = field(converter=whole_milliseconds)
    expires_at: datetime | None = field(converter=optional(whole_milliseconds))

    def stored(self, key_id: ApiKeyId) -> ApiKey:
        """The key as a storage keeps it under the id it assigns."""
        return ApiKey(**asdict(self, recurse=False), id=key_id, last_used_at=None, revoked_at=None)


@frozen(kw_only=True)
class FoundKey:
    """What a presented key comes to: all that tells what it proves, and no more.

    Every request asks for it. `catalog_revision` is that of the organization's catalog when the key
    was looked up.
    """

    id: ApiKeyId
    organization_id: OrganizationId
    access: Access
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    catalog_revision: int

    @property
    def credential(self) -> Credential:
        """What the key proves while it is active."""
        return Credential(self.organization_id, self.id, self.access, self.catalog_revision)

    def state(self, at: datetime) -> KeyState:
        """Where the key is in its life then."""
        return _state(self.revoked_at, self.expires_at, at)


@frozen(kw_only=True)
class ApiKey(KeyGrant):
    """A stored API key: everything but the key itself."""

    id: ApiKeyId
    last_used_at: datetime | None = field(converter=optional(whole_milliseconds))
    revoked_at: datetime | None = field(converter=optional(whole_milliseconds))

    def found(self, catalog_revision: int) -> FoundKey:
        """This key as a look-up finds it."""
        return FoundKey(
            id=self.id,
            organization_id=self.organization_id,
            access=self.access,
            expires_at=self.expires_at,
            revoked_at=self.revoked_at,
            last_used_at=self.last_used_at,
            catalog_revision=catalog_revision,
        )

    def state(self, at: datetime) -> KeyState:
        """Where the key is in its life then; revoked counts before expired."""
        return _state(self.revoked_at, self.expires_at, at)

    def revoked(self, at: datetime) -> ApiKey:
        """This key, revoked; itself where it already is."""
        return self if self.revoked_at is not None else evolve(self, revoked_at=at)

    def ending_like(self, changed: ApiKey) -> ApiKey:
        """This key with the other's end and revocation, which are all that can change."""
        return evolve(self, expires_at=changed.expires_at, revoked_at=changed.revoked_at)

    def succeeded(
        self, successor: PlainKey, *, at: datetime, grace: timedelta
    ) -> tuple[ApiKey, KeyGrant]:
        """This key with its last `grace` (0 to 7 days), and a grant of the same kind.

        The grant's lifetime is the one this key has by now, which an earlier rotation has changed,
        within what a new key may have. ApiKeyNotActive where this key is expired or revoked.
        """
        if not timedelta() <= grace <= LONGEST_GRACE:
            message = "A replaced key lives on for 0 seconds to 7 days."
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
        )
        return self._ending(at + grace), grant

    @property
    def _lifetime(self) -> timedelta | None:
        if self.expires_at is None:
            return None
        lifetime = self.expires_at - self.created_at
        return min(max(lifetime, SHORTEST_LIFETIME), LONGEST_LIFETIME)

    def _ending(self, end: datetime) -> ApiKey:
        if self.expires_at is not None and self.expires_at <= end:
            return self
        return evolve(self, expires_at=end)


def grant_key(
    key: PlainKey,
    organization_id: OrganizationId,
    *,
    name: str,
    access: Access,
    lifetime: timedelta | None,
    at: datetime,
) -> KeyGrant:
    """What a new key grants for `lifetime` (1 second to 366 days; None: for ever).

    InvalidApiKey where the name (1 to 100 characters) or the lifetime is not allowed.
    """
    if lifetime is not None and not SHORTEST_LIFETIME <= lifetime <= LONGEST_LIFETIME:
        message = "A key lives for 1 second to 366 days, or never expires."
        raise InvalidApiKey([Violation(Rule.OUT_OF_RANGE, message, ("expires_in",))])
    return KeyGrant(
        organization_id=organization_id,
        name=name,
        access=access,
        digest=key.digest,
        display=key.display,
        created_at=at,
        expires_at=None if lifetime is None else at + lifetime,
    )


def without_keys(text: str) -> str:
    """The text with `[API key]` in place of every key, be it whole, mistyped or cut short."""
    return _MORE_THAN_MAY_BE_SHOWN.sub("[API key]", text)


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
