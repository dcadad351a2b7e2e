"""Which claims of an active token make it a valid key, and what it then proves."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipient_fields.adapters.introspection import IntrospectionKeyValidator, TokenRules
from recipient_fields.domain import (
    Access,
    Credential,
    OrganizationId,
    Rejection,
    RejectionReason,
)

from .issuers import CLAIMS, NOW, TOKEN, Clock, Tokens

READ, WRITE = "recipient_fields:read", "recipient_fields:write"
NOW_SECONDS = int(NOW.timestamp())
MISSING = "(missing)"

Make = Callable[..., IntrospectionKeyValidator]


def told(**claims: object) -> dict[str, object]:
    """The claims of a good token, with these changed."""
    return {k: v for k, v in {**CLAIMS, **claims}.items() if v is not MISSING}


@pytest.mark.parametrize(
    ("scope", "access"),
    [
        (READ, Access.READ_ONLY),
        (f"openid {READ} email", Access.READ_ONLY),
        (f"{READ} {WRITE}", Access.READ_WRITE),
        (WRITE, Access.READ_WRITE),
        ([READ], Access.READ_ONLY),
        ([WRITE, "x"], Access.READ_WRITE),
    ],
)
def test_the_scope_says_what_the_bearer_may_do(
    validator: IntrospectionKeyValidator, tokens: Tokens, scope: object, access: Access
) -> None:
    tokens.active[TOKEN] = told(scope=scope)

    proven = validator.validate(TOKEN)

    assert proven == Credential(OrganizationId(7), "backend", access)
    assert proven.catalog_revision is None


NOT_AN_EXPIRY: list[object] = [None, "soon", True, -1, 1e300, str(NOW_SECONDS + 60), []]


@pytest.mark.parametrize(
    "claims",
    [
        *({"organization_id": odd} for odd in (MISSING, None, "7", 7.0, True, 0, -7, 2**53, [7])),
        *(
            {"scope": odd}
            for odd in (MISSING, None, "", "profile", f"{READ}s", f"{READ},{WRITE}", {READ: 1}, 1)
        ),
        *({"scope": odd} for odd in (READ.upper(), f"x{READ}", [], [[READ]], [f"{READ} {WRITE}"])),
        *({"exp": odd} for odd in NOT_AN_EXPIRY),
        *({"nbf": odd} for odd in (None, "soon", False, 1e300)),
        {"exp": NOW_SECONDS},
        {"exp": NOW_SECONDS - 0.5},
        {"nbf": NOW_SECONDS + 6},
        {"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
        {"token_type": "DPoP"},
        {"token_type": None},
        {"token_use": "refresh_token"},
        {"typ": "Refresh"},
        {"typ": "ID"},
    ],
    ids=str,
)
def test_a_token_whose_claims_are_missing_or_odd_is_no_key_and_the_log_says_why(
    validator: IntrospectionKeyValidator,
    tokens: Tokens,
    caplog: pytest.LogCaptureFixture,
    claims: dict[str, object],
) -> None:
    caplog.set_level(logging.INFO, "recipient_fields")
    tokens.active[TOKEN] = told(**claims)

    expired = claims.get("exp") in (NOW_SECONDS, NOW_SECONDS - 0.5)
    outcome = validator.validate(TOKEN)
    assert outcome == (
        Rejection(RejectionReason.EXPIRED, "backend")
        if expired
        else Rejection(RejectionReason.UNKNOWN)
    )
    (line,) = [r.getMessage() for r in caplog.records if r.name.startswith("recipient_fields")]
    assert line.startswith("an active token was rejected: ")
    assert TOKEN not in line
    assert ("expired" in line) is expired


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW_SECONDS + 1},
        {"exp": NOW_SECONDS + 0.5},
        {"nbf": NOW_SECONDS},
        {"nbf": NOW_SECONDS + 5},
        {"token_type": "bearer", "token_use": "access_token", "typ": "at+JWT"},
        {"token_type": "Bearer", "typ": "Bearer", "aud": ["elsewhere"], "iss": "anyone"},
        {"organization_id": 2**53 - 1},
    ],
    ids=str,
)
def test_a_token_with_other_usual_claims_is_a_key(
    validator: IntrospectionKeyValidator, tokens: Tokens, claims: dict[str, object]
) -> None:
    tokens.active[TOKEN] = told(**claims)

    assert isinstance(validator.validate(TOKEN), Credential)


def test_a_token_is_a_key_until_it_expires(asking: Make, tokens: Tokens) -> None:
    clock = Clock()
    validator = asking(clock=clock)
    tokens.active[TOKEN] = told(exp=NOW_SECONDS + 60)

    clock.move(59.999)
    assert isinstance(validator.validate(TOKEN), Credential)
    clock.move(0.001)
    assert validator.validate(TOKEN) == Rejection(RejectionReason.EXPIRED, "backend")


def test_an_expired_token_that_is_its_own_name_is_not_in_the_rejection(
    asking: Make, tokens: Tokens
) -> None:
    tokens.active[TOKEN] = told(exp=NOW_SECONDS, jti=f"id:{TOKEN}")

    outcome = asking(TokenRules(key_id_claim="jti")).validate(TOKEN)

    assert outcome == Rejection(RejectionReason.EXPIRED)


@pytest.mark.parametrize(
    ("rules", "claims", "valid"),
    [
        ({"audience": "fields"}, {"aud": "fields"}, True),
        ({"audience": "fields"}, {"aud": ["x", "fields"]}, True),
        ({"audience": "fields"}, {}, False),
        ({"audience": "fields"}, {"aud": "fields2"}, False),
        ({"audience": "fields"}, {"aud": ["x", ["fields"]]}, False),
        ({"audience": "fields"}, {"aud": {"fields": 1}}, False),
        ({"issuer": "https://a.example"}, {"iss": "https://a.example"}, True),
        ({"issuer": "https://a.example"}, {"iss": "https://a.example/"}, False),
        ({"issuer": "https://a.example"}, {}, False),
        ({"organization_claim": "https://a.example/org"}, {"https://a.example/org": 7}, True),
        ({"organization_claim": "org"}, {}, False),
        ({"access_claim": "permissions"}, {"permissions": [READ]}, True),
        ({"access_claim": "permissions"}, {}, False),
        ({"read_scope": "r", "write_scope": "w"}, {"scope": "r"}, True),
        ({"read_scope": "r", "write_scope": "w"}, {}, False),
    ],
)
def test_which_claims_count_can_be_set(
    asking: Make,
    tokens: Tokens,
    rules: dict[str, str],
    claims: dict[str, object],
    valid: bool,
) -> None:
    tokens.active[TOKEN] = told(**claims)

    assert isinstance(asking(TokenRules(**rules)).validate(TOKEN), Credential) is valid


@pytest.mark.parametrize(
    ("client_id", "key_id"),
    [
        ("backend", "backend"),
        ("x" * 100, "x" * 100),
        *((odd, None) for odd in (MISSING, None, "", "x" * 101, "ü", "a\nb", 7, ["backend"])),
        (TOKEN, None),
        (f"token {TOKEN}", None),
    ],
)
def test_the_log_knows_a_key_by_a_short_name_or_none_and_never_by_itself(
    validator: IntrospectionKeyValidator, tokens: Tokens, client_id: object, key_id: str | None
) -> None:
    tokens.active[TOKEN] = told(client_id=client_id)

    proven = validator.validate(TOKEN)

    assert proven is not None
    assert proven.key_id == key_id


def test_the_name_can_be_another_claim(asking: Make, tokens: Tokens) -> None:
    tokens.active[TOKEN] = told(jti="t-1")

    proven = asking(TokenRules(key_id_claim="jti")).validate(TOKEN)

    assert proven is not None
    assert proven.key_id == "t-1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["organization_id", "scope", "client_id", "exp", "nbf", "aud", "cnf"])


@given(claims=st.dictionaries(NAMES, JSON), start=st.sampled_from([{}, CLAIMS]))
@settings(deadline=None)
def test_whatever_the_claims_are_they_prove_a_credential_or_give_a_reason(
    claims: dict[str, Any], start: dict[str, object]
) -> None:
    sent = json.loads(json.dumps({**start, **claims}))

    verdict = TokenRules().judge(sent, NOW)

    credential = getattr(verdict, "credential", None)
    assert (credential is None) == bool(getattr(verdict, "reason", ""))
    if credential is not None:
        assert sent["organization_id"] == credential.organization_id


def test_the_usual_claims_prove_a_credential() -> None:
    assert TokenRules().judge(CLAIMS, NOW) == TokenRules().judge({**CLAIMS, "x": 1}, NOW)
    assert hasattr(TokenRules().judge(CLAIMS, NOW), "credential")
