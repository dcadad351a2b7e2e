"""The cache of valid tokens."""

from __future__ import annotations

import time

import pytest

from recipient_fields.domain import (
    Credential,
    KeyValidationUnavailable,
    Rejection,
)

from ...support.http_server import StubResponse
from .issuers import CLAIMS, NOW, TOKEN, Clock

NOW_SECONDS = int(NOW.timestamp())


def test_a_revocation_is_effective_when_the_cache_entry_expires(make_validator, tokens):
    validator = make_validator(cache_seconds=0.5)
    first = validator.validate(TOKEN)
    del tokens.active[TOKEN]

    assert [validator.validate(TOKEN) for _ in range(5)] == [first] * 5
    assert tokens.introspected == [TOKEN]

    time.sleep(0.55)
    assert isinstance(validator.validate(TOKEN), Rejection)
    assert tokens.introspected == [TOKEN] * 2


def test_tokens_are_not_cached_by_default(validator, tokens):
    for _ in range(3):
        validator.validate(TOKEN)

    assert tokens.introspected == [TOKEN] * 3


def test_a_token_is_not_cached_after_it_has_expired(make_validator, tokens):
    clock = Clock()
    validator = make_validator(cache_seconds=60, clock=clock)
    tokens.active[TOKEN]["exp"] = NOW_SECONDS + 10

    assert isinstance(validator.validate(TOKEN), Credential)
    clock.advance(9.999)
    assert isinstance(validator.validate(TOKEN), Credential)
    assert tokens.introspected == [TOKEN]
    clock.advance(0.001)
    assert isinstance(validator.validate(TOKEN), Rejection)


def test_rejections_are_not_cached(make_validator, tokens):
    validator = make_validator(cache_seconds=60)
    claims = tokens.active.pop(TOKEN)
    assert isinstance(validator.validate(TOKEN), Rejection)
    tokens.active[TOKEN] = {**claims, "scope": "profile"}
    assert isinstance(validator.validate(TOKEN), Rejection)

    tokens.active[TOKEN] = claims

    assert isinstance(validator.validate(TOKEN), Credential)
    assert tokens.introspected == [TOKEN] * 3


def test_each_token_has_its_own_cache_entry(make_validator, tokens):
    validator = make_validator(cache_seconds=60)
    tokens.active["other"] = {**CLAIMS, "organization_id": 8}

    for _ in range(2):
        outcomes = [validator.validate(token) for token in (TOKEN, "other", "none")]
        assert [getattr(outcome, "organization_id", None) for outcome in outcomes] == [7, 8, None]


def test_the_oldest_entry_is_evicted_if_the_cache_is_full(make_validator, tokens):
    validator = make_validator(cache_seconds=60, cache_tokens=2)
    tokens.active = {token: dict(CLAIMS) for token in ("a", "b", "c")}

    for token in ("a", "b", "c", "b", "c", "a"):
        assert isinstance(validator.validate(token), Credential)

    assert tokens.introspected == ["a", "b", "c", "a"]


def test_a_cached_token_is_valid_while_the_issuer_is_unavailable(make_validator, issuer):
    validator = make_validator(cache_seconds=60)
    credential = validator.validate(TOKEN)
    issuer.handler = lambda _: StubResponse(503)

    assert validator.validate(TOKEN) == credential
    with pytest.raises(KeyValidationUnavailable):
        validator.validate("another-token")


def test_the_cache_does_not_contain_tokens(make_validator):
    validator = make_validator(cache_seconds=60)
    validator.validate(TOKEN)

    seen: set[int] = set()
    waiting: list[object] = [validator]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        assert TOKEN not in str(each)
        if isinstance(each, dict):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set):
            waiting += each
        elif type(each).__module__.startswith("recipient_fields"):
            slots = [getattr(each, name, None) for name in getattr(each, "__slots__", ())]
            waiting += [*slots, *vars(each).values()] if hasattr(each, "__dict__") else slots
    assert len(seen) > 20
