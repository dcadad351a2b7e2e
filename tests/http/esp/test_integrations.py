"""Clients read the ids of integrations over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve

from recipient_fields.application import (
    Core,
    IntegrationService,
)
from recipient_fields.domain import DataType, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, RefusedField, SetName
from recipient_fields.entrypoints.http.app import create_app

from ...support.catalog_storage import CatalogStorage
from ..api import INTEGRATIONS, falcon_transport
from ..conftest import Harness

SHOP = [EspField(name="shop", data_type=DataType.TEXT)]


@pytest.fixture
def integrations(harness: Harness) -> IntegrationService:
    return harness.core.integrations


@pytest.fixture
def braze(integrations: IntegrationService, bakery: OrganizationId) -> IntegrationId:
    return integrations.create_integration(bakery, esp=Esp("braze"), name="Emails").id


def test_the_list_is_complete_and_ordered_by_id(harness, reader, bakery, integrations, braze):
    klaviyo = integrations.create_integration(bakery, esp=Esp("klaviyo"), name="Ärger & Söhne").id
    refused = [RefusedField(name, "It has no type.") for name in ("zip", "")]
    integrations.sync_fields(bakery, braze, [*SHOP, *refused])
    [shop] = (field.id for field in harness.core.fields.list_fields(bakery).fields)
    integrations.set_names(bakery, klaviyo, {"shop": SetName("Store", custom=True)})
    response = reader.send("GET", INTEGRATIONS)
    assert response.status == 200
    now = "2026-11-20T09:15:00.123Z"
    names = [{"field_id": shop, "esp_field_name": "Store", "custom": True}]
    assert response.json == {
        "integrations": [
            {
                "id": braze,
                "name": "Emails",
                "esp": "braze",
                "last_synced_at": now,
                "created_at": now,
                "names": [],
                "refused_names": ["", "zip"],
            },
            {
                "id": klaviyo,
                "name": "Ärger & Söhne",
                "esp": "klaviyo",
                "last_synced_at": None,
                "created_at": now,
                "names": names,
                "refused_names": [],
            },
        ]
    }
    assert list(response.json["integrations"][0]) == [
        *("id", "name", "esp", "last_synced_at", "created_at", "names", "refused_names")
    ]


def test_the_list_has_only_the_integrations_of_the_organization(brewery, braze):
    assert brewery.send("GET", INTEGRATIONS).json == {"integrations": []}


CHANGES: dict[str, Callable[[Harness, OrganizationId, IntegrationId], object]] = {
    "create": lambda harness, organization, _: harness.core.integrations.create_integration(
        organization, esp=Esp("braze"), name="Emails"
    ),
    "rename": lambda harness, organization, braze: harness.core.integrations.rename_integration(
        organization, braze, "Messages"
    ),
    "delete": lambda harness, organization, braze: harness.core.integrations.delete_integration(
        organization, braze
    ),
    "set a name": lambda harness, organization, braze: harness.core.integrations.set_names(
        organization, braze, {"city": SetName("Town")}
    ),
    "sync that changes nothing": lambda harness, organization, braze: (
        harness.core.integrations.sync_fields(organization, braze, SHOP)
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_the_list_changes_its_entity_tag(
    api, harness, bakery, integrations, braze, clock, change
):
    assert api.post({"name": "City", "data_type": "text"}).status == 201
    integrations.sync_fields(bakery, braze, SHOP)
    before = api.send("GET", INTEGRATIONS)
    clock.advance(seconds=1)
    CHANGES[change](harness, bakery, braze)
    after = api.send("GET", INTEGRATIONS, if_none_match=before.etag)
    assert after.status == 200
    assert after.etag != before.etag
    assert after.content != before.content


def test_changes_of_fields_and_of_other_organizations_keep_the_entity_tag(
    api, harness, integrations, braze
):
    etag = api.send("GET", INTEGRATIONS).etag
    assert api.post({"name": "City", "data_type": "text"}).status == 201
    integrations.create_integration(
        harness.organization("Brewery"), esp=Esp("braze"), name="Emails"
    )
    assert api.send("GET", INTEGRATIONS, if_none_match=etag).status == 304


def test_without_storage_the_response_is_503(harness, api, closed):
    app = create_app(evolve(harness.core, storage=closed))
    response = evolve(api, transport=falcon_transport(app)).send("GET", INTEGRATIONS)
    assert response.status_and_code == (503, "service_unavailable")


def test_a_storage_without_integrations_has_an_empty_list(harness, api):
    core = Core.over(CatalogStorage(harness.storage), validator=harness.validator)
    response = evolve(api, transport=falcon_transport(create_app(core))).send("GET", INTEGRATIONS)
    assert response.json == {"integrations": []}
