"""What the claims of an active token prove to us."""

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

_CLOCKS_DIFFER = 5
"""Seconds by which an issuer's clock may be ahead. A token that comes early harms nobody."""

_LATEST = 2**53
_LONGEST_KEY_ID = 100

_BEARER_ACCESS = {
    "token_type": {"bearer"},
    "token_use": {"access", "access_token"},
    "typ": {"bearer", "jwt", "at+jwt", "application/at+jwt"},
}
"""What issuers call an access token that its bearer may use, by the claim that says so."""


_UNKNOWN = Rejection(RejectionReason.UNKNOWN)


@frozen
class Proven:
    """The token is a valid key until `expires_at`, in seconds since 1970; None: it doesn't say."""

    credential: Credential
    expires_at: float | None


@frozen
class Unproven:
    """The token is no valid key of ours, for this reason; callers get the rejection."""

    reason: str
    rejection: Rejection = _UNKNOWN


Verdict: TypeAlias = Proven | Unproven


@frozen(kw_only=True)
class TokenRules:
    """Which claims say for whom a token's bearer acts, and whether it may write.

    `organization_claim` is a whole number. `access_claim` is a text of words, or a list of texts;
    among them `write_scope` permits to read and write, `read_scope` to read. `key_id_claim` is what
    the log knows the key by. Where `audience` and `issuer` are given, `aud` and `iss` say the same.
    """

    organization_claim: str = "organization_id"
    access_claim: str = "scope"
    read_scope: str = "recipient_fields:read"
    write_scope: str = "recipient_fields:write"
    key_id_claim: str = "client_id"
    audience: str | None = None
    issuer: str | None = None

    def judge(self, claims: Mapping[str, object], at: datetime) -> Verdict:
        """What the claims of an active token prove then."""
        now, key_id = at.timestamp(), _shown(claims.get(self.key_id_claim))
        expires_at = _time(claims.get("exp"))
        if expires_at is not None and expires_at <= now:
            return Unproven("it has expired", Rejection(RejectionReason.EXPIRED, key_id))
        reason = _untimely(claims, now) or _unusable(claims) or self._foreign(claims)
        if reason is not None:
            return Unproven(reason)
        organization_id = claims.get(self.organization_claim)
        if type(organization_id) is not int or not 1 <= organization_id <= MAX_SAFE_INTEGER:
            return Unproven(f"{self.organization_claim} is no organization's id")
        access = self._access(claims.get(self.access_claim))
        if access is None:
            return Unproven(f"{self.access_claim} permits nothing here")
        return Proven(Credential(OrganizationId(organization_id), key_id, access), expires_at)

    def _foreign(self, claims: Mapping[str, object]) -> str | None:
        """Why the token is not for us, if so."""
        if self.issuer is not None and claims.get("iss") != self.issuer:
            return "iss is another one"
        if self.audience is not None and self.audience not in _texts(claims.get("aud")):
            return "aud does not name this service"
        return None

    def _access(self, claim: object) -> Access | None:
        granted = claim.split(" ") if isinstance(claim, str) else _texts(claim)
        if self.write_scope in granted:
            return Access.READ_WRITE
        return Access.READ_ONLY if self.read_scope in granted else None


def _untimely(claims: Mapping[str, object], now: float) -> str | None:
    """Return why the token is not valid yet, or can't be judged, or None."""
    for claim in ("exp", "nbf"):
        if claim in claims and _time(claims[claim]) is None:
            return f"{claim} is no time"
    begins_at = _time(claims.get("nbf"))
    if begins_at is not None and begins_at > now + _CLOCKS_DIFFER:
        return "it is not valid yet"
    return None


def _unusable(claims: Mapping[str, object]) -> str | None:
    """Why who presents the token can't use it by that alone, if so."""
    if "cnf" in claims:
        return "cnf binds it to its holder, which can't be checked here"
    for claim, usual in _BEARER_ACCESS.items():
        if claim in claims and str(claims[claim]).lower() not in usual:
            return f"{claim} says that it is no access token of a bearer"
    return None


def _time(claim: object) -> float | None:
    """Seconds since 1970 (RFC 7519, NumericDate); None for anything else."""
    if type(claim) not in {int, float}:
        return None
    seconds = cast("float", claim)
    return float(seconds) if 0 <= seconds <= _LATEST else None


def _texts(claim: object) -> list[object]:
    """One text or a list of them, as a list."""
    if isinstance(claim, str):
        return [claim]
    return claim if isinstance(claim, list) else []


def _shown(claim: object) -> str | None:
    """The text as a log may show it; None for anything else."""
    if not isinstance(claim, str) or not 0 < len(claim) <= _LONGEST_KEY_ID:
        return None
    return claim if claim.isascii() and claim.isprintable() else None
