"""A stub of a token issuer, and validators for it."""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from attrs import define, field

from recipient_fields.adapters.introspection import (
    IntrospectionKeyValidator,
    Issuer,
    TokenRules,
    basic,
)

from ...support.http_server import ReceivedRequest, StubResponse

CLIENT, SECRET = "fields & co", "s:cret+ü%"
TOKEN = "opaque-Token_7f3a9c~e1.b2/c3+d4=="
NOW = datetime(2026, 11, 20, 9, 15, tzinfo=UTC)

CLAIMS: dict[str, object] = {
    "organization_id": 7,
    "scope": "profile recipient_fields:read recipient_fields:write",
    "client_id": "backend",
}
"""The claims of a token that can read and write."""


class Clock:
    """A clock that only `advance` changes."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@define
class Tokens:
    """The handler of an issuer with these active tokens, for one client."""

    active: dict[str, dict[str, object]] = field(factory=lambda: {TOKEN: dict(CLAIMS)})
    introspected: list[str] = field(factory=list)

    def __call__(self, request: ReceivedRequest) -> StubResponse:
        assert (request.method, request.path) == ("POST", "/introspect")
        assert request.headers["content-type"] == "application/x-www-form-urlencoded"
        if client_of(request) != (CLIENT, SECRET):
            return StubResponse(401, b'{"error": "invalid_client"}')
        form = parse_qs(request.body.decode("ascii"), strict_parsing=True)
        assert form["token_type_hint"] == ["access_token"]
        (token,) = form["token"]
        self.introspected.append(token)
        claims = self.active.get(token)
        return StubResponse.json(
            {"active": False} if claims is None else {"active": True, **claims}
        )


def client_of(request: ReceivedRequest) -> tuple[str, str]:
    """Return the client id and the secret of a request (RFC 6749, section 2.3.1)."""
    scheme, _, pair = request.headers["authorization"].partition(" ")
    assert scheme == "Basic"
    client_id, _, secret = b64decode(pair, validate=True).decode("ascii").partition(":")
    return unquote_plus(client_id), unquote_plus(secret)


def validator_at(
    origin: str,
    rules: TokenRules | None = None,
    *,
    secret: str = SECRET,
    timeout: float = 2.0,
    **settings: Any,
) -> IntrospectionKeyValidator:
    issuer = Issuer(
        url=f"{origin}/introspect", authorization=basic(CLIENT, secret), timeout=timeout
    )
    return IntrospectionKeyValidator(issuer, rules, **{"clock": Clock(), **settings})
