"""POST: creating a field (HTTP contract, sections 2 and 4)."""

from __future__ import annotations

import pytest

from recipient_fields.domain import OrganizationId

from .api import Api
from .conftest import CHANNELS, Clock, Harness

CITY = {"name": "City", "data_type": "text"}
AT = "2026-11-20T09:15:00.123Z"


def test_a_missing_member_gets_its_default(api: Api):
    response = api.post(CITY)
    assert response.status == 201
    (field_id,) = [field["id"] for field in api.list().fields]
    assert response.field == {
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


def test_every_writable_member_is_stored(api: Api):
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


@pytest.mark.parametrize("data_type", ["text", "number", "boolean", "date", "datetime"])
def test_a_field_can_have_any_of_the_five_data_types(api: Api, data_type: str):
    assert api.post({**CITY, "data_type": data_type}).field["data_type"] == data_type


def test_the_response_has_the_location_and_the_entity_tag_of_the_field(api: Api):
    created = api.post(CITY)
    found = api.send("GET", created.headers["location"])
    assert created.headers["location"] == f"/api/v1/recipient_fields/{created.field['id']}"
    assert (found.etag, found.content) == (created.etag, created.content)


def test_ids_increase(api: Api, brewery: Api):
    ids = [
        client.post({**CITY, "key": f"k{n}"}).field["id"]
        for n in (1, 2)
        for client in (api, brewery)
    ]
    assert ids[0] >= 1
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("First name", "first_name"),
        ("  Größe (cm)  ", "grosse_cm"),
        ("Élodie's café", "elodie_s_cafe"),
        ("2nd address", "f_2nd_address"),
        ("x²", "x2"),
        ("ﬁrst", "first"),
        ("Straße", "strasse"),
        ("--a--b--", "a_b"),
        ("E-Mail_2", "e_mail_2"),
        ("İstanbul", "istanbul"),
        ("\uff13 wishes", "f_3_wishes"),
        ("Brand™", "brandtm"),
        ("Wunsch " * 20, ("wunsch_" * 20)[:62]),
        ("a" * 62 + " b", "a" * 62),
        ("1" * 80, "f_" + "1" * 61),
    ],
)
def test_a_missing_key_is_derived_from_the_name(api: Api, name: str, key: str):
    assert api.post({**CITY, "name": name}).field["key"] == key


@pytest.mark.parametrize(
    "name", ["日本", "Цена", "Tier 日本", "Størrelse", "٣ wishes", "\u0131s\u0131", "!?", "😀"]
)
def test_a_name_without_letters_from_a_to_z_requires_a_key(api: Api, name: str):
    response = api.post({**CITY, "name": name})
    assert response.violations == ["/recipient_field/key: required"]
    assert "Send a key" in response.error["details"][0]["message"]


@pytest.mark.parametrize("name", ["Type", "endfor", "Sys admin", "NULL"])
def test_a_name_whose_derived_key_is_reserved_requires_a_key(api: Api, name: str):
    response = api.post({**CITY, "name": name})
    assert response.violations == ["/recipient_field/key: reserved"]
    assert "Send another key" in response.error["details"][0]["message"]


def test_a_key_can_not_be_null(api: Api):
    assert api.post({**CITY, "key": None}).violations == ["/recipient_field/key: type"]


def test_a_repeated_request_creates_no_second_field(api: Api, city):
    response = api.post(CITY)
    assert response.status_and_code == (409, "key_already_exists")
    (detail,) = response.error["details"]
    assert detail["pointer"] == "/recipient_field/key"
    assert detail["code"] == "key_already_exists"
    assert detail["existing_id"] == city["id"]
    assert api.list().keys == ["city"]


@pytest.mark.parametrize("origin", CHANNELS)
def test_a_key_is_unique_across_origins(
    harness: Harness, api: Api, bakery: OrganizationId, origin: str
):
    holder = harness.add_field(bakery, CHANNELS[origin], "city")
    response = api.post(CITY)
    assert response.status_and_code == (409, "key_already_exists")
    assert response.error["details"][0]["existing_id"] == holder.id


def test_names_need_not_be_unique(api: Api, city):
    assert api.post({**CITY, "key": "town"}).status == 201


def test_created_at_and_updated_at_of_a_new_field_are_equal(api: Api, clock: Clock):
    clock.advance(milliseconds=877)
    created = api.post(CITY).field
    assert created["created_at"] == created["updated_at"] == "2026-11-20T09:15:01.000Z"


def test_read_only_members_can_be_sent_with_their_future_values(api: Api):
    read_only_members = {"source": "api", "integration_id": None, "esp_field_name": None}
    assert api.post({**CITY, **read_only_members}).status == 201


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("id", 1),
        ("id", None),
        ("source", "manual"),
        ("source", None),
        ("source", "API"),
        ("integration_id", 7),
        ("integration_id", 0),
        ("integration_id", False),
        ("esp_field_name", "CITY"),
        ("esp_field_name", ""),
        ("created_at", AT),
        ("created_at", None),
        ("updated_at", AT),
    ],
)
def test_other_values_of_read_only_members_are_rejected(api: Api, member: str, value: object):
    response = api.post({**CITY, member: value})
    assert response.violations == [f"/recipient_field/{member}: read_only"]
    assert api.list().fields == []


@pytest.fixture
def limited(harness: Harness, bakery: OrganizationId) -> Api:
    """Return a client of an organization whose limit is two fields of the API."""
    return Harness(harness.storage, harness.clock, limit=2).client_with_key(bakery)


def test_an_organization_at_its_limit_can_not_create_fields(limited: Api):
    for key in ("a", "b"):
        assert limited.post({**CITY, "key": key}).status == 201
    assert limited.post({**CITY, "key": "c"}).status_and_code == (409, "field_limit_reached")
    assert limited.put("c", CITY).status_and_code == (409, "field_limit_reached")
    assert limited.list().keys == ["a", "b"]


def test_an_organization_at_its_limit_can_change_its_fields(limited: Api):
    for key in ("a", "b"):
        limited.put(key, CITY)
    assert limited.put("a", {**CITY, "name": "Town"}).status == 200
    assert limited.delete("b").status == 204
    assert limited.post({**CITY, "key": "c"}).status == 201


@pytest.mark.parametrize("origin", ["manual", "integration"])
def test_fields_of_other_origins_do_not_count_towards_the_limit(
    harness: Harness, limited: Api, bakery: OrganizationId, origin: str
):
    for key in ("x", "y", "z"):
        harness.add_field(bakery, CHANNELS[origin], key)
    assert limited.post(CITY).status == 201


def test_fields_of_other_organizations_do_not_count_towards_the_limit(limited: Api, brewery: Api):
    for key in ("x", "y", "z"):
        brewery.put(key, CITY)
    assert limited.post(CITY).status == 201
