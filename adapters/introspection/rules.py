"""The rules that an active token must follow to be a valid key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias, cast

from attrs import frozen

from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    Access,
    Credential,
    OrganizationId,
    Rejection,
    RejectionReason,
)

_CLOCK_SKEW = 5
"""Seconds of tolerance for `nbf`: the issuer's clock may be ahead."""

_MAX_TIME = 2**53
"""Floats represent all seconds up to this number exactly."""
_MAX_KEY_ID_LENGTH = 100
"""Longer key ids would dominate the lines of the log."""

_BEARER_ACCESS = {
    "token_type": {"bearer"},
    "token_use": {"access", "access_token"},
    "typ": {"bearer", "jwt", "at+jwt", "application/at+jwt"},
}
"""The values of the claims that name the kind of a token, for a bearer access token."""

_UNKNOWN = Rejection(RejectionReason.UNKNOWN)


@frozen
class ValidToken:
    """The token is a valid key until `expires_at`, in seconds since 1970, if it is known."""

    credential: Credential
    expires_at: float | None


@frozen
class InvalidToken:
    """The token is not a valid key. The reason is logged. Callers receive the rejection."""

    reason: str
    rejection: Rejection = _UNKNOWN


Verdict: TypeAlias = ValidToken | InvalidToken


@frozen(kw_only=True)
class TokenRules:
    """The claims that contain the organization and the access of a token.

    `organization_claim` is an integer. `access_claim` is a list of scopes, or a string of scopes
    separated by spaces. `write_scope` permits reads and writes, `read_scope` only reads.
    `key_id_claim` is the name of the client, which the log shows. If `audience` or `issuer` is set,
    `aud` must contain it or `iss` must equal it.
    """

    organization_claim: str = "organization_id"
    access_claim: str = "scope"
    read_scope: str = "recipient_fields:read"
    write_scope: str = "recipient_fields:write"
    key_id_claim: str = "client_id"
    audience: str | None = None
    issuer: str | None = None

    def evaluate(self, claims: Mapping[str, object], at: datetime) -> Verdict:
        """Return ValidToken or InvalidToken for the claims of an active token at this time."""
        now, key_id = at.timestamp(), _printable(claims.get(self.key_id_claim))
        expires_at = _time(claims.get("exp"))
        if expires_at is not None and expires_at <= now:
            return InvalidToken("it has expired", Rejection(RejectionReason.EXPIRED, key_id))
        reason = (
            _time_violation(claims, now)
            or _kind_violation(claims)
            or self._target_violation(claims)
        )
        if reason is not None:
            return InvalidToken(reason)
        organization_id = claims.get(self.organization_claim)
        if type(organization_id) is not int or not 1 <= organization_id <= MAX_SAFE_INTEGER:
            return InvalidToken(f"{self.organization_claim} is not the id of an organization")
        access = self._access(claims.get(self.access_claim))
        if access is None:
            return InvalidToken(f"{self.access_claim} contains no scope of this service")
        return ValidToken(Credential(OrganizationId(organization_id), key_id, access), expires_at)

    def _target_violation(self, claims: Mapping[str, object]) -> str | None:
        """Return why the token is meant for another service, or None."""
        if self.issuer is not None and claims.get("iss") != self.issuer:
            return "iss is another issuer"
        if self.audience is not None and self.audience not in _texts(claims.get("aud")):
            return "aud does not name this service"
        return None

    def _access(self, claim: object) -> Access | None:
        granted = claim.split(" ") if isinstance(claim, str) else _texts(claim)
        if self.write_scope in granted:
            return Access.READ_WRITE
        return Access.READ_ONLY if self.read_scope in granted else None


def _time_violation(claims: Mapping[str, object], now: float) -> str | None:
    """Return why the times of the token are invalid or in the future, or None."""
    for claim in ("exp", "nbf"):
        if claim in claims and _time(claims[claim]) is None:
            return f"{claim} is not a time"
    begins_at = _time(claims.get("nbf"))
    if begins_at is not None and begins_at > now + _CLOCK_SKEW:
        return "it is not valid yet"
    return None


def _kind_violation(claims: Mapping[str, object]) -> str | None:
    """Return why the token is not a bearer access token, or None."""
    if "cnf" in claims:
        return "cnf binds it to a key of its holder, which can't be checked here"
    for claim, permitted in _BEARER_ACCESS.items():
        if claim in claims and str(claims[claim]).lower() not in permitted:
            return f"{claim} says that it is not a bearer access token"
    return None


def _time(claim: object) -> float | None:
    """Return the seconds since 1970 (RFC 7519, NumericDate), or None for other values."""
    if type(claim) not in {int, float}:
        return None
    seconds = cast("float", claim)
    return float(seconds) if 0 <= seconds <= _MAX_TIME else None


def _texts(claim: object) -> list[object]:
    """Return one text or a list of texts as a list."""
    if isinstance(claim, str):
        return [claim]
    return claim if isinstance(claim, list) else []


def _printable(claim: object) -> str | None:
    """Return the text if it is short and printable, or None."""
    if not isinstance(claim, str) or not 0 < len(claim) <= _MAX_KEY_ID_LENGTH:
        return None
    return claim if claim.isascii() and claim.isprintable() else None
