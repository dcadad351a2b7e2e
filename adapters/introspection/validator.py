"""The KeyValidator for the tokens of an issuer."""

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
from .rules import InvalidToken, TokenRules, ValidToken

MAX_CACHE_SECONDS = 300
"""A revoked token is accepted for this long at most."""
DEFAULT_CACHE_TOKENS = 10_000
MAX_TOKEN_LENGTH = 8_192
"""Longer tokens are rejected without a request: most servers limit the headers to 8 or 16 KiB."""

Outcome = TypeVar("Outcome", Credential, Rejection)

_log = logging.getLogger(__name__)


class IntrospectionKeyValidator:
    """The KeyValidator that sends each presented token to its issuer.

    The outcome for a valid token is cached by its SHA-256 for `cache_seconds` (0 to 300), at most
    until the token expires, for the last `cache_tokens` tokens. A revocation applies when the entry
    expires. Rejections are not cached. Raises: ValueError if a number is out of range.
    """

    def __init__(
        self,
        issuer: Issuer,
        rules: TokenRules | None = None,
        *,
        clock: Clock = system_clock,
        cache_seconds: float = 0,
        cache_tokens: int = DEFAULT_CACHE_TOKENS,
    ) -> None:
        if not 0 <= cache_seconds <= MAX_CACHE_SECONDS or cache_tokens < 1:
            raise ValueError(
                f"Invalid cache settings: use 0 to {MAX_CACHE_SECONDS} seconds and 1 token or more."
            )
        self._endpoint = Endpoint(issuer)
        self._rules = rules or TokenRules()
        self._clock = clock
        self._cache = _Cache(cache_seconds, cache_tokens) if cache_seconds else None

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Return the outcome of the issuer, or reject a text that can't be one of its tokens."""
        if len(presented) > MAX_TOKEN_LENGTH or TOKEN.fullmatch(presented) is None:
            return Rejection(RejectionReason.MALFORMED)
        # The issuer must not receive an API key of this service.
        if PlainKey.parse(presented) is not None:
            return Rejection(RejectionReason.UNKNOWN)
        if self._cache is None:
            outcome = self._introspect(presented)
            return outcome if isinstance(outcome, Rejection) else outcome.credential
        digest = sha256(presented.encode("ascii")).digest()
        cached = self._cache.find(digest, self._clock().timestamp())
        if cached is not None:
            return cached
        requested_at = monotonic()
        outcome = self._introspect(presented)
        if isinstance(outcome, Rejection):
            return outcome
        self._cache.add(digest, outcome, requested_at)
        return outcome.credential

    def close(self) -> None:
        """Close all connections. Later calls raise KeyValidationUnavailable."""
        self._endpoint.close()

    def _introspect(self, token: str) -> ValidToken | Rejection:
        claims = self._endpoint.introspect(token)
        if claims is None:
            return Rejection(RejectionReason.UNKNOWN)
        verdict = self._rules.evaluate(claims, self._clock())
        if isinstance(verdict, InvalidToken):
            _log.info("an active token was rejected: %s", verdict.reason)
            return _without_token(token, verdict.rejection)
        return evolve(verdict, credential=_without_token(token, verdict.credential))


def _without_token(token: str, outcome: Outcome) -> Outcome:
    """Return the outcome without a `key_id` that contains the token: the log shows that id."""
    if isinstance(outcome.key_id, str) and token in outcome.key_id:
        return evolve(outcome, key_id=None)
    return outcome


@frozen
class _Entry:
    credential: Credential
    until: float
    expires_at: float | None


class _Cache:
    """Credentials by the SHA-256 of their token. It is thread-safe, and evicts the oldest entry."""

    def __init__(self, seconds: float, max_entries: int) -> None:
        self._seconds = seconds
        self._max_entries = max_entries
        self._lock = Lock()
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()

    def find(self, digest: bytes, now: float) -> Credential | None:
        """Return the credential, or None if the entry or, at `now`, the token has expired."""
        with self._lock:
            entry = self._entries.get(digest)
        if entry is None or monotonic() >= entry.until:
            return None
        expired = entry.expires_at is not None and now >= entry.expires_at
        return None if expired else entry.credential

    def add(self, digest: bytes, token: ValidToken, requested_at: float) -> None:
        """Cache the credential of a token. Its lifetime begins with the request to the issuer."""
        entry = _Entry(token.credential, requested_at + self._seconds, token.expires_at)
        with self._lock:
            self._entries[digest] = entry
            self._entries.move_to_end(digest)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
