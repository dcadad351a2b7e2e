"""What is kept of an answer, where that is wished."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from recipient_fields.adapters.introspection import IntrospectionKeyValidator
from recipient_fields.domain import (
    Credential,
    KeyValidationUnavailable,
    Rejection,
)

from ...support.http_server import Played, Stage
from .issuers import CLAIMS, NOW, TOKEN, Clock, Tokens

NOW_SECONDS = int(NOW.timestamp())

Make = Callable[..., IntrospectionKeyValidator]


def test_a_token_is_asked_about_once_in_the_window_and_a_revocation_seen_after_it(
    asking: Make, tokens: Tokens
) -> None:
    validator = asking(cache_seconds=0.5)
    first = validator.validate(TOKEN)
    del tokens.active[TOKEN]

    assert [validator.validate(TOKEN) for _ in range(5)] == [first] * 5
    assert tokens.asked == [TOKEN]

    time.sleep(0.55)
    assert isinstance(validator.validate(TOKEN), Rejection)
    assert tokens.asked == [TOKEN] * 2


def test_without_a_window_nothing_is_kept(
    validator: IntrospectionKeyValidator, tokens: Tokens
) -> None:
    for _ in range(3):
        validator.validate(TOKEN)

    assert tokens.asked == [TOKEN] * 3


def test_nothing_is_kept_beyond_the_end_of_the_token(asking: Make, tokens: Tokens) -> None:
    clock = Clock()
    validator = asking(cache_seconds=60, clock=clock)
    tokens.active[TOKEN]["exp"] = NOW_SECONDS + 10

    assert isinstance(validator.validate(TOKEN), Credential)
    clock.move(9.999)
    assert isinstance(validator.validate(TOKEN), Credential)
    assert tokens.asked == [TOKEN]
    clock.move(0.001)
    assert isinstance(validator.validate(TOKEN), Rejection)


def test_what_is_no_valid_key_is_asked_about_each_time(asking: Make, tokens: Tokens) -> None:
    validator = asking(cache_seconds=60)
    claims = tokens.active.pop(TOKEN)
    assert isinstance(validator.validate(TOKEN), Rejection)
    tokens.active[TOKEN] = {**claims, "scope": "profile"}
    assert isinstance(validator.validate(TOKEN), Rejection)

    tokens.active[TOKEN] = claims

    assert isinstance(validator.validate(TOKEN), Credential)
    assert tokens.asked == [TOKEN] * 3


def test_one_token_is_never_taken_for_another(asking: Make, tokens: Tokens) -> None:
    validator = asking(cache_seconds=60)
    tokens.active["other"] = {**CLAIMS, "organization_id": 8}

    for _ in range(2):
        proven = [validator.validate(token) for token in (TOKEN, "other", "none")]
        assert [getattr(p, "organization_id", None) for p in proven] == [7, 8, None]


def test_the_number_of_kept_tokens_is_bounded_and_the_oldest_goes_first(
    asking: Make, tokens: Tokens
) -> None:
    validator = asking(cache_seconds=60, cache_tokens=2)
    tokens.active = {token: dict(CLAIMS) for token in ("a", "b", "c")}

    for token in ("a", "b", "c", "b", "c", "a"):
        assert isinstance(validator.validate(token), Credential)

    assert tokens.asked == ["a", "b", "c", "a"]


def test_what_is_kept_holds_while_the_issuer_is_away(asking: Make, issuer: Stage) -> None:
    validator = asking(cache_seconds=60)
    proven = validator.validate(TOKEN)
    issuer.play = lambda _: Played(503)

    assert validator.validate(TOKEN) == proven
    with pytest.raises(KeyValidationUnavailable):
        validator.validate("another-token")


def test_no_token_is_kept_as_it_is(asking: Make) -> None:
    validator = asking(cache_seconds=60)
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
