"""The server of an email editor reads what people can insert at one ESP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recipient_fields.domain import DataType, IntegrationId, OrganizationId
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import EspField, SetName

from ..api import Api
from ..conftest import Harness

TAGS = "/api/v1/merge_tags"
EXPORTS = "/api/v1/content_exports"
LINKS = [
    "link.unsubscribe",
    "link.unsubscribe_all",
    "link.preferences",
    "link.view_in_browser",
]


@pytest.fixture(autouse=True)
def fields(api: Api) -> None:
    for members in (
        {"name": "Loyalty tier", "data_type": "text"},
        {"name": "Score", "data_type": "number", "insertable": False},
    ):
        assert api.post(members).status == 201


@pytest.fixture
def mailchimp(harness: Harness, bakery: OrganizationId) -> IntegrationId:
    """Return an integration that has synced a field for which ours stands, and one of its own."""
    integrations = harness.core.integrations
    created = integrations.create_integration(bakery, esp=Esp("mailchimp"), name="Main list")
    reported = (EspField(name=name, data_type=DataType.TEXT) for name in ("LOYALTY_TI", "SHOP"))
    integrations.sync_fields(bakery, created.id, list(reported))
    integrations.set_names(bakery, created.id, {"loyalty_tier": SetName("LOYALTY_TI")})
    return created.id


def merge_tags(api: Api, query: str) -> dict[str, dict[str, Any]]:
    response = api.send("GET", f"{TAGS}?{query}")
    assert response.status == 200, response.content
    assert list(response.json) == ["merge_tags"]
    return {each["key"]: each for each in response.json["merge_tags"]}


def test_an_editor_gets_each_insertable_field_once_and_then_the_links(api, mailchimp):
    tags = merge_tags(api, f"integration_id={mailchimp}")
    assert list(tags) == ["loyalty_tier", "shop", *LINKS]
    assert tags["loyalty_tier"] == {
        "key": "loyalty_tier",
        "name": "Loyalty tier",
        "reference": "{{recipient.loyalty_tier}}",
        "state": "found",
        "insertion_code": "*|LOYALTY_TI|*",
        "insertion_code_with_default": (
            "*|IF:LOYALTY_TI|**|LOYALTY_TI|**|ELSE:|*DEFAULT*|END:IF|*"
        ),
        "prelude": None,
        "refusal": None,
    }
    assert tags["link.unsubscribe"]["insertion_code"] == "*|UNSUB|*"
    assert merge_tags(api, "esp=mailchimp") == tags


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_each_tag_is_what_an_export_of_its_reference_writes(api, esp):
    for tag in merge_tags(api, f"esp={esp}").values():
        export = {"content": tag["reference"], "esp": esp, "surface": "html"}
        exported = api.send("POST", EXPORTS, json.dumps({**export, "strict": False}).encode())
        if tag["refusal"] is None:
            assert exported.status == 200, exported.content
            code = (tag["prelude"] or "") + tag["insertion_code"]
            if tag["insertion_code"] == "*|ARCHIVE|*":  # The web version has no link to itself.
                code = f"*|IFNOT:ARCHIVE_PAGE|*{code}*|END:IF|*"
            assert exported.json["content"] == code
        else:
            assert tag["insertion_code"] is tag["insertion_code_with_default"] is None
            assert exported.status == 422


def test_salesforce_needs_code_before_the_first_use(api):
    tag = merge_tags(api, "esp=sfmc")["loyalty_tier"]
    assert tag["insertion_code"] == "%%=v(@loyalty_tier)=%%"
    assert tag["prelude"] == '%%[ SET @loyalty_tier = AttributeValue("loyalty_tier") ]%%'


def test_a_field_without_a_name_says_what_helps(api, mailchimp, harness, bakery):
    harness.core.integrations.set_names(bakery, mailchimp, {"loyalty_tier": None})
    tag = merge_tags(api, "esp=mailchimp")["loyalty_tier"]
    assert tag["insertion_code"] is None
    assert tag["state"] is None
    assert "no name at Mailchimp" in tag["refusal"] or "Set" in tag["refusal"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "Send either `esp` or `integration_id`."),
        ("esp=mailchimp&integration_id=1", "Send either `esp` or `integration_id`."),
        ("esp=mailchump", "Invalid value for `esp`"),
        ("esp=", "Invalid value for `esp`"),
        ("integration_id=0", "use the id of an integration"),
        ("integration_id=99", "There is no such integration"),
        ("esp=braze&esp=braze", "Repeated"),
        ("target=braze", "Unknown"),
    ],
)
def test_a_request_names_exactly_one_target(api, query, message):
    response = api.send("GET", f"{TAGS}?{query}" if query else TAGS)
    assert response.status_and_code == (400, "invalid_parameter")
    assert message in response.json["error"]["message"]


def test_an_esp_with_several_integrations_is_ambiguous(api, mailchimp, harness, bakery):
    harness.core.integrations.create_integration(bakery, esp=Esp("mailchimp"), name="Second")
    response = api.send("GET", f"{TAGS}?esp=mailchimp")
    assert response.status_and_code == (400, "invalid_parameter")
    assert "integration" in response.json["error"]["message"]


def test_the_entity_tag_changes_with_fields_and_with_names(api, mailchimp, harness, bakery):
    first = api.send("GET", f"{TAGS}?esp=mailchimp")
    again = api.send("GET", f"{TAGS}?esp=mailchimp", if_none_match=first.etag)
    assert (again.status, again.content) == (304, b"")
    assert api.post({"name": "City", "data_type": "text"}).status == 201
    second = api.send("GET", f"{TAGS}?esp=mailchimp", if_none_match=first.etag)
    assert second.status == 200
    harness.core.integrations.set_names(bakery, mailchimp, {"city": SetName("TOWN")})
    assert api.send("GET", f"{TAGS}?esp=mailchimp", if_none_match=second.etag).status == 200


def test_other_organizations_see_their_own_fields_only(brewery, mailchimp):
    assert list(merge_tags(brewery, "esp=mailchimp")) == LINKS
    foreign = brewery.send("GET", f"{TAGS}?integration_id={mailchimp}")
    missing = brewery.send("GET", f"{TAGS}?integration_id=99")
    assert foreign.status_and_code == missing.status_and_code == (400, "invalid_parameter")
    assert foreign.json["error"]["message"] == missing.json["error"]["message"]
