"""The claims of an active token, and the credential that they prove."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.introspection import TokenRules
from recipient_fields.domain import (
    Access,
    Credential,
    OrganizationId,
    Rejection,
    RejectionReason,
)

from .issuers import CLAIMS, NOW, TOKEN, Clock

READ, WRITE = "recipient_fields:read", "recipient_fields:write"
NOW_SECONDS = int(NOW.timestamp())
MISSING = "(missing)"


def claims_with(**claims: object) -> dict[str, object]:
    """Return the claims of a valid token with these changes."""
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
def test_the_scope_determines_the_access(validator, tokens, scope, access):
    tokens.active[TOKEN] = claims_with(scope=scope)

    credential = validator.validate(TOKEN)

    assert credential == Credential(OrganizationId(7), "backend", access)
    assert credential.catalog_revision is None


INVALID: dict[str, list[object]] = {
    "organization_id": [MISSING, None, "7", 7.0, True, 0, -7, 2**53, [7]],
    "scope": [
        *(MISSING, None, "", "profile", f"{READ}s", f"{READ},{WRITE}", {READ: 1}, 1),
        *(READ.upper(), f"x{READ}", [], [[READ]], [f"{READ} {WRITE}"]),
    ],
    "exp": [None, "soon", True, -1, 1e300, str(NOW_SECONDS + 60), []],
    "nbf": [None, "soon", False, 1e300, NOW_SECONDS + 6],
}


@pytest.mark.parametrize(
    "claims",
    [
        *({name: invalid} for name, values in INVALID.items() for invalid in values),
        {"exp": NOW_SECONDS},
        {"exp": NOW_SECONDS - 0.5},
        {"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
        {"token_type": "DPoP"},
        {"token_type": None},
        {"token_use": "refresh_token"},
        {"typ": "Refresh"},
        {"typ": "ID"},
    ],
    ids=str,
)
def test_a_token_with_missing_or_invalid_claims_is_rejected_with_a_log_line(
    validator, tokens, caplog, claims
):
    caplog.set_level(logging.INFO, "recipient_fields")
    tokens.active[TOKEN] = claims_with(**claims)

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
def test_a_token_with_other_valid_claims_is_valid(validator, tokens, claims):
    tokens.active[TOKEN] = claims_with(**claims)

    assert isinstance(validator.validate(TOKEN), Credential)


def test_a_token_is_valid_until_it_expires(make_validator, tokens):
    clock = Clock()
    validator = make_validator(clock=clock)
    tokens.active[TOKEN] = claims_with(exp=NOW_SECONDS + 60)

    clock.advance(59.999)
    assert isinstance(validator.validate(TOKEN), Credential)
    clock.advance(0.001)
    assert validator.validate(TOKEN) == Rejection(RejectionReason.EXPIRED, "backend")


def test_a_rejection_has_no_key_id_that_contains_the_token(make_validator, tokens):
    tokens.active[TOKEN] = claims_with(exp=NOW_SECONDS, jti=f"id:{TOKEN}")

    outcome = make_validator(TokenRules(key_id_claim="jti")).validate(TOKEN)

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
def test_the_rules_select_the_claims(make_validator, tokens, rules, claims, valid):
    tokens.active[TOKEN] = claims_with(**claims)

    assert isinstance(make_validator(TokenRules(**rules)).validate(TOKEN), Credential) is valid


@pytest.mark.parametrize(
    ("client_id", "key_id"),
    [
        ("backend", "backend"),
        ("x" * 100, "x" * 100),
        *(
            (invalid, None)
            for invalid in (MISSING, None, "", "x" * 101, "ü", "a\nb", 7, ["backend"])
        ),
        (TOKEN, None),
        (f"token {TOKEN}", None),
    ],
)
def test_the_key_id_is_a_short_printable_claim_without_the_token(
    validator, tokens, client_id, key_id
):
    tokens.active[TOKEN] = claims_with(client_id=client_id)

    credential = validator.validate(TOKEN)

    assert credential is not None
    assert credential.key_id == key_id


def test_the_key_id_can_be_another_claim(make_validator, tokens):
    tokens.active[TOKEN] = claims_with(jti="t-1")

    credential = make_validator(TokenRules(key_id_claim="jti")).validate(TOKEN)

    assert credential is not None
    assert credential.key_id == "t-1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["organization_id", "scope", "client_id", "exp", "nbf", "aud", "cnf"])


@given(claims=st.dictionaries(NAMES, JSON), start=st.sampled_from([{}, CLAIMS]))
def test_any_claims_prove_a_credential_or_have_a_reason(claims, start):
    sent = json.loads(json.dumps({**start, **claims}))

    verdict = TokenRules().evaluate(sent, NOW)

    credential = getattr(verdict, "credential", None)
    assert (credential is None) == bool(getattr(verdict, "reason", ""))
    if credential is not None:
        assert sent["organization_id"] == credential.organization_id


def test_unknown_claims_are_ignored() -> None:
    assert TokenRules().evaluate(CLAIMS, NOW) == TokenRules().evaluate({**CLAIMS, "x": 1}, NOW)
    assert hasattr(TokenRules().evaluate(CLAIMS, NOW), "credential")
