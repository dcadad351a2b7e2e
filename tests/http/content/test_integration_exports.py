"""One request exports content for several integrations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recipient_fields.domain import DataType, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField
from recipient_fields.entrypoints.http.heavy_requests import HeavyRequests

from ...support.integrations import add_integration
from ..api import CONTENT_EXPORTS, Api, ApiResponse, compact
from ..conftest import Harness

STORAGES = ("memory",)  # Of the storage, these requests only list the fields.

LIMIT = 4_194_304
GREETING = "Dear {{recipient.fname}}"
FNAME = [EspField(name="FNAME", data_type=DataType.TEXT)]


@pytest.fixture
def klaviyo(harness: Harness, bakery: OrganizationId) -> IntegrationId:
    return add_integration(harness.core, bakery, "klaviyo", "klaviyo").id


@pytest.fixture
def mailchimp(harness: Harness, bakery: OrganizationId, klaviyo: IntegrationId) -> IntegrationId:
    """Create an integration with Mailchimp, which has a field `FNAME`."""
    return add_integration(harness.core, bakery, "mailchimp", "mailchimp", "FNAME").id


def export(api: Api, content: str, integration_ids: object, **members: object) -> ApiResponse:
    body = {"content": content, "integration_ids": integration_ids, **members}
    return api.send("POST", CONTENT_EXPORTS, compact(body))


def exports(api: Api, content: str, ids: object, **members: object) -> list[dict[str, Any]]:
    response = export(api, content, ids, **members)
    assert response.status == 200
    assert list(response.json) == ["exports"]
    return list(response.json["exports"])


def test_each_integration_has_one_export_in_the_order_of_the_request(reader, klaviyo, mailchimp):
    first, second = exports(reader, "Dear {{recipient.fname}} *|A|*", [mailchimp, klaviyo])
    members = ["integration_id", "content", "surface", "warnings", "fields", "event", "error"]
    assert list(first) == members
    assert first == {
        "integration_id": mailchimp,
        "content": "Dear *|FNAME|* *|A|*",
        "surface": "text",
        "warnings": [],
        "fields": ["fname"],
        "event": [],
        "error": None,
    }
    assert second["integration_id"] == klaviyo


def test_an_export_that_fails_has_the_error_object_beside_the_others(reader, klaviyo, mailchimp):
    content = 'Hello\n{{#if recipient.fname contains "x"}}x{{/if}}'
    alone = reader.send(
        "POST", CONTENT_EXPORTS, json.dumps({"content": content, "integration_id": mailchimp})
    )
    assert alone.status_and_code == (422, "validation_failed")
    failed, succeeded = exports(reader, content, [mailchimp, klaviyo])
    assert (failed["content"], failed["warnings"], failed["fields"]) == (None, [], [])
    expected = {name: value for name, value in alone.error.items() if name != "request_id"}
    assert failed["error"] == expected
    assert [(each["line"], each["column"]) for each in failed["error"]["details"]] == [(2, 17)]
    assert (succeeded["integration_id"], succeeded["error"]) == (klaviyo, None)


def test_strict_applies_to_each_export(reader, klaviyo, mailchimp):
    for strict in ({}, {"strict": True}):
        failed, succeeded = exports(reader, "*|A|*", [klaviyo, mailchimp], **strict)
        assert failed["error"]["details"][0]["pointer"] == "/content"
        assert succeeded["content"] == "*|A|*"
    permitted = exports(reader, "*|A|*", [klaviyo, mailchimp], strict=False)
    assert [each["content"] for each in permitted] == ["*|A|*"] * 2


def test_an_unknown_integration_and_that_of_another_organization_fail_alone(
    harness, reader, klaviyo
):
    theirs = add_integration(harness.core, harness.organization("Brewery"), "braze", "braze").id
    unknown = (theirs, 999)
    first, *others = exports(reader, "Hello", [klaviyo, *unknown])
    assert first["content"] == "Hello"
    assert [each["integration_id"] for each in others] == list(unknown)
    for index, each in enumerate(others, start=1):
        (detail,) = each["error"]["details"]
        assert detail["pointer"] == f"/integration_ids/{index}"
        assert detail["code"] == "unknown_value"


@pytest.mark.parametrize(
    ("members", "violation"),
    [
        ({"integration_ids": []}, "/integration_ids: empty"),
        ({"integration_ids": list(range(1, 22))}, "/integration_ids: too_many_items"),
        ({"integration_ids": [1] * 9_000}, "/integration_ids: too_many_items"),
        ({"integration_ids": [1, 2, 1]}, "/integration_ids/2: duplicate_item"),
        ({"integration_ids": None}, "/integration_ids: type"),
        ({"integration_ids": 1}, "/integration_ids: type"),
        ({"integration_ids": ["1"]}, "/integration_ids/0: type"),
        ({"integration_ids": [True]}, "/integration_ids/0: type"),
        ({"integration_ids": [0]}, "/integration_ids/0: out_of_range"),
        ({"esp": "braze"}, "/integration_ids: not_applicable"),
        ({"integration_id": 1}, "/integration_ids: not_applicable"),
        ({"content": "{{#if"}, "/content: format"),
    ],
)
def test_invalid_requests_are_rejected_as_a_whole(reader, members, violation):
    response = export(reader, **{"content": GREETING, "integration_ids": [1], **members})
    assert violation in response.violations


def test_twenty_integrations_can_be_listed(reader, harness, bakery):
    ids = [add_integration(harness.core, bakery, "braze", "braze").id for _ in range(20)]
    assert [each["content"] for each in exports(reader, "Hello", ids)] == ["Hello"] * 20


def test_the_content_counts_once_per_integration(reader):
    content = "x" * 200_000
    assert len(exports(reader, content, [1, 2, 3, 4, 5])) == 5
    rejected = export(reader, content, [1, 2, 3, 4, 5, 6])
    assert rejected.violations == ["/integration_ids: too_large"]
    assert "at most 5 integrations" in rejected.messages[1]


def test_an_export_that_makes_the_response_too_long_fails_alone(harness, reader, bakery):
    """Mailchimp has no `and`, so its code repeats the else part."""
    esps = [*[Esp("mailchimp")] * 3, Esp("braze")]
    names = [f"F{number}" for number in range(10)]
    *lists, braze = [add_integration(harness.core, bakery, each, each, *names).id for each in esps]
    condition = " and ".join(f'recipient.f{number} = "a"' for number in range(10))
    content = f"{{{{#if {condition}}}}}x{{{{else}}}}{'y' * 180_000}{{{{/if}}}}"
    *fitting, too_long, last = exports(reader, content, [*lists, braze])
    assert {each["error"] for each in (*fitting, last)} == {None}
    lengths = [len(each["content"]) for each in (*fitting, last)]
    assert LIMIT - lengths[0] < sum(lengths) <= LIMIT
    assert too_long["content"] is None
    (detail,) = too_long["error"]["details"]
    assert (detail["pointer"], detail["code"]) == ("/integration_ids/2", "too_large")


def test_a_request_for_much_content_needs_a_slot(harness, bakery):
    """Content counts once per integration, and is rejected before it is exported."""
    heavy = HeavyRequests()
    client = harness.client(heavy=heavy).with_key(harness.issue_key(bakery).plain.reveal())
    ids = [add_integration(harness.core, bakery, "braze", "braze").id for _ in range(20)]
    much, little = "x" * 3_277, "x" * 3_276
    with heavy.request(bakery) as request:
        request.take_slot()
        assert export(client, much, ids).status_and_code == (503, "overloaded")
        assert export(client, little, ids).status == 200
    assert export(client, much, ids).status == 200
