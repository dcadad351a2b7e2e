"""Clients read the codes of a field at each integration and ESP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import Core
from recipient_fields.application.content.code_documents import render_codes
from recipient_fields.domain import ADMINISTRATOR, DataType, FieldKey, IntegrationId, OrganizationId
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import EspField, InvalidNames, RefusedField, SetName
from recipient_fields.entrypoints.http.app import create_app

from ...support.catalog_storage import CatalogStorage
from ...support.integrations import add_integration
from ..api import FIELDS, Api, falcon_transport
from ..conftest import Harness

TIER = f"{FIELDS}/loyalty_tier/codes"
TIERS = [EspField(name="Loyalty Tier", data_type=DataType.TEXT)]
FNAME, LOYALTY = (EspField(name=name, data_type=DataType.TEXT) for name in ("FNAME", "LOYALTY"))


@pytest.fixture(autouse=True)
def tier(api: Api) -> None:
    assert api.post({"name": "Loyalty tier", "data_type": "text"}).status == 201


@pytest.fixture
def klaviyo(harness: Harness, bakery: OrganizationId) -> IntegrationId:
    return add_integration(harness.core, bakery, "klaviyo", "Shop").id


@pytest.fixture
def mailchimp(harness: Harness, bakery: OrganizationId, klaviyo: IntegrationId) -> IntegrationId:
    return add_integration(harness.core, bakery, "mailchimp", "Main list").id


def sync(harness: Harness, bakery: OrganizationId, integration: IntegrationId) -> None:
    harness.core.integrations.sync_fields(bakery, integration, TIERS)


def codes(api: Api, path: str = TIER) -> list[dict[str, Any]]:
    response = api.send("GET", path)
    assert response.status == 200
    assert list(response.json) == ["codes"]
    return list(response.json["codes"])


def test_each_integration_is_followed_by_each_esp_without_one(reader, klaviyo, mailchimp):
    entries = codes(reader)
    assert [(each["integration_id"], each["integration_name"]) for each in entries[:2]] == [
        (klaviyo, "Shop"),
        (mailchimp, "Main list"),
    ]
    others = [each for each in BUILT_IN.esps if each not in {Esp("klaviyo"), Esp("mailchimp")}]
    assert [each["esp"] for each in entries[2:]] == others
    assert {each["integration_id"] for each in entries[2:]} == {None}
    assert {each["integration_name"] for each in entries[2:]} == {None}


def test_a_name_by_convention_has_all_codes(reader, klaviyo):
    expected = {
        "esp": "klaviyo",
        "integration_id": klaviyo,
        "integration_name": "Shop",
        "esp_field_name": "loyalty_tier",
        "name_from": "convention",
        "state": "unknown",
        "similar_names": [],
        "insertion_code": "{{ person|lookup:'loyalty_tier' }}",
        "insertion_code_with_default": "{{ person|lookup:'loyalty_tier'|default:'DEFAULT' }}",
        "value_expression": "person|lookup:'loyalty_tier'",
        "prelude": None,
        "refusal": None,
    }
    assert list(codes(reader)[0].items()) == list(expected.items())


def test_a_prelude_is_beside_the_codes_that_need_it(reader):
    entry = codes(reader)[0]
    assert entry["esp"] == "sfmc"
    assert entry["insertion_code"] == "%%=v(@loyalty_tier)=%%"
    assert entry["prelude"] == '%%[ SET @loyalty_tier = AttributeValue("loyalty_tier") ]%%'


def test_a_name_without_a_safe_form_has_a_refusal_and_no_code(reader, mailchimp):
    entry = codes(reader)[1]
    assert {name: entry[name] for name in ("esp_field_name", "name_from", "state")} == {
        "esp_field_name": None,
        "name_from": None,
        "state": None,
    }
    assert entry["insertion_code"] is entry["insertion_code_with_default"] is None
    assert "LOYALTY_TIER" in entry["refusal"]
    advice = f"Set a name for this field at integration {mailchimp}, such as LOYALTY_TI."
    assert entry["refusal"].endswith(advice)


def test_similar_names_are_those_that_the_last_sync_found(harness, reader, bakery):
    add_integration(harness.core, bakery, "klaviyo", "Shop", "loyalty tier", "LOYALTY TIER")
    add_integration(harness.core, bakery, "hubspot", "CRM", "loyaltytier", "tier")
    found = [
        (each["esp_field_name"], each["state"], each["similar_names"]) for each in codes(reader)[:2]
    ]
    assert found == [
        ("LOYALTY TIER", "ambiguous", ["loyalty tier"]),
        ("loyalty_tier", "missing", ["loyaltytier"]),
    ]


def test_names_say_where_they_come_from_and_whether_the_esp_has_them(
    harness, reader, bakery, klaviyo, mailchimp
):
    sync(harness, bakery, klaviyo)
    harness.core.integrations.set_names(bakery, mailchimp, {"loyalty_tier": SetName("TIER")})
    found = [
        (each["esp_field_name"], each["name_from"], each["state"], each["insertion_code"])
        for each in codes(reader)[:2]
    ]
    assert found == [
        ("Loyalty Tier", "sync", "found", "{{ person|lookup:'Loyalty Tier' }}"),
        ("TIER", "integration", "unknown", "*|TIER|*"),
    ]
    harness.core.integrations.sync_fields(bakery, mailchimp, [FNAME])
    assert codes(reader)[1]["state"] == "missing"


def test_a_synced_field_is_found_at_its_own_integration(harness, reader, bakery, klaviyo):
    sync(harness, bakery, klaviyo)
    entry = codes(reader, f"{FIELDS}/loyalty_tier_{klaviyo}/codes")[0]
    assert (entry["integration_id"], entry["esp_field_name"]) == (klaviyo, "Loyalty Tier")
    assert (entry["name_from"], entry["state"]) == ("sync", "found")


def test_a_code_of_the_field_itself_has_no_state(harness, reader, bakery, klaviyo):
    code = "{{ person|lookup:'Shop'|default:'x' }}"
    shop = harness.add_field(bakery, ADMINISTRATOR, custom_insertion_code=code)
    entry = codes(reader, f"{FIELDS}/{shop.id}/codes")[0]
    assert (entry["name_from"], entry["state"], entry["insertion_code"]) == ("field", None, code)
    assert entry["insertion_code_with_default"] is None
    assert entry["value_expression"] is None
    assert "value expression" in entry["refusal"]


def test_a_field_that_is_not_insertable_has_a_value_expression(harness, reader, bakery):
    harness.add_field(bakery, ADMINISTRATOR, insertable=False)
    entry = codes(reader, f"{FIELDS}/shop/codes")[0]
    assert (entry["insertion_code"], entry["value_expression"]) == (None, "@shop")
    assert entry["refusal"] == "This field is not insertable."


@pytest.mark.parametrize("reference", ["missing", "999", "01", "a b", "Loyalty"])
def test_a_missing_field_and_that_of_another_organization_are_404(api, brewery, reference):
    missing = api.send("GET", f"{FIELDS}/{reference}/codes", x_request_id="1")
    assert missing.status_and_code == (404, "not_found")
    theirs = brewery.send("GET", TIER, x_request_id="1")
    assert theirs.content == api.send("GET", f"{FIELDS}/missing/codes", x_request_id="1").content


def test_the_entity_tag_is_that_of_the_list(api, klaviyo):
    assert api.send("GET", TIER).etag == api.list().etag


CHANGES: dict[str, Callable[[Harness, OrganizationId, IntegrationId], object]] = {
    "create an integration": lambda harness, organization, _: add_integration(
        harness.core, organization, "braze", "Emails"
    ),
    "rename": lambda harness, organization, mailchimp: harness.core.integrations.rename_integration(
        organization, mailchimp, "Other list"
    ),
    "delete": lambda harness, organization, mailchimp: harness.core.integrations.delete_integration(
        organization, mailchimp
    ),
    "set a name": lambda harness, organization, mailchimp: harness.core.integrations.set_names(
        organization, mailchimp, {"loyalty_tier": SetName("TIER")}
    ),
    "unset a name": lambda harness, organization, mailchimp: harness.core.integrations.set_names(
        organization, mailchimp, {"shop": None}
    ),
    "sync": lambda harness, organization, mailchimp: harness.core.integrations.sync_fields(
        organization, mailchimp, [LOYALTY]
    ),
    "sync that changes a state only": lambda harness, organization, mailchimp: (
        harness.core.integrations.sync_fields(organization, mailchimp, [])
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_the_codes_changes_the_entity_tag(api, harness, bakery, mailchimp, change):
    harness.add_field(bakery, ADMINISTRATOR)
    names = {"shop": SetName("STORE")}
    harness.core.integrations.set_names(bakery, mailchimp, names)
    paths = (TIER, f"{FIELDS}/shop/codes")
    before = [api.send("GET", path) for path in paths]
    CHANGES[change](harness, bakery, mailchimp)
    after = [
        api.send("GET", path, if_none_match=response.etag)
        for path, response in zip(paths, before, strict=True)
    ]
    assert [each.status for each in after] == [200, 200]
    assert [each.content for each in after] != [each.content for each in before]


def test_a_response_is_that_of_the_current_names(api, harness, bakery):
    """Two fields have no name at Mailchimp, so only their refusals and proposals change.

    A response can come from the cache, which has one per entity tag.
    """
    keys = ["loyalty_tier", "loyalty_title", "tier"]
    for key in keys[1:]:
        assert api.post({"name": key, "key": key, "data_type": "text"}).status == 201
    integrations = harness.core.integrations
    ids = [
        add_integration(harness.core, bakery, esp, esp).id
        for esp in ("mailchimp", "mailchimp", "brevo")
    ]
    reported: list[EspField | RefusedField] = [
        EspField(name="TIER", data_type=DataType.TEXT),
        *(RefusedField(name, "It has no type.") for name in ("LOYALTY_TI", "LOYALTY_2")),
    ]
    names = [None, SetName("TIER"), SetName("LOYALTY"), SetName("LOYALTY_TI")]
    random = Random(37)
    for _ in range(100):
        for key in keys:
            listed = harness.core.content.list_codes(bakery, FieldKey(key))
            assert codes(api, f"{FIELDS}/{key}/codes") == render_codes(listed)["codes"]
        chosen = random.choice(ids)
        if random.random() < 0.5:
            report = random.sample(reported, random.randint(0, len(reported)))
            integrations.sync_fields(bakery, chosen, report)
        else:
            with suppress(InvalidNames):
                named = {random.choice(keys): random.choice(names)}
                integrations.set_names(bakery, chosen, named)


def test_without_storage_the_response_is_503(harness, api, closed):
    app = create_app(evolve(harness.core, storage=closed))
    response = evolve(api, transport=falcon_transport(app)).send("GET", TIER)
    assert response.status_and_code == (503, "service_unavailable")


def test_a_storage_without_integrations_has_the_codes_of_each_esp(harness, api):
    core = Core.over(CatalogStorage(harness.storage), validator=harness.validator)
    client = evolve(api, transport=falcon_transport(create_app(core)))
    assert [each["esp"] for each in codes(client)] == list(BUILT_IN.esps)
