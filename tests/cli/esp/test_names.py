"""The command `integrations names`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import FieldKey, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Integration, SetName

from ...support.command_line import Run
from ...support.fields import add_field
from ...support.integrations import add_integration, sync_fields
from ..stories import Commands

NO_NAME = (
    "Mailchimp has no safe form for the name LOYALTY_TIER. A Mailchimp tag is 1 to 10 capital"
    " letters, digits and underscores, and begins with a letter. Set a name for this field at"
    " integration 1, such as LOYALTY_TI."
)


@pytest.fixture
def audience(core: Core, acme: OrganizationId) -> Integration:
    """Create an integration of Mailchimp, and two fields of which one has no name there."""
    for name in ("Shop", "Loyalty tier"):
        add_field(core, acme, name)
    return core.integrations.create_integration(acme, esp=Esp("mailchimp"), name="Main list")


@pytest.fixture
def names(commands: Commands, audience: Integration) -> Callable[..., Run]:
    return lambda options="", integration=1: commands(f"integrations names {integration} {options}")


def insertion_code(core: Core, acme: OrganizationId, integration: Integration) -> str | None:
    codes = core.content.list_codes(acme, FieldKey("shop")).codes
    return next(each.insertion_code for each in codes if each.integration_id == integration.id)


def test_names_are_listed_by_key_with_the_reason_for_which_there_is_none(names):
    assert names().table() == [
        "KEY           ESP NAME  FROM        STATE    REASON",
        f"loyalty_tier  -         -           -        {NO_NAME}",
        "shop          SHOP      convention  unknown  -",
    ]


def test_the_command_that_sets_a_free_name_follows_the_reason(names, commands, write):
    command = "To set one: `integrations names 1 --set loyalty_tier=LOYALTY_TI`."
    assert names().err == f"loyalty_tier has no name at integration 1. {command}\n"
    assert command in commands("fields codes loyalty_tier").err
    write("a.html", "{{recipient.loyalty_tier}}{{#if recipient.loyalty_tier is set}}A{{/if}}")
    assert commands("content export --integration 1 a.html").err.count(command) == 2
    condition = "conditions compile --integration 1 --then A 'loyalty_tier is set'"
    assert (commands(condition).status, command in commands(condition).err) == (3, True)


def test_the_commands_that_set_free_names_can_be_executed_together(names, core, acme):
    add_field(core, acme, "Loyalty title")
    commands = [line.partition("--set ")[2].rstrip("`.") for line in names().err.splitlines()]
    assert commands == ["loyalty_tier=LOYALTY_TI", "loyalty_title=LOYALTY_2"]
    assert names("".join(f" --set {each}" for each in commands)).table() == [
        "KEY            ESP NAME    FROM         STATE    REASON",
        "loyalty_tier   LOYALTY_TI  integration  unknown  -",
        "loyalty_title  LOYALTY_2   integration  unknown  -",
    ]


def test_the_same_name_for_two_fields_blames_the_command(names):
    run = names("--set loyalty_tier=SHOP --set shop=SHOP")
    assert run.err.splitlines() == [
        "/loyalty_tier: The field shop would get this name, too. Set different names.",
        "/shop: The field loyalty_tier would get this name, too. Set different names.",
        "Error: Nothing was changed.",
    ]


def test_a_similar_name_that_the_last_sync_found_is_offered(commands, core, acme, write):
    add_field(core, acme, "Shoe size")
    add_integration(core, acme, "hubspot", "CRM", "shoesize", "hatsize")
    set_name = "integrations names 1 --set shoe_size=shoesize"
    command = f"To set one: `{set_name}`."
    state = (
        "The field shoe_size is shoe_size at HubSpot (the last sync did not find it, but shoesize)."
    )
    assert commands("integrations names 1").err == f"{state} {command}\n"
    codes = commands("fields codes shoe_size").err
    assert f"{state} {command}\n" in codes
    assert "To create it" not in codes
    write("email.txt", "{{recipient.shoe_size}}")
    advice = "If shoesize is this field, set its name at integration 1."
    for options in ("", "--allow-mistakes"):
        exported = commands(f"content export --integration 1 {options} email.txt")
        mistake, proposal, *_ = exported.err.splitlines()
        assert mistake == (
            f"Mistake: Line 1, column 1: {state} {advice} Otherwise, create this field there, and"
            " sync the integration."
        )
        assert proposal == f"    {command}"
    condition = "conditions compile --integration 1 --then A 'shoe_size is set'"
    assert advice in commands(condition).err
    assert commands(set_name).table()[1:] == ["shoe_size  shoesize  integration  found  -"]


def test_a_proposed_name_is_quoted_for_the_shell(commands, core, acme):
    add_field(core, acme, "Shop size")
    braze = add_integration(core, acme, "braze", "App", "Shop-Size;", "ShopSize $x")
    core.integrations.set_names(acme, braze.id, {"shop_size": SetName("SHOP_SIZE_X")})
    assert "--set 'shop_size=ShopSize $x'`" in commands("integrations names 1").err


def test_names_that_differ_only_in_case_are_ambiguous(commands, core, acme, write):
    add_field(core, acme, "Shop size")
    add_integration(core, acme, "klaviyo", "Store", "shop size", "Shop Size")
    listed = commands("integrations names 1")
    assert listed.table()[1:] == ["shop_size  Shop Size  sync  ambiguous  -"]
    state = (
        "The field shop_size is Shop Size at Klaviyo (the last sync found it: shop_size_1, and also"
        " shop size)."
    )
    command = "integrations names 1 --set shop_size=NAME"
    assert listed.err == f"{state} To choose one: `{command}`.\n"
    write("email.txt", "{{recipient.shop_size}}{{recipient.shop_size_1_2}}")
    exported = commands("content export --integration 1 --surface text email.txt")
    advice = "Set the name of the one that you mean at integration 1."
    assert f"Caveat: Line 1, column 1: {state} {advice}\n" in exported.err
    assert exported.err.count("column 24") == 0


def test_names_are_set_and_removed_together(names, core, acme, audience):
    names("--set shop=STORE").messages()
    changed = names("--set loyalty_tier=TIER --unset shop")
    assert changed.table() == [
        "KEY           ESP NAME  FROM         STATE    REASON",
        "loyalty_tier  TIER      integration  unknown  -",
        "shop          SHOP      convention   unknown  -",
    ]
    assert changed.err == "Names at integration 1, Main list: 1 set, 1 removed.\n"
    stored = core.integrations.get_integration(acme, audience.id).names
    assert [name.name for name in stored.values()] == ["TIER"]


def test_only_names_that_were_set_count_as_removed(names):
    names("--set shop=STORE").messages()
    again = names("--unset shop --unset loyalty_tier").messages()
    assert "Names at integration 1, Main list: 0 set, 1 removed." in again
    assert "0 set, 0 removed." in names("--unset shop").messages()


def test_either_all_names_are_set_or_none(names, core, acme, audience):
    run = names("--set shop=STORE --set loyaltytier=TIER --unset city")
    assert (run.status, run.out) == (1, "")
    assert run.err.splitlines() == [
        "/loyaltytier: The organization has no field with this key. Did you mean loyalty_tier?",
        "/city: The organization has no field with this key.",
        "Error: Nothing was changed.",
    ]
    assert core.integrations.get_integration(acme, audience.id).names == {}


def test_violations_can_be_a_json_document(names):
    run = names("--set loyalty_tier=SHOP --set shop=SHOP --json")
    assert run.status == 1
    pointers = [each["pointer"] for each in json.loads(run.out)["violations"]]
    assert pointers == ["/loyalty_tier", "/shop"]


def test_synced_fields_are_listed_only_if_no_other_field_stands_for_them(names, core, acme):
    app = add_integration(core, acme, "braze", "App", "Shop", "Visits")
    assert [line.split()[0] for line in names().table()[1:]] == ["loyalty_tier", "shop", "visits"]
    names("--set shop_2=STORE2").messages()
    assert "shop_2" in names().out
    listed = names("--json", app.id).document()["names"]
    assert [each["key"] for each in listed] == ["loyalty_tier", "shop"]
    assert listed[1] == {
        "key": "shop",
        "esp_field_name": "Shop",
        "name_from": "sync",
        "state": "found",
        "similar_names": [],
        "refusal": None,
    }


def test_a_missing_name_shows_how_to_create_the_field(names, core, audience):
    sync_fields(core, audience, "SHOP")
    names("--set loyalty_tier=TIER").messages()
    assert names().messages() == (
        "One name is missing at Mailchimp. If the account calls the field differently, use --set."
        " Otherwise: Add a merge field with the tag NAME to the audience:"
        " POST /3.0/lists/{list_id}/merge-fields. A third party describes this request.\n"
    )


def test_a_name_can_be_that_of_a_custom_field(names, core, acme):
    klaviyo = core.integrations.create_integration(acme, esp=Esp("klaviyo"), name="Shop")
    names("--set shop=City --custom", klaviyo.id).messages()
    assert insertion_code(core, acme, klaviyo) == "{{ person|lookup:'City' }}"
    names("--set shop=City", klaviyo.id).messages()
    assert insertion_code(core, acme, klaviyo) == "{{ person.City }}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--set shop", "use KEY=NAME, for example loyalty_tier=TIER."),
        ("--set =SHOP", "use KEY=NAME, for example loyalty_tier=TIER."),
        ("--set shop=A --unset shop", "Use only one --set or --unset for shop."),
        ("--set shop=A --set shop=B", "Use only one --set or --unset for shop."),
        ("--unset shop --custom", "--custom requires --set."),
    ],
)
def test_contradictory_arguments_are_a_usage_error(names, arguments, message):
    assert message in names(arguments).usage_error()


def test_the_audit_log_has_each_change_with_its_author(cli, audience, folder):
    command = "integrations --audit-log audit.log names 1 --organization 1"
    for options in ("--set shop=STORE --set loyalty_tier=TIER", "--unset shop"):
        cli(*f"{command} {options}".split()).messages()
    records = [json.loads(line) for line in (folder / "audit.log").read_text().splitlines()]
    assert [(each["event"].split(":")[0], each["by"], each["name"]) for each in records] == [
        ("Name of shop at integration 1 set", "operator", "STORE"),
        ("Name of loyalty_tier at integration 1 set", "operator", "TIER"),
        ("Name of shop at integration 1 removed", "operator", "STORE"),
    ]
