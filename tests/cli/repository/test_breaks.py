"""`--content` and `--break`: changes of fields that break files."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import (
    DataType,
    IntegrationId,
    OrganizationId,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, SetName

from ...support.command_line import CommandLine, Run
from ...support.fields import add_field

BRAZE = IntegrationId(1)
TIER = "{name: Tier, data_type: text, allowed_values: [gold, silver]}"
VISITS = "{name: Visits, data_type: number}"


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    braze = core.integrations.create_integration(acme, esp=Esp("braze"), name="Emails")
    add_field(core, acme, "Tier", allowed_values=["gold", "silver"])
    add_field(core, acme, "Visits", data_type=DataType.NUMBER)
    core.integrations.set_names(acme, braze.id, {"tier": SetName("level")})


@pytest.fixture(autouse=True)
def _files(write: Callable[[str, str], None]) -> None:
    write("recipient-fields.toml", '[native]\n"braze/**" = "braze"')
    write("emails/a.html", "\n{{recipient.visits}}")
    write("emails/b.html", '{{#if recipient.tier = "silver"}}x{{/if}}')
    write("emails/c.html", '{{recipient.tier}} {{#if recipient.tier = "gold"}}x{{/if}}')
    write("braze/d.html", "{{custom_attribute.${level}}}")


@pytest.fixture
def plan(cli: CommandLine, acme: OrganizationId, write) -> Callable[..., Run]:
    def plan(fields: str, *options: str, command: str = "plan") -> Run:
        write("fields.yaml", fields)
        return cli(command, "fields.yaml", "--organization", acme, *options)

    return plan


def refused(run: Run) -> list[str]:
    return [line for line in run.out.splitlines() if line.startswith("!")]


def advice(key: str) -> str:
    return f" To change it nevertheless, add --break {key}."


@pytest.mark.parametrize(
    ("tier", "visits", "refusals"),
    [
        (TIER, VISITS, []),
        (TIER, None, ["visits: used in emails/a.html:2."]),
        (TIER, "{name: Visits, data_type: text}", ["visits: used in emails/a.html:2."]),
        (
            TIER,
            "{name: Visits, data_type: number, insertable: false}",
            ["visits: used in emails/a.html:2."],
        ),
        (TIER.replace(", silver", ""), VISITS, ["tier: used in emails/b.html:1."]),
        (TIER.replace("gold, ", "gold, bronze, "), VISITS, []),
        (
            TIER.replace("}", ", insertable: false}"),
            VISITS,
            ["tier: used in braze/d.html:1 and in 1 other place."],
        ),
    ],
)
def test_a_change_that_breaks_a_file_is_refused(plan, tier, visits, refusals):
    fields = f"fields:\n  tier: {tier}\n" + (f"  visits: {visits}\n" if visits else "")
    options = ("--prune", "--replace", "visits") if visits else ("--prune",)
    expected = [f"! refused {each}{advice(each.split(':')[0])}" for each in refusals]
    for command in ("plan", "apply"):
        extra = ("--yes",) if command == "apply" else ("--exit-zero",)
        run = plan(fields, *options, "--content", ".", *extra, command=command)
        assert refused(run) == expected
        assert run.status == (1 if refusals else 0)
    permitted = plan(
        fields, *options, "--content", ".", "--break", "tier", "--break", "visits", "--exit-zero"
    )
    assert (permitted.status, refused(permitted)) == (0, [])


def test_a_changed_name_at_an_esp_is_refused(plan):
    names = "fields: {}\nintegrations:\n- {name: Emails, esp: braze, names: {tier: other}}\n"
    run = plan(names, "--content", "braze")
    assert run.status == 1
    assert refused(run) == [f"! refused tier: used in braze/d.html:1.{advice('tier')}"]
    assert plan(names, "--content", "emails", "--exit-zero").status == 0
    assert plan(names, "--exit-zero").status == 0


def test_a_saved_plan_needs_the_content_again(plan, cli, acme, write):
    fields = f"fields:\n  tier: {TIER}\n"
    write("emails/a.html", "nothing")
    saved = plan(fields, "--prune", "--content", ".", "--out", "saved.plan", "--exit-zero")
    assert saved.status == 0
    write("emails/a.html", "{{recipient.visits}}")
    options = ("--organization", acme, "--yes")
    run = cli("apply", "saved.plan", *options, "--content", ".")
    assert (run.status, len(refused(run))) == (1, 1)
    assert cli("apply", "saved.plan", *options).status == 0


def test_a_deletion_of_a_manual_field_is_refused(cli, acme, manual, write):
    write("emails/e.html", "{{recipient.preferred_shop}}\n\n{{recipient.preferred_shop}}")
    delete = ("fields", "delete", "preferred_shop", "--organization", acme, "--yes")
    run = cli(*delete, "--content", "emails")
    assert run.status == 1
    assert refused(run) == [
        "! refused preferred_shop: used in emails/e.html:1 and in 1 other place."
        + advice("preferred_shop")
    ]
    assert run.err == "Error: The change breaks uses of 1 field. Nothing was changed.\n"
    assert cli(*delete, "--content", "emails", "--break", "preferred_shop").status == 0


def test_a_sync_that_removes_a_used_field_is_refused(cli, core, acme, write):
    fields = [EspField(name=each, data_type=DataType.TEXT) for each in ("level", "town")]
    core.integrations.sync_fields(acme, BRAZE, fields)
    write("emails/e.html", "{{recipient.town}}")
    write("report.json", json.dumps({"fields": []}))
    sync = ("integrations", "sync", BRAZE, "--organization", acme, "--from", "report.json")
    options = ("--yes", "--allow-empty", "--content", ".")
    run = cli(*sync, *options)
    assert run.status == 1
    assert refused(run) == [
        f"! refused tier: used in braze/d.html:1.{advice('tier')}",
        f"! refused town: used in emails/e.html:1.{advice('town')}",
    ]
    assert cli(*sync, *options, "--break", "tier").status == 1
    assert cli(*sync, *options, "--break", "tier", "--break", "town").status == 0
