"""API keys that come and go while the service runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recipient_fields.application import Core, IssuedKey
from recipient_fields.domain import OrganizationId

from ..support.command_line import Script
from ..support.service import FIELDS, Service


def test_a_key_made_on_the_command_line_is_good_for_the_next_request(
    service: Service, script: Script, acme: OrganizationId
) -> None:
    create = ("keys", "create", "--organization", acme, "--name", "New", "--json")
    key = script(*create).document()["api_key"]["key"]

    assert service.client(key).fields() == []


def test_the_request_after_a_revocation_is_refused(
    service: Service, script: Script, issued: IssuedKey
) -> None:
    client = service.client(issued.plain.reveal())
    assert client("GET", FIELDS).status == 200

    end = ("keys", "revoke", issued.api_key.id, "--organization", issued.api_key.organization_id)
    assert script(*end, "--yes").status == 0

    answer = client("GET", FIELDS)
    assert answer.status == 401
    assert answer.code == "unauthorized"
    assert "WWW-Authenticate" in answer.headers
    assert client.create(name="Shop").status == 401


def test_a_revocation_leaves_other_keys_alone(
    service: Service, core: Core, acme: OrganizationId, key: str
) -> None:
    other = core.administration.issue_key(acme, name="Other")

    core.administration.revoke_key(acme, other.api_key.id)

    assert service.client(other.plain.reveal())("GET", FIELDS).status == 401
    assert service.client(key)("GET", FIELDS).status == 200


def test_a_key_is_good_until_the_moment_it_expires_and_not_after(
    service: Service, core: Core, acme: OrganizationId
) -> None:
    issued = core.administration.issue_key(acme, name="Brief", lifetime=timedelta(seconds=1))
    client = service.client(issued.plain.reveal())
    expires_at = issued.api_key.expires_at
    assert expires_at is not None

    while True:
        asked_at = datetime.now(UTC)
        answer = client("GET", FIELDS)
        if answer.status != 200:
            break
        assert asked_at < expires_at

    assert (answer.status, answer.code) == (401, "unauthorized")
    assert datetime.now(UTC) >= expires_at


def rotate(script: Script, issued: IssuedKey, grace: str) -> dict[str, Any]:
    """Rotate the key on the command line and return what it prints."""
    key = issued.api_key
    which = (key.id, "--organization", key.organization_id)
    rotated = script("keys", "rotate", *which, "--grace", grace, "--yes", "--json")
    document: dict[str, Any] = rotated.document()
    return document


def test_a_rotated_key_lives_on_for_its_grace_beside_its_successor(
    service: Service, script: Script, issued: IssuedKey, key: str
) -> None:
    rotated = rotate(script, issued, "1h")

    assert service.client(key)("GET", FIELDS).status == 200
    assert service.client(rotated["api_key"]["key"])("GET", FIELDS).status == 200


def test_a_key_rotated_without_grace_is_refused_at_once(
    service: Service, script: Script, issued: IssuedKey, key: str
) -> None:
    rotated = rotate(script, issued, "0s")

    assert service.client(key)("GET", FIELDS).status == 401
    assert service.client(rotated["api_key"]["key"])("GET", FIELDS).status == 200


def test_a_read_only_key_reads_and_writes_nothing(
    service: Service, script: Script, acme: OrganizationId
) -> None:
    create = ("keys", "create", "--organization", acme, "--name", "R", "--read-only", "--json")
    client = service.client(script(*create).document()["api_key"]["key"])

    answer = client.create(name="Shop")

    assert (answer.status, answer.document["error"]["reason"]) == (403, "insufficient_scope")
    assert client.fields() == []


def test_the_use_of_a_key_shows_on_the_command_line(
    service: Service, script: Script, acme: OrganizationId, key: str
) -> None:
    def last_used_at() -> object:
        listed = script("keys", "list", "--organization", acme, "--json").document()
        return listed["api_keys"][0]["last_used_at"]

    assert last_used_at() is None
    service.client(key).fields()
    assert last_used_at() is not None


@pytest.mark.parametrize("change", [str.lower, str.upper, lambda k: k[:-1], lambda k: k + "0"])
def test_a_mistyped_key_is_refused(service: Service, key: str, change: object) -> None:
    assert callable(change)

    assert service.client(change(key))("GET", FIELDS).status == 401
