"""The names of fields at ESPs are read with a few statements."""

from __future__ import annotations

import pytest

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.application import Core
from recipient_fields.domain import DataType, FieldDraft, FieldKey, OrganizationId
from recipient_fields.domain.content import parse_content
from recipient_fields.domain.esp import BUILT_IN, ExportedContent, ExportOptions
from recipient_fields.domain.integrations import EspField


@pytest.fixture
def core(storage: PostgresStorage, ours: OrganizationId) -> Core:
    """Create a field and 20 integrations, of which half have been synced."""
    core = Core.over(storage)
    core.fields.create_field(ours, FieldDraft(name="Tier", data_type=DataType.TEXT))
    for number in range(20):
        esp = list(BUILT_IN.esps)[number % len(BUILT_IN.esps)]
        integration = core.integrations.create_integration(ours, esp=esp, name=f"{number}")
        if number % 2:
            tier = EspField(name="TIER", data_type=DataType.TEXT)
            core.integrations.sync_fields(ours, integration.id, [tier])
    return core


def test_the_codes_for_20_integrations_are_three_round_trips(core, ours, round_trips):
    round_trips.clear()
    listed = core.content.list_codes(ours, FieldKey("tier"))
    assert len(round_trips) == 3
    assert len(listed.codes) == 20


def test_the_exports_for_20_integrations_are_two_round_trips(core, ours, round_trips):
    ids = [each.id for each in core.integrations.list_integrations(ours)]
    content = parse_content("{{recipient.tier}}")
    round_trips.clear()
    options = ExportOptions(strict=False)  # HubSpot writes the name in lower case.
    exports = list(core.content.export_for_integrations(ours, content, ids, options))
    assert len(round_trips) == 2
    assert all(isinstance(each.outcome, ExportedContent) for each in exports)


def test_a_preview_and_its_keys_are_two_round_trips(core, ours, round_trips):
    content = parse_content("{{recipient.tier}} {{recipient.email}}")
    round_trips.clear()
    shown = core.content.preview_content(ours, content, {"tier": "gold"})
    assert len(round_trips) == 2
    assert (shown.content, shown.keys) == ("gold recipient@example.com", ("tier",))
