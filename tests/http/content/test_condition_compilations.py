"""Conditions are compiled for an ESP over HTTP."""

from __future__ import annotations

import json

import pytest

from recipient_fields.domain import IntegrationId, OrganizationId

from ...support.integrations import add_integration
from ..api import CONDITION_COMPILATIONS, Api, ApiResponse
from ..conftest import Harness

STORAGES = ("memory",)  # Of the storage, these requests only list the fields.

TIER = {
    "name": "Loyalty tier",
    "data_type": "text",
    "allowed_values": ["gold", "silver"],
    "custom_value_expression": "custom_attribute.${loyalty_tier}",
}
GOLD = 'loyalty_tier = "gold"'
OMITTED = object()
MEMBERS = ("condition", "then", "else", "esp", "integration_id", "strict")


def compile_condition(api: Api, condition: object, **members: object) -> ApiResponse:
    body = {"condition": condition, "esp": "braze", "then": "A", "else": "B", **members}
    present = {name: value for name, value in body.items() if value is not OMITTED}
    return api.send("POST", CONDITION_COMPILATIONS, json.dumps(present))


@pytest.fixture(autouse=True)
def tier(api: Api) -> None:
    api.put("loyalty_tier", TIER)


def synced(harness: Harness, organization: OrganizationId, name: str) -> IntegrationId:
    """Return a new integration with Braze that has one field."""
    return add_integration(harness.core, organization, "braze", name, "Plan").id


def test_the_response_has_the_code(reader):
    response = compile_condition(reader, GOLD)
    assert response.status == 200
    assert response.json == {
        "esp": "braze",
        "code": '{% if custom_attribute.${loyalty_tier} == "gold" %}A{% else %}B{% endif %}',
        "prelude": None,
        "caveats": [],
        "warnings": [],
    }


def test_a_caveat_has_a_kind_a_code_and_the_places_of_its_comparisons(reader, api):
    api.put("plan", {"name": "Plan", "data_type": "text", "custom_value_expression": "@plan"})
    response = compile_condition(reader, 'plan = "a"\nor plan in ("b", "c")', esp="sfmc")
    assert response.json["warnings"] == [
        {
            "kind": "caveat",
            "code": code,
            "line": 1,
            "column": 1,
            "message": message,
            "places": [{"line": 2, "column": 4}],
        }
        for code, message in zip(
            ("case_insensitive", "variable_not_set"), response.json["caveats"], strict=True
        )
    ]
    assert response.json["caveats"] == [
        "Salesforce Marketing Cloud compares and searches texts without regard to case.",
        "The content must set @plan before this code.",
    ]


def test_a_caveat_of_a_tree_has_no_place(reader, api):
    api.put("plan", {"name": "Plan", "data_type": "text", "custom_value_expression": "@plan"})
    tree = {"field": "plan", "op": "eq", "value": "a"}
    warnings = compile_condition(reader, tree, esp="sfmc").json["warnings"]
    assert len(warnings) == 2
    assert {(each["line"], each["column"], len(each["places"])) for each in warnings} == {
        (None, None, 0)
    }


def test_a_tree_means_the_same_as_its_text(reader):
    tree = {"not": {"field": "loyalty_tier", "op": "eq", "value": "gold"}}
    assert compile_condition(reader, tree).json == compile_condition(reader, f"not {GOLD}").json


def test_else_can_be_omitted(reader):
    response = compile_condition(reader, GOLD, **{"else": OMITTED})
    assert response.json["code"].endswith(" %}A{% endif %}")


def test_synced_fields_of_the_only_integration_can_be_used(reader, harness, bakery):
    only = synced(harness, bakery, "Emails")
    by_esp = compile_condition(reader, 'plan = "pro"')
    by_id = compile_condition(reader, 'plan = "pro"', esp=OMITTED, integration_id=only)
    assert by_esp.status == 200
    assert by_esp.json == by_id.json


def test_one_of_several_integrations_must_be_chosen(reader, harness, bakery):
    first, _ = (synced(harness, bakery, name) for name in ("Emails", "Messages"))
    assert compile_condition(reader, GOLD).violations == ["/integration_id: required"]
    assert compile_condition(reader, GOLD, esp=OMITTED, integration_id=first).status == 200


