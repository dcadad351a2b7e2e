"""Changes of API keys while the service runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recipient_fields.application import Core, IssuedKey
from recipient_fields.domain import OrganizationId

from ..support.command_line import Script
from ..support.service import FIELDS, Service

pytestmark = pytest.mark.slow


def test_a_key_created_on_the_command_line_is_valid_at_once(
    service: Service, script: Script, acme: OrganizationId
) -> None:
    create = ("keys", "create", "--organization", acme, "--name", "New", "--json")
    key = script(*create).document()["api_key"]["key"]

    assert service.client(key).fields() == []


def test_the_request_after_a_revocation_is_rejected(
    service: Service, script: Script, issued: IssuedKey
) -> None:
    client = service.client(issued.plain.reveal())
    assert client("GET", FIELDS).status == 200

    revoke = ("keys", "revoke", issued.api_key.id, "--organization", issued.api_key.organization_id)
    assert script(*revoke, "--yes").status == 0

    response = client("GET", FIELDS)
    assert response.status == 401
    assert response.code == "unauthorized"
    assert "WWW-Authenticate" in response.headers
    assert client.create(name="Shop").status == 401


def test_a_revocation_does_not_affect_other_keys(
    service: Service, core: Core, acme: OrganizationId, key: str
) -> None:
    other = core.administration.issue_key(acme, name="Other")

    core.administration.revoke_key(acme, other.api_key.id)

    assert service.client(other.plain.reveal())("GET", FIELDS).status == 401
    assert service.client(key)("GET", FIELDS).status == 200


def test_a_key_is_valid_exactly_until_it_expires(
    service: Service, core: Core, acme: OrganizationId
) -> None:
    issued = core.administration.issue_key(acme, name="Brief", lifetime=timedelta(seconds=1))
    client = service.client(issued.plain.reveal())
    expires_at = issued.api_key.expires_at
    assert expires_at is not None

    while True:
        sent_at = datetime.now(UTC)
        response = client("GET", FIELDS)
        if response.status != 200:
            break
        assert sent_at < expires_at

    assert (response.status, response.code) == (401, "unauthorized")
    assert datetime.now(UTC) >= expires_at


def rotate(script: Script, issued: IssuedKey, grace: str) -> dict[str, Any]:
    """Rotate the key on the command line and return what it prints."""
    key = issued.api_key
    arguments = (key.id, "--organization", key.organization_id)
    rotated = script("keys", "rotate", *arguments, "--grace", grace, "--yes", "--json")
    document: dict[str, Any] = rotated.document()
    return document


@pytest.mark.parametrize(("grace", "status"), [("1h", 200), ("0s", 401)])
def test_a_rotated_key_is_valid_during_the_grace_period_and_its_successor_at_once(
    service: Service, script: Script, issued: IssuedKey, key: str, grace: str, status: int
) -> None:
    rotated = rotate(script, issued, grace)

    assert service.client(key)("GET", FIELDS).status == status
    assert service.client(rotated["api_key"]["key"])("GET", FIELDS).status == 200


def test_the_command_line_shows_the_last_use_of_a_key(
    service: Service, script: Script, acme: OrganizationId, key: str
) -> None:
    def last_used_at() -> object:
        listed = script("keys", "list", "--organization", acme, "--json").document()
        return listed["api_keys"][0]["last_used_at"]

    assert last_used_at() is None
    service.client(key).fields()
    assert last_used_at() is not None
