"""`recipient-fields integrations`: connections to email service providers, and sync runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import BinaryIO

import click

from recipient_fields.domain import FieldId, FieldQuery, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp, EspRefused, Integration, ReportedField, SyncPlan

from ..composition import Core, given_variables, open_esp_source
from ..esp_reports import parse_report
from ..rendering import render_integration, render_sync
from ..strict_json import parse_json
from .options import Identifier, esp_option, existing, json_option, option, organization_option
from .output import note, print_json, print_table

_PROGRESS_SECONDS = 2.0


@click.group()
def integrations() -> None:
    """Connect an organization to email service providers, and sync their fields."""


@integrations.command()
@organization_option
@esp_option
@option("--name", required=True, help="What people call the integration.")
@json_option
@click.pass_obj
def create(storage: str, organization: int, esp: Esp, name: str, *, as_json: bool) -> None:
    """Create an integration, which has no fields until it is synced."""
    with existing(storage) as core:
        integration = core.integrations.create_integration(
            OrganizationId(organization), esp=esp, name=name
        )
    _show(integration, "Created", as_json=as_json)


@integrations.command("list")
@organization_option
@json_option
@click.pass_obj
def list_(storage: str, organization: int, *, as_json: bool) -> None:
    """List an organization's integrations."""
    with existing(storage) as core:
        everyone = core.integrations.list_integrations(OrganizationId(organization))
    rendered = [render_integration(integration) for integration in everyone]
    if as_json:
        print_json({"integrations": rendered})
    else:
        print_table(
            ("ID", "ESP", "NAME", "LAST SYNCED"),
            [(each["id"], each["esp"], each["name"], each["last_synced_at"]) for each in rendered],
        )


@integrations.command()
@click.argument("integration_id", type=Identifier())
@option("--name", required=True, help="Its new name.")
@json_option
@click.pass_obj
def rename(storage: str, integration_id: int, name: str, *, as_json: bool) -> None:
    """Give an integration another name."""
    with existing(storage) as core:
        found = core.integrations.locate_integration(IntegrationId(integration_id))
        renamed = core.integrations.rename_integration(found.organization_id, found.id, name)
    _show(renamed, "Renamed", as_json=as_json)


@integrations.command()
@click.argument("integration_id", type=Identifier())
@option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.pass_obj
def remove(storage: str, integration_id: int, *, yes: bool) -> None:
    """Remove an integration and the fields that it synced."""
    with existing(storage) as core:
        integration = core.integrations.locate_integration(IntegrationId(integration_id))
        expected = None if yes else _confirm_removal(core, integration)
        removed = core.integrations.remove_integration(
            integration.organization_id, integration.id, expected=expected
        )
    note(f"Removed integration {integration.id}, {integration.name}, with {_fields(len(removed))}.")


@integrations.command()
@click.argument("integration_id", type=Identifier())
@option(
    "--from",
    "report",
    type=click.File("rb"),
    metavar="FILE|-",
    help="Read what the ESP reports from a JSON file; otherwise ask the ESP itself.",
)
@option("--dry-run", is_flag=True, help="Tell what would change, and change nothing.")
@json_option
@click.pass_obj
def sync(
    storage: str, integration_id: int, report: BinaryIO | None, *, dry_run: bool, as_json: bool
) -> None:
    """Make an integration's fields equal to what its ESP reports.

    The ESP's credentials are read from the environment; `esp list` names the variables.
    """
    with existing(storage) as core:
        integration = core.integrations.locate_integration(IntegrationId(integration_id))
        reported = (
            _asked(integration.esp) if report is None else parse_report(parse_json(report.read()))
        )
        plan = core.integrations.sync_fields(
            integration.organization_id, integration.id, _counted(reported), dry_run=dry_run
        )
    # Told first: where the report can't be printed, the run has been stored all the same.
    verb = "Would sync" if dry_run else "Synced"
    note(f"{verb} integration {integration.id}, {integration.name}: {_summary(plan)}.")
    if as_json:
        print_json({"sync": render_sync(plan)})
    else:
        _show_sync(plan)


def _confirm_removal(core: Core, integration: Integration) -> list[FieldId]:
    query = FieldQuery(integration_ids=frozenset({integration.id}), limit=None)
    fields = core.fields.find_fields(integration.organization_id, query).fields
    for field in fields:
        note(f"{field.key}  {field.name}")
    question = f"Remove integration {integration.id}, {integration.name}, and its "
    click.confirm(f"{question}{_fields(len(fields))}?", abort=True, err=True)
    return [field.id for field in fields]


def _asked(esp: Esp) -> Iterator[ReportedField]:
    """What the ESP reports; where it refuses, the error names the variables it was asked with."""
    try:
        yield from open_esp_source(esp, os.environ).fields()
    except EspRefused as refusal:
        given = ", ".join(given_variables(esp, os.environ))
        raise EspRefused(f"{refusal} It was asked with {given}.") from refusal


def _counted(reported: Iterable[ReportedField]) -> Iterator[ReportedField]:
    """The same, telling from time to time how many it were."""
    told_at = monotonic()
    for count, field in enumerate(reported, start=1):
        yield field
        if monotonic() - told_at >= _PROGRESS_SECONDS:
            told_at = monotonic()
            note(f"Read {_fields(count)} so far.")


def _show_sync(plan: SyncPlan) -> None:
    changes = {"created": plan.created, "updated": plan.updated, "removed": plan.removed}
    rows: list[tuple[object, ...]] = [
        (change, field.key, field.origin.esp_field_name, None)
        for change, fields in changes.items()
        for field in fields
    ]
    rows += [("refused", None, field.name, field.reason) for field in plan.refused]
    print_table(("CHANGE", "KEY", "ESP FIELD", "REASON"), rows)


def _summary(plan: SyncPlan) -> str:
    return (
        f"{len(plan.created)} created, {len(plan.updated)} updated, {len(plan.removed)} removed,"
        f" {plan.unchanged} unchanged, {len(plan.refused)} refused"
    )


def _fields(count: int) -> str:
    return f"{count:,} field{'' if count == 1 else 's'}"


def _show(integration: Integration, verb: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"integration": render_integration(integration)})
    else:
        note(f"{verb} integration {integration.id}, {integration.name} ({integration.esp.value}).")
