"""Templates of one ESP are converted with the names of the organization."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import SetName

from ..api import CONTENT_CONVERSIONS, Api, compact

STORAGES = ("memory",)  # Of the storage, these requests only list the fields.

KLAVIYO, BRAZE = {"esp": "klaviyo"}, {"esp": "braze"}


@pytest.fixture(autouse=True)
def tier(api: Api) -> None:
    assert api.post({"name": "Loyalty tier", "data_type": "text"}).status == 201


def convert(api: Api, content: str, **members: object) -> dict[str, Any]:
    body = {"content": content, "from": KLAVIYO, "to": BRAZE, **members}
    response = api.send("POST", CONTENT_CONVERSIONS, compact(body))
    assert response.status == 200, response.content
    document: dict[str, Any] = response.json
    return document


def details(api: Api, **members: object) -> list[tuple[str, str]]:
    body = {"content": "a", "from": KLAVIYO, "to": BRAZE, **members}
    sent = {name: value for name, value in body.items() if value is not None}
    response = api.send("POST", CONTENT_CONVERSIONS, compact(sent))
    assert response.status == 422, response.content
    return [(each["pointer"], each["code"]) for each in response.json["error"]["details"]]


def test_a_template_is_converted_and_what_stays_is_listed(api):
    document = convert(api, "{{ person.loyalty_tier }}\n{{ feeds.a }}")

    assert document["content"] == "{{custom_attribute.${loyalty_tier}}}\n{{ feeds.a }}"
    ((line, column, tag),) = [(e["line"], e["column"], e["tag"]) for e in document["by_hand"]]
    assert (line, column, tag) == (2, 1, "{{ feeds.a }}")
    assert [each["key"] for each in document["fields"]] == ["loyalty_tier"]


def test_the_names_are_those_at_both_integrations(api, harness, bakery):
    ids = []
    for esp, name in (("klaviyo", "TIER"), ("braze", "Loyalty")):
        created = harness.core.integrations.create_integration(bakery, esp=Esp(esp), name=esp)
        harness.core.integrations.set_names(bakery, created.id, {"loyalty_tier": SetName(name)})
        ids.append({"integration_id": created.id})

    document = convert(api, "{{ person.TIER }}", **{"from": ids[0]}, to=ids[1])

    assert document["content"] == "{{custom_attribute.${Loyalty}}}"


def test_a_template_becomes_content(api):
    document = convert(
        api, "{{ person.x|default:'y' }}", to="portable", names={"x": "loyalty_tier", "z": "tier"}
    )

    assert document["content"] == '{{recipient.loyalty_tier | default: "y"}}'
    assert document["unused_names"] == ["z"]


def test_event_data_and_bare_names_are_read_as_the_options_say(api):
    document = convert(
        api,
        "{{total}}",
        **{"from": {"esp": "iterable"}},
        bare="event",
        sent_by_source="dataFields",
    )

    assert document["content"] == "{{event_properties.${total}}}"


def test_all_violations_are_reported(api):
    assert details(api, **{"from": None}, to={"esp": "x"}, exact=1) == [
        ("/from", "required"),
        ("/exact", "type"),
    ]
    assert details(api, **{"from": "portable"}) == [("/from", "unknown_value")]
    assert details(api, to={"esp": "x"}) == [("/to/esp", "unknown_value")]
    assert details(api, names={"x": 1}, values={"y": "z"}) == [("/names/x", "type")]
    assert details(api, bare="x", sent_by_source=1) == [
        ("/sent_by_source", "type"),
        ("/bare", "unknown_value"),
    ]
    assert details(api, values={"y": "z"}) == [("/values/y", "unknown_value")]
    assert details(api, names={"x": "No key"}, values={"link.preferences": "javascript:x"}) == [
        ("/names/x", "format"),
        ("/values/link.preferences", "format"),
    ]
    values = {"sender.name": "{% x %}"}
    content = "{{ organization.name }}"
    assert details(api, content=content, values=values) == [
        ("/values/sender.name", "invalid_characters")
    ]
    assert details(api, content="*|FNAME|*") == [("/content", "not_applicable")]


def test_another_name_of_an_esp_has_a_suggestion(api):
    body = {"content": "a", "from": KLAVIYO, "to": {"esp": "salesforce"}}

    response = api.send("POST", CONTENT_CONVERSIONS, compact(body))

    (detail,) = response.json["error"]["details"]
    assert (detail["pointer"], detail["suggestion"]) == ("/to/esp", "sfmc")


def test_strict_rejects_caveats_and_tags_by_hand(api):
    assert details(api, content="\n{{ feeds.a }}", strict=True) == [("/content", "not_applicable")]
    assert convert(api, "a", strict=True)["by_hand"] == []


def test_an_integration_of_another_organization_is_unknown(api):
    body = {"content": "a", "from": {"integration_id": 9}, "to": BRAZE}

    response = api.send("POST", CONTENT_CONVERSIONS, compact(body))

    assert response.status == 422
    assert response.json["error"]["details"][0]["pointer"] == "/from/integration_id"
