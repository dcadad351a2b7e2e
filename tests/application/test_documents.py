"""Documents of request bodies, and of integrations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve

from recipient_fields.application import InvalidDocument
from recipient_fields.application.documents import (
    parse_changes,
    parse_draft,
    parse_replacement,
    render_integration,
)
from recipient_fields.application.esp_code_documents import parse_content_export
from recipient_fields.domain import IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp, Integration
from recipient_fields.testing.examples import LATER, NOW


def violations(parse: Callable[[object], object], document: object) -> dict[str, str]:
    """Return the messages by JSON pointer."""
    with pytest.raises(InvalidDocument) as caught:
        parse(document)
    return {
        "".join(f"/{step}" for step in each.path): each.message for each in caught.value.violations
    }


@pytest.mark.parametrize(
    "parse",
    [parse_draft, parse_changes, lambda document: parse_replacement(document, "city")],
    ids=["POST", "PATCH", "PUT"],
)
@pytest.mark.parametrize(
    ("document", "pointer", "message"),
    [
        ([], "", "Send a JSON object."),
        ({}, "/recipient_field", "Send the field's members in this object."),
        ({"recipient_field": []}, "/recipient_field", "This must be an object."),
    ],
)
def test_a_body_without_members_has_one_violation(parse, document, pointer, message):
    assert violations(parse, document) == {pointer: message}


def test_a_member_of_the_wrong_type_is_found_by_its_pointer():
    members = {"name": "Tier", "data_type": "text", "allowed_values": "gold"}
    assert violations(parse_draft, {"recipient_field": members}) == {
        "/recipient_field/allowed_values": "This must be an array or null."
    }


def test_content_has_a_maximum_length():
    document = {"content": "x" * 1_000_001, "esp": "braze"}
    assert violations(parse_content_export, document) == {
        "/content": "Line 1, column 1: Send at most 1,000,000 characters."
    }


def test_an_integration_shows_its_last_sync():
    integration = Integration(
        id=IntegrationId(7),
        organization_id=OrganizationId(1),
        esp=Esp.BRAZE,
        name="Main list",
        created_at=NOW,
    )
    assert render_integration(integration)["last_synced_at"] is None
    synced = render_integration(evolve(integration, last_synced_at=LATER))
    assert synced["last_synced_at"] == "2026-11-20T10:15:00.123Z"
