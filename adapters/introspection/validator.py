"""The KeyValidator over an issuer's tokens."""

from __future__ import annotations

import logging
from collections import OrderedDict
from hashlib import sha256
from threading import Lock
from time import monotonic
from typing import TypeVar

from attrs import evolve, frozen

from recipient_fields.application import Clock, system_clock
from recipient_fields.domain import Credential, PlainKey, Rejection, RejectionReason

from .issuer import TOKEN, Endpoint, Issuer
from .rules import Proven, TokenRules, Unproven

LONGEST_CACHE_SECONDS = 300
USUAL_CACHE_TOKENS = 10_000
LONGEST_TOKEN = 8_192

Outcome = TypeVar("Outcome", Credential, Rejection)

_log = logging.getLogger(__name__)


class IntrospectionKeyValidator:
    """The KeyValidator that asks an issuer of tokens about each one that is presented.

    What a valid token proves is kept for `cache_seconds` (0 to 300, and never beyond the token's
    end) under the token's SHA-256, for `cache_tokens` tokens: so late a revocation is noticed. What
    is no valid key is never kept. ValueError where a number is out of range.
    """

    def __init__(
        self,
        issuer: Issuer,
        rules: TokenRules | None = None,
        *,
        clock: Clock = system_clock,
        cache_seconds: float = 0,
        cache_tokens: int = USUAL_CACHE_TOKENS,
    ) -> None:
        if not 0 <= cache_seconds <= LONGEST_CACHE_SECONDS or cache_tokens < 1:
            raise ValueError(
                f"What a token proves is kept for 0 to {LONGEST_CACHE_SECONDS} seconds,"
                " for 1 token or more."
            )
        self._endpoint = Endpoint(issuer)
        self._rules = rules or TokenRules()
        self._clock = clock
        self._kept = _Kept(cache_seconds, cache_tokens) if cache_seconds else None

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Ask the issuer, unless the text can't be one of its tokens."""
        if len(presented) > LONGEST_TOKEN or TOKEN.fullmatch(presented) is None:
            return Rejection(RejectionReason.MALFORMED)
        if PlainKey.parse(presented) is not None:  # The issuer must not see a key of ours.
            return Rejection(RejectionReason.UNKNOWN)
        if self._kept is None:
            proven = self._introspect(presented)
            return proven if isinstance(proven, Rejection) else proven.credential
        digest = sha256(presented.encode("ascii")).digest()
        kept = self._kept.find(digest, self._clock().timestamp())
        if kept is not None:
            return kept
        asked_at = monotonic()
        proven = self._introspect(presented)
        if isinstance(proven, Rejection):
            return proven
        self._kept.keep(digest, proven, asked_at)
        return proven.credential

    def close(self) -> None:
        """Give back the connections, for good: no token can be told any more."""
        self._endpoint.close()

    def _introspect(self, token: str) -> Proven | Rejection:
        claims = self._endpoint.introspect(token)
        if claims is None:
            return Rejection(RejectionReason.UNKNOWN)
        verdict = self._rules.judge(claims, self._clock())
        if isinstance(verdict, Unproven):
            _log.info("an active token was refused: %s", verdict.reason)
            return _without(token, verdict.rejection)
        return evolve(verdict, credential=_without(token, verdict.credential))


def _without(token: str, outcome: Outcome) -> Outcome:
    """Return the outcome without a `key_id` that contains the token: the log shows that id."""
    if isinstance(outcome.key_id, str) and token in outcome.key_id:
        return evolve(outcome, key_id=None)
    return outcome


@frozen
class _Entry:
    credential: Credential
    until: float
    expires_at: float | None


class _Kept:
    """What was proven lately, by the SHA-256 of the token. The oldest goes first."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._lock = Lock()
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()

    def find(self, digest: bytes, now: float) -> Credential | None:
        """What the token has proven; None where that is too long ago or over at `now`."""
        with self._lock:
            entry = self._entries.get(digest)
        if entry is None or monotonic() >= entry.until:
            return None
        over = entry.expires_at is not None and now >= entry.expires_at
        return None if over else entry.credential

    def keep(self, digest: bytes, proven: Proven, asked_at: float) -> None:
        """Keep what a token has proven, counted from when the issuer was asked."""
        entry = _Entry(proven.credential, asked_at + self._seconds, proven.expires_at)
        with self._lock:
            self._entries[digest] = entry
            self._entries.move_to_end(digest)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
