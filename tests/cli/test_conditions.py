"""The commands `conditions`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from recipient_fields.adapters.relational.integrations import RelationalIntegrationRepository
from recipient_fields.application import Core
from recipient_fields.domain import (
    OrganizationId,
)
from recipient_fields.domain.esp import BUILT_IN, Esp

from ..support.command_line import CommandLine, Run
from ..support.fields import add_field
from ..support.growth import count_calls
from ..support.integrations import add_integration

GOLD = 'loyalty_tier = "gold"'
TREE = {"field": "loyalty_tier", "op": "eq", "value": "gold"}
CODE = '{% if custom_attribute.${loyalty_tier} == "gold" %}A{% else %}B{% endif %}'
REFUSED, INVALID = 3, 1


@pytest.fixture(autouse=True)
def _tier(core: Core, acme: OrganizationId) -> None:
    code = "custom_attribute.${loyalty_tier}"
    levels = ["gold", "silver"]
    add_field(core, acme, "Loyalty tier", allowed_values=levels, custom_value_expression=code)


@pytest.fixture
def conditions(cli: CommandLine, acme: OrganizationId) -> Callable[..., Run]:
    def run(command: str, *arguments: str | int) -> Run:
        return cli("conditions", command, "--organization", acme, *arguments)

    return run


@pytest.fixture
def compiled(conditions: Callable[..., Run]) -> Callable[..., Run]:
    def run(condition: str, *arguments: str | int, target: tuple[object, ...] = ()) -> Run:
        target = target or ("--esp", "braze")
        return conditions("compile", *target, "--then", "A", "--else", "B", *arguments, condition)

    return run


def test_a_valid_condition_is_confirmed(conditions):
    run = conditions("check", GOLD)
    assert (run.status, run.out, run.err) == (0, "", "The condition is valid.\n")


def test_a_check_as_json_prints_both_forms(conditions):
    both = {"condition": GOLD, "tree": TREE}
    assert conditions("check", "--json", GOLD).document() == both
    assert conditions("check", "--json", json.dumps(TREE)).document() == both


@pytest.mark.parametrize("command", ["check", "compile", "explain"])
def test_each_violation_of_a_condition_has_a_line_with_a_suggestion(conditions, command):
    required = ("--esp", "braze", "--then", "A") if command == "compile" else ()
    run = conditions(command, *required, 'loyalty_tier = "gould" and\nloyalty_teir is set')
    assert (run.status, run.out) == (INVALID, "")
    assert run.err.splitlines() == [
        "Line 1, column 16: This is not one of the field's allowed values. Did you mean gold?",
        "Line 2, column 1: There is no field with this key. Did you mean loyalty_tier?",
        "Error: The condition is invalid.",
    ]


def test_a_violation_of_a_tree_has_its_pointer(conditions):
    run = conditions("check", json.dumps({"not": {**TREE, "value": "gould"}}))
    assert run.status == INVALID
    assert run.err.splitlines() == [
        "/not/value: This is not one of the field's allowed values. Did you mean gold?",
        "Error: The condition is invalid.",
    ]


def test_a_tree_that_is_not_json_is_invalid(conditions):
    run = conditions("check", '{"not": ')
    assert run.status == INVALID
    assert run.err.splitlines()[-1] == "Error: The condition is invalid."


def test_violations_as_json_have_a_pointer_and_a_place(conditions):
    run = conditions("check", "--json", 'loyalty_tier = "gould"')
    assert (run.status, run.err) == (INVALID, "")
    assert json.loads(run.out) == {
        "violations": [
            {
                "pointer": "",
                "code": "unknown_value",
                "message": "Line 1, column 16: This is not one of the field's allowed values.",
                "line": 1,
                "column": 16,
                "suggestion": "gold",
            }
        ]
    }


def test_a_compiled_condition_is_printed(compiled):
    run = compiled(GOLD)
    assert (run.status, run.out, run.err) == (0, f"{CODE}\n", "")


def test_a_compiled_condition_as_json_has_five_members(compiled):
    assert compiled(GOLD, "--json").document() == {
        "esp": "braze",
        "code": CODE,
        "prelude": None,
        "caveats": [],
        "warnings": [],
    }


def test_a_prelude_precedes_the_code(compiled, core, acme):
    integration = add_integration(core, acme, "sfmc", "sfmc", "Plan").id
    run = compiled('plan = "pro"', target=("--integration", integration))
    assert run.out.startswith('%%[ SET @Plan = AttributeValue("Plan") ]%%%%[ IF ')
    assert run.err.startswith("Caveat: ")


def test_only_strict_refuses_a_caveat(compiled, core, acme):
    integration = add_integration(core, acme, "sfmc", "sfmc", "Plan").id
    assert compiled('plan = "pro"', target=("--integration", integration)).status == 0
    run = compiled('plan = "pro"', "--strict", target=("--integration", integration))
    assert (run.status, run.out) == (REFUSED, "")
    assert run.err.startswith("Salesforce Marketing Cloud: ")


def test_a_name_that_the_last_sync_did_not_find_is_a_mistake(compiled, conditions, core, acme):
    integration = add_integration(core, acme, "hubspot", "hubspot", "city").id
    target = ("--integration", integration)
    message = "The field loyalty_tier is loyalty_tier at HubSpot (the last sync did not find it)."
    for options in ((), ("--strict",)):
        run = compiled("loyalty_tier is set", *options, target=target)
        assert (run.status, run.out) == (REFUSED, "")
        assert run.err.startswith(f"HubSpot: {message}")
    permitted = compiled("loyalty_tier is set", "--allow-mistakes", target=target)
    assert (permitted.status, permitted.out[:5]) == (0, "{% if")
    assert permitted.err.startswith(f"Mistake: {message}")
    explained = conditions("explain", *target, "loyalty_tier is set")
    assert f"refused: {message}" in explained.out


def test_a_refused_condition_has_the_exit_status_3_and_the_reason(compiled, core, acme):
    add_field(core, acme, "Plan", custom_value_expression="plan | x")
    reason = "plan: the value expression is not a reference to a field of Braze."
    run = compiled('plan = "pro"')
    assert (run.status, run.out, run.err) == (REFUSED, "", f"Braze: {reason}\n")
    as_json = compiled('plan = "pro"', "--json")
    assert (as_json.status, as_json.err) == (REFUSED, "")
    assert json.loads(as_json.out) == {"esp": "braze", "refused": reason}


def test_the_code_needs_one_esp_or_one_integration(conditions):
    compiled = ("compile", "--then", "A", GOLD)
    assert conditions(*compiled).usage_error() == "Add --esp or --integration."
    both = conditions(*compiled, "--esp", "braze", "--integration", 1)
    assert both.usage_error() == "Use either --esp or --integration."


def test_one_of_several_integrations_must_be_chosen(compiled, core, acme):
    first, _ = (add_integration(core, acme, "braze", "braze", name).id for name in ("Plan", "City"))
    assert compiled(GOLD).failure() == (
        "The organization has several integrations with Braze. Choose one by its id."
    )
    assert compiled('plan = "pro"', target=("--integration", first)).status == 0


def test_a_condition_is_explained_for_each_esp(conditions, core, acme):
    for esp in (Esp("braze"), Esp("mailchimp")):
        add_integration(core, acme, esp, esp, "PLAN")
    lines = conditions("explain", GOLD).table()
    assert lines[:3] == [
        'The condition is true if `loyalty_tier` is "gold".',
        "",
        "ESP                         RESULT",
    ]
    assert len(lines) == 3 + len(BUILT_IN.esps)
    results = dict(line.split("  ", 1) for line in lines[3:])
    assert results["Braze"].strip() == "supported"
    assert results["Mailchimp"].strip().startswith("refused: loyalty_tier: ")
    assert results["Klaviyo"].strip() == "not connected"


def test_a_condition_is_explained_as_json_for_one_esp(conditions):
    document = conditions("explain", "--esp", "braze", "--json", GOLD).document()
    assert document["sentence"] == 'The condition is true if `loyalty_tier` is "gold".'
    assert [each["esp"] for each in document["esps"]] == ["braze"]


@pytest.mark.parametrize("target", [(), ("--esp", "braze")], ids=["each", "braze"])
def test_an_explanation_reads_the_catalog_once(conditions, target):
    read = RelationalIntegrationRepository.read_catalog
    assert count_calls(read, lambda: conditions("explain", *target, GOLD)) == 1


def test_an_explanation_shows_why_an_esp_has_no_code(conditions, core, acme):
    add_integration(core, acme, "braze", "braze", "Plan")
    add_integration(core, acme, "hubspot", "hubspot", "City")
    add_integration(core, acme, "hubspot", "hubspot", "Shop")
    esps = conditions("explain", "--json", "plan is set").document()["esps"]
    refused = {each["esp"]: each["refused"] for each in esps if "refused" in each}
    assert "braze" not in refused
    assert refused["hubspot"].startswith("The organization has several integrations with HubSpot.")
    assert refused["klaviyo"] == "not connected"
