"""The section `integrations` of documents of fields: what fields are called at integrations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import ADMINISTRATOR, OrganizationId
from recipient_fields.domain.esp import Esp

from ...support.command_line import CommandLine, Run
from ...support.fields import add_field

CHANGES = 3
DOCUMENT = """\
fields:
  city: {name: City, data_type: text}
integrations:
- name: Main list
  esp: mailchimp
  names:
    city: TOWN
    shop:
      name: STORE
      custom: true
"""
STEPS = [
    "+ create city",
    '    name: "City"',
    '    data_type: "text"',
    '+ create name city at Main list: "TOWN"',
    '+ create name shop at Main list: {"name":"STORE","custom":true}',
    "Plan: 1 to create, 0 to change, 0 to delete, 0 unchanged.",
    "Names: 2 to create, 0 to change, 0 to delete, 0 unchanged.",
]
NOTHING = [
    "Plan: 0 to create, 0 to change, 0 to delete, 1 unchanged.",
    "Names: 0 to create, 0 to change, 0 to delete, 2 unchanged.",
]

REPEATED = "The document already has this integration. Add the names to it."


@pytest.fixture(autouse=True)
def _main_list(core: Core, acme: OrganizationId) -> None:
    """Create a manual field, and the integration of the document."""
    add_field(core, acme, "Shop", ADMINISTRATOR)
    core.integrations.create_integration(acme, esp=Esp("mailchimp"), name="Main list")


@pytest.fixture
def set_names(core: Core, acme: OrganizationId) -> Callable[[], dict[str, str]]:
    """Return the names that are set at the integration, by the keys of the fields."""

    def names() -> dict[str, str]:
        [integration, *_] = core.integrations.list_integrations(acme)
        keys = {field.id: str(field.key) for field in core.fields.list_fields(acme).fields}
        return {keys[field_id]: each.name for field_id, each in integration.names.items()}

    return names


@pytest.fixture
def run(cli: CommandLine, acme: OrganizationId, tmp_path: Path) -> Callable[..., Run]:
    """Return a function that plans or applies a document."""

    def run(command: str, document: str, *options: str | Path) -> Run:
        file = tmp_path / "document"
        file.write_text(document, encoding="utf-8")
        return cli(command, file, "--organization", acme, *options)

    return run


def apply(run: Callable[..., Run], document: str, *options: str) -> list[str]:
    """Return the lines on standard output of `apply`, which must succeed."""
    applied: Run = run("apply", document, "--yes", *options)
    return applied.table()


def test_names_are_applied_after_the_fields_that_they_are_for(run, set_names):
    planned = run("plan", DOCUMENT)
    assert (planned.status, planned.out.splitlines()) == (CHANGES, STEPS)
    assert set_names() == {}
    applied = run("apply", DOCUMENT, "--yes")
    assert (applied.table(), applied.err) == (STEPS, "Applied 3 changes.\n")
    assert set_names() == {"city": "TOWN", "shop": "STORE"}


def test_a_second_apply_changes_nothing(run, core, acme):
    apply(run, DOCUMENT)
    catalog = core.fields.list_fields(acme)
    assert apply(run, DOCUMENT) == NOTHING
    assert core.fields.list_fields(acme) == catalog
    assert run("plan", DOCUMENT).status == 0


def test_other_names_are_removed_only_with_prune(run, set_names):
    apply(run, DOCUMENT)
    fewer = DOCUMENT.replace("    city: TOWN\n", "").replace("STORE", "SHOP2")
    assert apply(run, fewer)[0] == (
        '~ change name shop at Main list: {"name":"STORE","custom":true} →'
        ' {"name":"SHOP2","custom":true}'
    )
    assert set_names() == {"city": "TOWN", "shop": "SHOP2"}
    assert apply(run, fewer, "--prune")[0] == '- delete name city at Main list: "TOWN"'
    assert set_names() == {"shop": "SHOP2"}


def test_all_names_are_removed_with_prune_if_the_document_has_none(run, set_names):
    apply(run, DOCUMENT)
    none = DOCUMENT.partition("    city: TOWN")[0].replace("names:", "names: {}")
    assert apply(run, none) == NOTHING[:1]
    assert set_names() == {"city": "TOWN", "shop": "STORE"}
    assert apply(run, none, "--prune")[:2] == [
        '- delete name city at Main list: "TOWN"',
        '- delete name shop at Main list: {"name":"STORE","custom":true}',
    ]
    assert set_names() == {}


def test_the_exported_document_has_the_names(run, cli, acme):
    export = ("fields", "export", "--organization", acme)
    assert "integrations" not in cli(*export).out
    apply(run, DOCUMENT)
    exported = cli(*export).out
    assert exported.endswith(DOCUMENT.partition("\n")[2].partition("\n")[2])
    assert apply(run, exported) == NOTHING


def test_a_saved_plan_sets_the_names(run, cli, acme, set_names, tmp_path):
    file = tmp_path / "plan"
    run("plan", DOCUMENT, "--out", file)
    apply_plan = ("apply", file, "--organization", acme, "--yes")
    assert cli(*apply_plan).table() == STEPS
    assert set_names() == {"city": "TOWN", "shop": "STORE"}
    assert "Fields or names have changed since the plan" in cli(*apply_plan).failure()


def test_a_saved_plan_with_names_alone_is_for_one_state(run, cli, acme, set_names, tmp_path):
    file, names = tmp_path / "plan", ("integrations", "names", 1, "--organization", acme)
    apply(run, DOCUMENT)
    cli(*names, "--unset", "shop").messages()
    assert run("plan", DOCUMENT, "--out", file).status == CHANGES
    cli(*names, "--set", "shop=OTHER").messages()
    apply_plan = ("apply", file, "--organization", acme, "--yes")
    assert "Fields or names have changed since the plan" in cli(*apply_plan).failure()
    assert set_names()["shop"] == "OTHER"


def test_a_saved_plan_that_was_edited_to_set_equal_names_changes_nothing(run, cli, acme, tmp_path):
    file = tmp_path / "plan"
    apply(run, DOCUMENT)
    integrations = [{"integration_id": 1, "names": {"city": {"name": "TOWN"}}}]
    file.write_text(json.dumps({"operations": [], "integrations": integrations}))
    applied = cli("apply", file, "--organization", acme, "--yes")
    assert applied.table() == ["Plan: 0 to create, 0 to change, 0 to delete, 1 unchanged."]


def test_a_plan_as_json_has_the_names(run):
    names = json.loads(run("plan", DOCUMENT, "--json").out)["plan"]["names"]
    assert names["unchanged"] == 0
    assert names["steps"][0] == {
        "action": "create",
        "integration": "Main list",
        "key": "city",
        "before": None,
        "after": "TOWN",
        "reason": None,
    }


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "Main list",
            "Main lists",
            (
                "integration Main lists: There is no integration with this name. Create it first:"
                " documents create none. Did you mean Main list? Use `integrations create`."
            ),
        ),
        (
            "Main list",
            "Twin",
            (
                "integration Twin: Integrations 2 and 3 have this name. Rename one of them. Use"
                " `integrations rename`."
            ),
        ),
        (
            "mailchimp",
            "braze",
            (
                "integration Main list: This is an integration with Mailchimp, not with Braze."
                " Correct `esp`."
            ),
        ),
        (
            "    city: TOWN",
            "    citi: TOWN",
            (
                "name citi at Main list: The organization has no field with this key. Did you mean"
                " city?"
            ),
        ),
        (
            "TOWN",
            "town",
            (
                "name city at Main list: A Mailchimp tag is 1 to 10 capital letters, digits and"
                " underscores, and begins with a letter."
            ),
        ),
    ],
)
def test_nothing_is_applied_if_a_name_is_refused(run, core, acme, set_names, old, new, line):
    for _ in range(2):
        core.integrations.create_integration(acme, esp=Esp("mailchimp"), name="Twin")
    for command in ("plan", "apply"):
        refused = run(command, DOCUMENT.replace(old, new))
        assert refused.status == 1
        assert f"! refused {line}" in refused.out.splitlines()
        assert "1 name can't be changed as the document defines. Nothing was" in refused.err
    assert set_names() == {}
    assert [field.key for field in core.fields.list_fields(acme).fields] == ["shop"]


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_service_can_not_set_names(cli, tmp_path, command):
    file = tmp_path / "document"
    file.write_text(DOCUMENT)
    assert cli(command, file, "--url", "http://127.0.0.1:1").failure() == (
        "--url can't set the names in `integrations`, so nothing was changed. Use --storage and"
        " --organization. Or remove this section, and set the names on the machine of the storage:"
        " `recipient-fields integrations names ID --set KEY=NAME`."
    )


def test_the_audit_log_has_the_applied_names(run, tmp_path):
    log = tmp_path / "audit.log"
    apply(run, DOCUMENT, "--audit-log", str(log))
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(each["by"], each["name"]) for each in records] == [
        ("operator", "STORE"),
        ("operator", "TOWN"),
    ]


def test_an_invalid_section_is_reported_with_its_places(run):
    invalid = """\
fields: {}
integrations:
- {name: Main list, esp: mailchimp, names: {city: [], shop: {nam: A}, tier: null}}
- {name: Main list, esp: mailchimp, names: {}}
"""
    assert [line.partition(":")[2] for line in run("plan", invalid).err.splitlines()[:-1]] == [
        "3:51: integrations.0.names.city: This must be a text, such as TIER.",
        "3:55: integrations.0.names.shop.name: Add this member.",
        "3:62: integrations.0.names.shop.nam: There is no such member. Did you mean name?",
        "3:77: integrations.0.names.tier: This must be a text, such as TIER.",
        f"4:10: integrations.1.name: {REPEATED}",
    ]
