"""Clients read the ids of integrations over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve

from recipient_fields.application import (
    CompleteStorage,
    Core,
    IntegrationService,
)
from recipient_fields.domain import DataType, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, RefusedField, SetName
from recipient_fields.entrypoints.http.app import create_app

from ...support.catalog_storage import CatalogStorage
from ..api import INTEGRATIONS, Api, falcon_transport
from ..conftest import Clock, Harness

SHOP = [EspField(name="shop", data_type=DataType.TEXT)]


@pytest.fixture
def integrations(harness: Harness) -> IntegrationService:
    return harness.core.integrations


@pytest.fixture
def braze(integrations: IntegrationService, bakery: OrganizationId) -> IntegrationId:
    return integrations.create_integration(bakery, esp=Esp.BRAZE, name="Emails").id


def test_the_list_is_complete_and_ordered_by_id(
    harness: Harness,
    reader: Api,
    bakery: OrganizationId,
    integrations: IntegrationService,
    braze: IntegrationId,
):
    klaviyo = integrations.create_integration(bakery, esp=Esp.KLAVIYO, name="Ärger & Söhne").id
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


def test_the_list_has_only_the_integrations_of_the_organization(brewery: Api, braze: IntegrationId):
    assert brewery.send("GET", INTEGRATIONS).json == {"integrations": []}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"a", {}', "*"])
def test_a_current_entity_tag_gets_304(api: Api, braze: IntegrationId, method: str, form: str):
    etag = api.send("GET", INTEGRATIONS).etag
    response = api.send(method, INTEGRATIONS, if_none_match=form.format(etag))
    assert (response.status, response.etag) == (304, etag)


def test_head_has_the_headers_of_get_and_no_body(api: Api, braze: IntegrationId):
    got, head = (api.send(method, INTEGRATIONS, x_request_id="1") for method in ("GET", "HEAD"))
    assert (head.status, head.headers, head.content) == (200, got.headers, b"")


CHANGES: dict[str, Callable[[Harness, OrganizationId, IntegrationId], object]] = {
    "create": lambda harness, organization, _: harness.core.integrations.create_integration(
        organization, esp=Esp.BRAZE, name="Emails"
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
    api: Api,
    harness: Harness,
    bakery: OrganizationId,
    integrations: IntegrationService,
    braze: IntegrationId,
    clock: Clock,
    change: str,
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
    api: Api, harness: Harness, integrations: IntegrationService, braze: IntegrationId
):
    etag = api.send("GET", INTEGRATIONS).etag
    assert api.post({"name": "City", "data_type": "text"}).status == 201
    integrations.create_integration(harness.organization("Brewery"), esp=Esp.BRAZE, name="Emails")
    assert api.send("GET", INTEGRATIONS, if_none_match=etag).status == 304


def test_a_request_needs_a_key_and_has_no_parameters_and_only_reads(api: Api):
    for key in (None, "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"):
        refused = api.with_key(key).send("GET", INTEGRATIONS)
        assert refused.status_and_code == (401, "unauthorized")
    for path in (f"{INTEGRATIONS}?limit=1", f"{INTEGRATIONS}?esp=braze"):
        assert api.send("GET", path).status_and_code == (400, "invalid_parameter")
    malformed = api.send("GET", INTEGRATIONS, if_none_match="a")
    assert malformed.status_and_code == (400, "invalid_parameter")
    posted = api.send("POST", INTEGRATIONS, "{}")
    assert posted.status_and_code == (405, "method_not_allowed")
    assert posted.headers["allow"] == "GET, HEAD, OPTIONS"
    assert api.send("GET", INTEGRATIONS, accept="text/html").status == 406
    assert api.send("GET", f"{INTEGRATIONS}/1").status == 404


def test_without_storage_the_response_is_503(harness: Harness, api: Api, closed: CompleteStorage):
    app = create_app(evolve(harness.core, storage=closed))
    response = evolve(api, transport=falcon_transport(app)).send("GET", INTEGRATIONS)
    assert response.status_and_code == (503, "service_unavailable")


def test_a_storage_without_integrations_has_an_empty_list(harness: Harness, api: Api):
    core = Core.over(CatalogStorage(harness.storage), validator=harness.validator)
    response = evolve(api, transport=falcon_transport(create_app(core))).send("GET", INTEGRATIONS)
    assert response.json == {"integrations": []}
