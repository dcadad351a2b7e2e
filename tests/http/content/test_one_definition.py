"""The story of the README over HTTP: one definition works in each ESP."""

from __future__ import annotations

import json

import pytest

from recipient_fields.domain import ADMINISTRATOR, DataType, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp, EspField

from ..api import CONTENT_EXPORTS, Api
from ..conftest import Harness

CONTENT = "{{recipient.loyalty_tier}} {{recipient.shop}}"
NAMES = {Esp.BRAZE: ["loyalty_tier", "Shop"], Esp.KLAVIYO: ["Loyalty Tier", "shop"]}
AFTER = {
    Esp.BRAZE: "{{custom_attribute.${loyalty_tier}}} {{custom_attribute.${Shop}}}",
    Esp.KLAVIYO: "{{ person|lookup:'Loyalty Tier' }} {{ person|lookup:'shop' }}",
}


@pytest.fixture
def integrations(harness: Harness, bakery: OrganizationId) -> dict[Esp, IntegrationId]:
    create = harness.core.integrations.create_integration
    return {esp: create(bakery, esp=esp, name=esp.value).id for esp in NAMES}


@pytest.mark.parametrize("order", [list(NAMES), list(reversed(NAMES))], ids=str)
@pytest.mark.parametrize("definition_first", [True, False])
def test_the_same_content_is_exported_for_two_esps(
    api: Api,
    harness: Harness,
    bakery: OrganizationId,
    integrations: dict[Esp, IntegrationId],
    order: list[Esp],
    definition_first: bool,
) -> None:
    def export() -> dict[Esp, str]:
        body = {"content": CONTENT, "integration_ids": list(integrations.values())}
        response = api.send("POST", CONTENT_EXPORTS, json.dumps(body))
        assert response.status == 200
        return {
            esp: export["content"]
            for esp, export in zip(integrations, response.json["exports"], strict=True)
        }

    loyalty_tier = {"name": "Loyalty tier", "data_type": "text"}
    if definition_first:
        assert api.post(loyalty_tier).status == 201
        harness.add_field(bakery, ADMINISTRATOR, "shop")
        assert export() == {
            Esp.BRAZE: "{{custom_attribute.${loyalty_tier}}} {{custom_attribute.${shop}}}",
            Esp.KLAVIYO: "{{ person|lookup:'loyalty_tier' }} {{ person|lookup:'shop' }}",
        }
    for esp in order:
        fields = [EspField(name=name, data_type=DataType.TEXT) for name in NAMES[esp]]
        harness.core.integrations.sync_fields(bakery, integrations[esp], fields)
        assert set(export()) == set(NAMES)
    assert export() == AFTER
    if not definition_first:
        assert api.post(loyalty_tier).status_and_code == (409, "key_already_exists")


def test_the_codes_of_a_field_have_one_entry_per_integration(
    api: Api, integrations: dict[Esp, IntegrationId]
) -> None:
    assert api.post({"name": "Loyalty tier", "data_type": "text"}).status == 201
    response = api.send("GET", "/api/v1/recipient_fields/loyalty_tier/codes")
    assert response.status == 200
    codes = {each["integration_id"]: each for each in response.json["codes"]}
    klaviyo = codes[integrations[Esp.KLAVIYO]]
    assert klaviyo["esp_field_name"] == "loyalty_tier"
    assert (klaviyo["name_from"], klaviyo["state"]) == ("convention", "unknown")
    assert klaviyo["insertion_code"] == "{{ person|lookup:'loyalty_tier' }}"
    assert klaviyo["refusal"] is None
