"""`recipient-fields integrations`: connections to email service providers, and sync runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import BinaryIO

import click

from recipient_fields.application import Core, InvalidDocument
from recipient_fields.application.documents import parse_report, render_integration, render_sync
from recipient_fields.application.strict_json import parse_json
from recipient_fields.domain import FieldId, FieldQuery, IntegrationId, Organization
from recipient_fields.domain.esp import Esp, EspRefused, Integration, ReportedField, SyncPlan

from ..counts import counted
from ..selection import esp_variables, open_field_source
from .command_group import CommandGroup
from .options import Identifier, esp_option, json_option, option
from .organization_option import open_for_organization, organization_option
from .output import note, print_json, print_table
from .prompts import confirm, yes_option

_REPORT = '{"fields": [{"name": "FNAME", "data_type": "text"}]}'
_PROGRESS_INTERVAL = 2.0


@click.group(cls=CommandGroup)
def integrations() -> None:
    """Connect an organization to email service providers, and sync their fields."""


@integrations.command(changes_storage=True)
@organization_option
@esp_option
@option("--name", required=True, help="The integration's display name.")
@json_option
@click.pass_obj
def create(storage: str, organization: str, esp: Esp, name: str, *, as_json: bool) -> None:
    """Create an integration, which has no fields until it is synced."""
    with open_for_organization(storage, organization) as (core, tenant):
        integration = core.integrations.create_integration(tenant.id, esp=esp, name=name)
    _show(integration, "Created", as_json=as_json)


@integrations.command("list")
@organization_option
@json_option
@click.pass_obj
def list_(storage: str, organization: str, *, as_json: bool) -> None:
    """List an organization's integrations."""
    with open_for_organization(storage, organization) as (core, tenant):
        listed = core.integrations.list_integrations(tenant.id)
    rendered = [render_integration(integration) for integration in listed]
    if as_json:
        print_json({"integrations": rendered})
    else:
        print_table(
            ("ID", "ESP", "NAME", "LAST SYNCED"),
            [(each["id"], each["esp"], each["name"], each["last_synced_at"]) for each in rendered],
        )


@integrations.command(changes_storage=True)
@click.argument("integration_id", type=Identifier())
@organization_option
@option("--name", required=True, help="Its new name.")
@json_option
@click.pass_obj
def rename(
    storage: str, integration_id: int, organization: str, name: str, *, as_json: bool
) -> None:
    """Rename an integration."""
    with open_for_organization(storage, organization) as (core, tenant):
        renamed = core.integrations.rename_integration(
            tenant.id, IntegrationId(integration_id), name
        )
    _show(renamed, "Renamed", as_json=as_json)


@integrations.command(changes_storage=True)
@click.argument("integration_id", type=Identifier())
@organization_option
@yes_option
@click.pass_obj
def delete(storage: str, integration_id: int, organization: str, *, yes: bool) -> None:
    """Delete an integration and the fields that it synced."""
    with open_for_organization(storage, organization) as (core, tenant):
        integration = core.integrations.get_integration(tenant.id, IntegrationId(integration_id))
        expected = None if yes else _confirm_deletion(core, tenant, integration)
        deleted = core.integrations.delete_integration(tenant.id, integration.id, expected=expected)
    with_fields = f"with {counted(len(deleted), 'field')}"
    note(f"Deleted integration {integration.id}, {integration.name}, {with_fields}.")


@integrations.command(changes_storage=True)
@click.argument("integration_id", type=Identifier())
@organization_option
@option(
    "--from",
    "report",
    type=click.File("rb"),
    metavar="FILE|-",
    help="A report: a JSON file with the ESP's fields, or - for standard input. By default, the"
    " command requests them from the ESP's API.",
)
@option("--dry-run", is_flag=True, help="Print the changes without storing them.")
@json_option
@click.pass_obj
def sync(
    storage: str,
    integration_id: int,
    organization: str,
    report: BinaryIO | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make an integration's fields equal to what its ESP reports.

    The command reads the ESP's credentials from the environment. `esp list` shows the variables.
    """
    with open_for_organization(storage, organization) as (core, tenant):
        integration = core.integrations.get_integration(tenant.id, IntegrationId(integration_id))
        reported = _read_from_esp(integration.esp) if report is None else _read_report(report)
        plan = core.integrations.sync_fields(
            tenant.id, integration.id, _with_progress(reported), dry_run=dry_run
        )
    # This comes first because the run is stored even if the report can't be printed.
    verb = "Would sync" if dry_run else "Synced"
    note(f"{verb} integration {integration.id}, {integration.name}: {_summary(plan)}.")
    if as_json:
        print_json({"sync": render_sync(plan)})
    else:
        _show_sync(plan)


def _confirm_deletion(
    core: Core, organization: Organization, integration: Integration
) -> list[FieldId]:
    query = FieldQuery(integration_ids=frozenset({integration.id}), limit=None)
    fields = core.fields.find_fields(organization.id, query).fields
    confirm(
        f"Delete integration {integration.id}, {integration.name},"
        f" of organization {organization.id}, {organization.name},"
        f" and its {counted(len(fields), 'field')}?",
        *(f"{field.key}  {field.name}" for field in fields),
    )
    return [field.id for field in fields]


def _read_from_esp(esp: Esp) -> Iterator[ReportedField]:
    """Yield the fields that the ESP lists. If it refuses, the error names the variables in use."""
    try:
        yield from open_field_source(esp, os.environ).fields()
    except EspRefused as error:
        variables = [name for names in esp_variables(esp) for name in names]
        used = ", ".join(name for name in variables if os.environ.get(name, "").strip())
        raise EspRefused(f"{error} The credentials are in {used}.") from error


def _read_report(file: BinaryIO) -> Iterable[ReportedField]:
    document = parse_json(file.read())
    try:
        return parse_report(document)
    except InvalidDocument as invalid:
        raise click.ClickException(f"{invalid} A report looks like {_REPORT}.") from invalid


def _with_progress(reported: Iterable[ReportedField]) -> Iterator[ReportedField]:
    """Yield the same fields, and print their number every two seconds."""
    printed_at = monotonic()
    for count, field in enumerate(reported, start=1):
        yield field
        if monotonic() - printed_at >= _PROGRESS_INTERVAL:
            printed_at = monotonic()
            note(f"Read {counted(count, 'field')} so far.")


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


def _show(integration: Integration, verb: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"integration": render_integration(integration)})
    else:
        note(f"{verb} integration {integration.id}, {integration.name} ({integration.esp.value}).")
