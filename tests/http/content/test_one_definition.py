"""The story of the README over HTTP: one definition works in each ESP."""

from __future__ import annotations

import json

import pytest

from recipient_fields.domain import ADMINISTRATOR, DataType, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, SetName

from ..api import CONTENT_EXPORTS, Api
from ..conftest import Harness

CONTENT = "{{recipient.loyalty_tier}} {{recipient.shop}}"
NAMES = {
    Esp("braze"): ["loyalty_tier", "Shop"],
    Esp("klaviyo"): ["Loyalty Tier", "shop"],
    Esp("mailchimp"): ["TIER", "SHOP"],
    Esp("sfmc"): ["Loyalty_Tier", "shop"],
}
BEFORE = {
    Esp("braze"): "{{custom_attribute.${loyalty_tier}}} {{custom_attribute.${shop}}}",
    Esp("klaviyo"): (
        "{{ person|lookup:'loyalty_tier'|default_if_none:'' }}"
        " {{ person|lookup:'shop'|default_if_none:'' }}"
    ),
    Esp("mailchimp"): "*|TIER|* *|SHOP|*",
    Esp("sfmc"): (
        '%%[ SET @loyalty_tier = AttributeValue("loyalty_tier") ]%%'
        '%%[ SET @shop = AttributeValue("shop") ]%%'
        "%%=v(@loyalty_tier)=%% %%=v(@shop)=%%"
    ),
}
AFTER = {
    Esp("braze"): "{{custom_attribute.${loyalty_tier}}} {{custom_attribute.${Shop}}}",
    Esp("klaviyo"): (
        "{{ person|lookup:'Loyalty Tier'|default_if_none:'' }}"
        " {{ person|lookup:'shop'|default_if_none:'' }}"
    ),
    Esp("mailchimp"): "*|TIER|* *|SHOP|*",
    Esp("sfmc"): (
        '%%[ SET @Loyalty_Tier = AttributeValue("Loyalty_Tier") ]%%'
        '%%[ SET @shop = AttributeValue("shop") ]%%'
        "%%=v(@Loyalty_Tier)=%% %%=v(@shop)=%%"
    ),
}
"""A Mailchimp tag has at most ten characters, so its name is set."""


@pytest.fixture
def integrations(harness: Harness, bakery: OrganizationId) -> dict[Esp, IntegrationId]:
    create = harness.core.integrations.create_integration
    return {esp: create(bakery, esp=esp, name=esp).id for esp in NAMES}


@pytest.mark.parametrize("order", [list(NAMES), list(reversed(NAMES))], ids=["forward", "reverse"])
@pytest.mark.parametrize("definition_first", [True, False])
def test_the_same_content_is_exported_for_four_esps(
    api: Api,
    harness: Harness,
    bakery: OrganizationId,
    integrations: dict[Esp, IntegrationId],
    order: list[Esp],
    definition_first: bool,
):
    def export() -> dict[Esp, str | None]:
        body = {"content": CONTENT, "integration_ids": list(integrations.values())}
        response = api.send("POST", CONTENT_EXPORTS, json.dumps(body))
        assert response.status == 200
        return {
            esp: export["content"]
            for esp, export in zip(integrations, response.json["exports"], strict=True)
        }

    def set_name() -> None:
        names = {"loyalty_tier": SetName("TIER")}
        harness.core.integrations.set_names(bakery, integrations[Esp("mailchimp")], names)

    loyalty_tier = {"name": "Loyalty tier", "data_type": "text"}
    expected: dict[Esp, str] = {}
    if definition_first:
        assert api.post(loyalty_tier).status == 201
        harness.add_field(bakery, ADMINISTRATOR, "shop")
        assert export() == {**BEFORE, Esp("mailchimp"): None}
        set_name()
        assert export() == BEFORE
        expected = {**BEFORE}
    for esp in order:
        fields = [EspField(name=name, data_type=DataType.TEXT) for name in NAMES[esp]]
        harness.core.integrations.sync_fields(bakery, integrations[esp], fields)
        if definition_first:
            expected[esp] = AFTER[esp]
            assert export() == expected
    if not definition_first:
        assert export() == {**AFTER, Esp("mailchimp"): None}
        set_name()
        conflict = api.post(loyalty_tier)
        assert conflict.status_and_code == (409, "key_already_exists")
        assert "TIER at mailchimp" in conflict.messages[0]
    assert export() == AFTER


def test_the_codes_of_a_field_have_one_entry_per_integration(
    api: Api, integrations: dict[Esp, IntegrationId]
):
    assert api.post({"name": "Loyalty tier", "data_type": "text"}).status == 201
    response = api.send("GET", "/api/v1/recipient_fields/loyalty_tier/codes")
    assert response.status == 200
    codes = {each["integration_id"]: each for each in response.json["codes"]}
    klaviyo = codes[integrations[Esp("klaviyo")]]
    assert klaviyo["esp_field_name"] == "loyalty_tier"
    assert (klaviyo["name_from"], klaviyo["state"]) == ("convention", "unknown")
    assert klaviyo["insertion_code"] == "{{ person|lookup:'loyalty_tier' }}"
    assert klaviyo["refusal"] is None
