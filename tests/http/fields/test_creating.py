"""POST: creating a field."""

from __future__ import annotations

import pytest

from recipient_fields.domain import DataType, FieldKey, OrganizationId, RecipientField
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField

from ...support.interruptions import delete_integrations_after_a_taken_key
from ..conftest import CHANNELS, Harness

CITY = {"name": "City", "data_type": "text"}
AT = "2026-11-20T09:15:00.123Z"


def test_a_missing_member_gets_its_default(api):
    response = api.post(CITY)
    assert response.status == 201
    (field_id,) = [field["id"] for field in api.list().fields]
    expected = {
        "id": field_id,
        "name": "City",
        "key": "city",
        "data_type": "text",
        "allowed_values": None,
        "insertable": True,
        "source": "api",
        "integration_id": None,
        "esp_field_name": None,
        "custom_insertion_code": None,
        "custom_value_expression": None,
        "created_at": AT,
        "updated_at": AT,
    }
    assert list(response.field.items()) == list(expected.items())


def test_every_writable_member_is_stored(api):
    members = {
        "name": "City",
        "key": "home_town",
        "data_type": "text",
        "allowed_values": ["Wien", "Graz"],
        "insertable": False,
        "custom_insertion_code": "%%=v(@city)=%%",
        "custom_value_expression": "@city",
    }
    created = api.post(members).field
    assert {name: created[name] for name in members} == members
    assert api.get("home_town").field == created


def test_the_response_has_the_location_and_the_entity_tag_of_the_field(api):
    created = api.post(CITY)
    found = api.send("GET", created.headers["location"])
    assert created.headers["location"] == f"/api/v1/recipient_fields/{created.field['id']}"
    assert (found.etag, found.content) == (created.etag, created.content)


def test_a_missing_key_is_derived_from_the_name(api):
    assert api.post({**CITY, "name": "  Größe (cm)  "}).field["key"] == "grosse_cm"


@pytest.mark.parametrize(
    ("name", "rule", "advice"),
    [("Tier 日本", "required", "Choose a key"), ("Sys admin", "reserved", "Choose another key")],
)
def test_a_name_from_which_no_key_can_be_derived_requires_a_key(api, name, rule, advice):
    response = api.post({**CITY, "name": name})
    assert response.violations == [f"/recipient_field/key: {rule}"]
    assert advice in response.error["details"][0]["message"]


@pytest.mark.parametrize("origin", CHANNELS)
def test_a_taken_key_is_a_conflict_with_the_existing_field(harness, api, bakery, origin):
    holder = harness.add_field(bakery, CHANNELS[origin], "city")
    response = api.post(CITY)
    assert response.status_and_code == (409, "key_already_exists")
    (detail,) = response.error["details"]
    assert (detail["pointer"], detail["code"]) == ("/recipient_field/key", "key_already_exists")
    assert (detail["existing_id"], detail["existing_key"]) == (holder.id, "city")
    assert api.list().keys == ["city"]


@pytest.fixture
def synced(harness: Harness, bakery: OrganizationId) -> RecipientField:
    """Create a synced field `loyalty_tier` and two other integrations."""
    integrations = harness.core.integrations
    emails, shop, _ = (
        integrations.create_integration(bakery, esp=esp, name=name)
        for esp, name in (
            (Esp("braze"), "Emails"),
            (Esp("klaviyo"), "Shop"),
            (Esp("mailchimp"), "List"),
        )
    )
    for integration, name in ((emails, "loyalty_tier"), (shop, "Loyalty Tier")):
        reported = [EspField(name=name, data_type=DataType.TEXT)]
        integrations.sync_fields(bakery, integration.id, reported)
    return harness.service.get_field(bakery, FieldKey("loyalty_tier"))


def test_the_key_of_a_synced_field_is_a_conflict_with_its_esp_names(api, synced):
    response = api.post({"name": "Loyalty tier", "data_type": "text"})
    assert response.status_and_code == (409, "key_already_exists")
    message = (
        "A synced field has this key, and already works at every integration. Use it, or choose"
        " another key. Its names there: loyalty_tier at Emails, Loyalty Tier at Shop, none at List."
    )
    assert response.messages == [message, message]
    (detail,) = response.error["details"]
    assert (detail["existing_id"], detail["existing_key"]) == (synced.id, "loyalty_tier")


def test_a_taken_key_is_a_conflict_also_if_its_field_is_deleted_at_once(
    harness, api, bakery, synced, monkeypatch
):
    delete_integrations_after_a_taken_key(monkeypatch, harness.core, bakery)
    response = api.post({"name": "Loyalty tier", "data_type": "text"})
    assert response.status_and_code == (409, "key_already_exists")
    assert api.get(synced.id).status == 404


def test_the_names_of_ten_integrations_are_shown(api, harness, bakery, synced):
    for number in range(8):
        harness.core.integrations.create_integration(bakery, esp=Esp("braze"), name=f"B{number}")
    message = api.post({"name": "Loyalty tier", "data_type": "text"}).messages[0]
    assert message.endswith("loyalty_tier at B6, and 1 more.")


def test_a_batch_has_no_names_because_each_operation_would_need_them(api, synced):
    members = {"name": "Loyalty tier", "data_type": "text"}
    response = api.apply({"operation": "create", "recipient_field": members})
    assert response.error["details"][0]["message"] == (
        "A synced field has this key, and already works at every integration. Use it, or choose"
        " another key."
    )


def test_read_only_members_can_be_sent_with_their_future_values(api):
    read_only_members = {"source": "api", "integration_id": None, "esp_field_name": None}
    assert api.post({**CITY, **read_only_members}).status == 201


def test_an_organization_at_its_limit_can_not_create_fields(harness, bakery):
    limited = Harness(harness.storage, harness.clock, limit=2).client_with_key(bakery)
    harness.add_field(bakery, CHANNELS["manual"])  # It does not count towards the limit.
    for key in ("a", "b"):
        assert limited.post({**CITY, "key": key}).status == 201
    reached = limited.post({**CITY, "key": "c"})
    assert reached.status_and_code == (409, "field_limit_reached")
    assert reached.error["limit"] == 2
    assert limited.put("c", CITY).status_and_code == (409, "field_limit_reached")
    assert limited.put("a", {**CITY, "name": "Town"}).status == 200
    assert limited.list().keys == ["shop", "a", "b"]
