"""Documents of integrations."""

from __future__ import annotations

from attrs import evolve

from recipient_fields.application.esp.documents import render_integration
from recipient_fields.domain import IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Integration
from recipient_fields.testing.examples import LATER, NOW


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