def test_the_key_of_a_field_of_another_integration_means_its_counterpart(reader, harness, bakery):
    first, second = (synced(harness, bakery, name) for name in ("Emails", "Messages"))
    response = compile_condition(reader, "plan is set", esp=OMITTED, integration_id=second)
    assert response.status == 200
    other = compile_condition(reader, "plan is set", esp=OMITTED, integration_id=first)
    assert response.json["code"] == other.json["code"]


def test_an_integration_of_another_organization_does_not_exist(reader, harness):
    theirs = synced(harness, harness.organization("Brewery"), "Emails")
    response = compile_condition(reader, GOLD, esp=OMITTED, integration_id=theirs)
    assert response.violations == ["/integration_id: unknown_value"]


@pytest.mark.parametrize(
    ("condition", "violations"),
    [
        ("loyalty_tier =", ["/condition: format"]),
        (" and ".join(["size = 1", "tier = 2"]), ["/condition: unknown_value"] * 2),
        ({"field": "size", "op": "is_set"}, ["/condition/field: unknown_value"]),
        (
            {"all": [{"field": "loyalty_tier", "op": "eq"}, {"any": []}]},
            ["/condition/all/0/value: required", "/condition/all/1/any: empty"],
        ),
        (3, ["/condition: type"]),
    ],
)
def test_all_violations_of_a_condition_have_pointers(reader, condition, violations):
    assert compile_condition(reader, condition).violations == violations


def test_a_violation_in_text_has_its_line_and_column(reader):
    error = compile_condition(reader, 'loyalty_tier = "gold"\nand loyalty_tier = 3').error
    assert error["details"][0]["message"].startswith("Line 2, column 20: ")


@pytest.mark.parametrize(
    ("members", "violation"),
    [
        ({"esp": OMITTED}, "/esp: required"),
        ({"integration_id": 7}, "/integration_id: not_applicable"),
        ({"esp": "brase"}, "/esp: unknown_value"),
        ({"then": OMITTED}, "/then: required"),
        ({"then": 3}, "/then: type"),
        ({"else": 3}, "/else: type"),
        ({"strict": "caveats"}, "/strict: type"),
        ({"other": 3}, "/other: unknown_field"),
        ({"then": "\0"}, "/then: invalid_characters"),
        *(({member: None}, f"/{member}: type") for member in MEMBERS),
    ],
)
def test_invalid_members_are_reported(reader, members, violation):
    assert compile_condition(reader, **{"condition": GOLD, **members}).violations == [violation]


def test_a_misspelled_esp_has_a_suggestion(reader):
    (detail,) = compile_condition(reader, GOLD, esp="brase").error["details"]
    assert detail["suggestion"] == "braze"


def test_a_refusal_states_the_reason(reader, api):
    api.put("plan", {"name": "Plan", "data_type": "text", "custom_insertion_code": "static"})
    response = compile_condition(reader, 'plan = "pro"')
    assert response.status_and_code == (422, "not_expressible")
    reason = (
        "plan: The field plan has code of its own. This field has no value expression, and its"
        " insertion code is not a plain reference of Braze. Add the value expression, or remove the"
        " insertion code."
    )
    (detail,) = response.error["details"]
    assert detail == {"pointer": "/condition", "code": "not_applicable", "message": reason}
    assert response.error["message"] == reason


def test_mistakes_are_rejected_and_caveats_if_strict_is_true(reader, harness, bakery):
    add_integration(harness.core, bakery, "sfmc", "Main", "Plan")

    def compiled(condition: str, **members: object) -> ApiResponse:
        return compile_condition(reader, condition, esp="sfmc", **members)

    assert compiled('plan = "pro"').status == 200
    refused = compiled('plan = "pro"', strict=True)
    assert refused.status_and_code == (422, "not_expressible")
    assert "without regard to case" in refused.error["message"]

    missing = "The field loyalty_tier is loyalty_tier at Salesforce Marketing Cloud (the last sync"
    for strict in ({}, {"strict": "mistakes"}):
        rejected = compiled(GOLD, **strict)
        assert rejected.status_and_code == (422, "not_expressible")
        assert rejected.error["message"].startswith(missing)
    (warning, *_) = compiled(GOLD, strict=False).json["warnings"]
    assert (warning["kind"], warning["code"]) == ("mistake", "missing_name")


def test_a_body_has_at_most_64_kib(reader):
    condition = GOLD.ljust(64 * 1024)
    response = compile_condition(reader, condition)
    assert response.status_and_code == (413, "payload_too_large")
    assert response.error["message"] == "The request body is larger than 64 KiB. Send less."
