"""Permissions."""

from __future__ import annotations

import pytest

from recipient_fields.domain import OrganizationId, RecipientField

from .conftest import CHANNELS, Harness

REPLACEMENT = {"name": "Store", "data_type": "text"}


@pytest.fixture(params=CHANNELS)
def field(
    request: pytest.FixtureRequest, harness: Harness, bakery: OrganizationId
) -> RecipientField:
    return harness.add_field(bakery, CHANNELS[request.param])


@pytest.fixture
def own(city) -> int:
    return int(city["id"])


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_field_of_every_origin_is_read_and_listed(api, field, by):
    shown = api.get(getattr(field, by)).field
    assert (shown["key"], shown["source"]) == ("shop", field.origin.source.value)
    assert api.list().fields == [shown]


def test_only_a_synced_field_has_an_integration_and_esp_name(api, field):
    shown = api.get("shop").field
    synced = field.origin.source.value == "integration"
    assert (shown["integration_id"], shown["esp_field_name"]) == (
        (7, "SHOP") if synced else (None, None)
    )


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_field_of_the_api_can_be_changed_replaced_and_deleted(api, city, by):
    reference = city[by]
    assert api.patch(reference, {"name": "Town"}).field["name"] == "Town"
    assert api.put(reference, REPLACEMENT).field["name"] == "Store"
    assert api.delete(reference).status == 204


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_field_of_another_origin_can_only_be_read(api, foreign, by):
    before, reference = api.state(), getattr(foreign, by)
    for response in (
        api.patch(reference, {"name": "Store"}),
        api.patch(reference, {}),
        api.put(reference, REPLACEMENT),
        api.delete(reference),
    ):
        assert response.status_code_and_reason == (403, "forbidden", "field_not_api_managed")
    assert api.state() == before


def test_the_message_names_the_origin_and_where_to_edit_the_field(api, foreign):
    message = api.delete("shop").error["message"]
    manual = foreign.origin.source.value == "manual"
    for words in ("Manual", "in the console") if manual else ("Integration", "service provider"):
        assert words in message


def test_a_read_only_key_can_read(reader, city):
    assert reader.list().keys == ["city"]
    assert reader.get("city").field == city
    assert reader.send("HEAD", "/api/v1/recipient_fields").status == 200
    assert reader.send("OPTIONS", "/api/v1/recipient_fields").status == 204


def test_a_read_only_key_can_not_write(api, reader, own):
    before = api.state()
    responses = [
        reader.post({"name": "Street", "data_type": "text"}),
        reader.patch(own, {"name": "Town"}),
        reader.patch("city", {"name": "Town"}),
        reader.put(own, REPLACEMENT),
        reader.put("street", REPLACEMENT),
        reader.delete(own),
        reader.delete("city"),
    ]
    assert {response.status_code_and_reason for response in responses} == {
        (403, "forbidden", "insufficient_scope")
    }
    assert api.state() == before
