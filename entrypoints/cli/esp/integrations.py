"""`recipient-fields integrations`: connections to email service providers, and sync runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import BinaryIO

import click

from recipient_fields.application import Core
from recipient_fields.application.esp.documents import (
    parse_report,
    render_integration,
    render_sync,
)
from recipient_fields.application.fields.documents import render_fields
from recipient_fields.application.wording import counted
from recipient_fields.domain import FieldId, FieldKey, IntegrationId, Organization
from recipient_fields.domain.esp import Esp, EspName
from recipient_fields.domain.integrations import (
    EmptyReport,
    EspRefused,
    Integration,
    NamedField,
    ReportedField,
    SyncNotConfirmed,
    SyncPlan,
    SyncPlanChanged,
)
from recipient_fields.domain.integrations.changes import names_after

from ...service.selection import esp_variables, installed_profiles, open_field_source, storage_kind
from ..accounts.audit_log import audit_log_option
from ..commands import CommandGroup
from ..options import (
    confirm,
    flag,
    is_at_terminal,
    is_on_command_line,
    json_option,
    option,
    setting_option,
    yes_option,
)
from ..output import (
    Progress,
    is_json,
    note,
    print_json,
    print_line,
    print_or_note,
    print_rows,
    table_lines,
)
from ..repository.breaks import ContentGuard, content_options
from ..targets import open_for_organization, organization_option
from ..typed_options import esp_option
from ..violations import name_of, parse_json_file, reporting_violations
from .connections import connection_commands, open_connected_source
from .names import match, names
from .options import integration_options

_REPORT = '{"fields": [{"name": "FNAME", "data_type": "text"}]}'


@click.group(cls=CommandGroup)
@audit_log_option
def integrations() -> None:
    """Connect an organization to email service providers, and sync their fields."""


@integrations.command(changes_storage=True)
@organization_option
@esp_option
@option("--name", required=True, help="The integration's display name.")
@json_option
def create(organization: str, esp: Esp, name: str) -> None:
    """Create an integration, which has no fields until it is synced."""
    with open_for_organization(organization) as (core, chosen):
        integration = core.integrations.create_integration(chosen.id, esp=esp, name=name)
    _show(integration, "Created")


@integrations.command("list")
@organization_option
@json_option
def list_(organization: str) -> None:
    """List an organization's integrations."""
    with open_for_organization(organization) as (core, chosen):
        listed = core.integrations.list_integrations(chosen.id)
    rendered = [render_integration(integration) for integration in listed]
    print_rows(
        {"integrations": rendered},
        ("ID", "ESP", "NAME", "LAST SYNCED"),
        [(each["id"], each["esp"], each["name"], each["last_synced_at"]) for each in rendered],
    )


@integrations.command(changes_storage=True)
@integration_options
@option("--name", required=True, help="Its new name.")
@json_option
def rename(integration_id: int, organization: str, name: str) -> None:
    """Rename an integration."""
    with open_for_organization(organization) as (core, chosen):
        renamed = core.integrations.rename_integration(
            chosen.id, IntegrationId(integration_id), name
        )
    _show(renamed, "Renamed")


@integrations.command(changes_storage=True)
@integration_options
@yes_option
def delete(integration_id: int, organization: str, *, yes: bool) -> None:
    """Delete an integration and the fields that it synced."""
    with open_for_organization(organization) as (core, chosen):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        expected = None if yes else _confirm_deletion(core, chosen, integration)
        deleted = core.integrations.delete_integration(chosen.id, integration.id, expected=expected)
    with_fields = f"with {counted(len(deleted), 'field')}"
    note(f"Deleted integration {integration.id}, {integration.name}, {with_fields}.")


@integrations.command(
    changes_storage=True, params=[setting_option("catalog_size"), setting_option("esp_hosts")]
)
@integration_options
@option(
    "--from",
    "report",
    type=click.File("rb"),
    metavar="FILE|-",
    help="A report: a JSON file with the ESP's fields, or - for standard input. By default, the"
    " command requests them from the ESP's API.",
)
@flag("--dry-run", text="Print the changes without storing them.")
@option(
    "--allow-removals",
    type=click.IntRange(min=0),
    metavar="N",
    help="Remove up to N fields without a prompt.",
)
@flag("--yes", text="Remove any number of fields without a prompt.")
@flag("--allow-empty", text="Accept a report without fields.")
@content_options
@json_option
def sync(
    integration_id: int,
    organization: str,
    catalog_size: int,
    esp_hosts: tuple[str, ...],
    report: BinaryIO | None,
    allow_removals: int | None,
    content: Sequence[str],
    broken: Sequence[FieldKey],
    *,
    dry_run: bool,
    yes: bool,
    allow_empty: bool,
) -> None:
    """Make an integration's fields equal to what its ESP reports.

    The command reads the ESP with the credentials that `integrations connect` has stored.

    Before it removes fields, it prints what it would change, and prompts for confirmation. If
    standard input is not a terminal, it changes nothing and exits with status 3, unless --yes or
    --allow-removals permits the removals.
    """
    if yes and allow_removals is not None:
        raise click.UsageError("Use either --yes or --allow-removals.")
    with open_for_organization(organization, catalog_size=catalog_size, esp_hosts=esp_hosts) as (
        core,
        chosen,
    ):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        began_at = core.clock()
        reported = _read_from_esp(core, integration) if report is None else _read_report(report)
        sync_fields = partial(
            core.integrations.sync_fields,
            chosen.id,
            integration.id,
            tuple(_with_progress(reported)),
            began_at=began_at,
            allow_empty=allow_empty,
        )
        try:
            if content:
                plan = sync_fields(dry_run=True)
                ContentGuard(content, broken).require_unbroken(
                    lambda: core.content.read_names(chosen.id)[0],
                    lambda names: names_after(names, plan.integration, plan.changes),
                )
            if dry_run:
                _print_planned(sync_fields(dry_run=True))
            else:
                permitted = None if yes else allow_removals or 0
                _sync_confirmed(sync_fields, core, chosen, permitted)
        except EmptyReport as error:
            raise click.ClickException(
                f"{error} If the account has no fields, add --allow-empty."
            ) from error


@integrations.command(changes_storage=True, params=[setting_option("catalog_size")])
@integration_options
@json_option
def restore(integration_id: int, organization: str, catalog_size: int) -> None:
    """Restore the fields that the last sync with removals has removed.

    The command restores all of them, or none. If it is repeated, it restores those of the sync
    before. To restore one field, use `fields restore`.
    """
    with open_for_organization(organization, catalog_size=catalog_size) as (core, chosen):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        removals = core.integrations.list_removals(chosen.id, integration.id)
        if not removals:
            raise click.ClickException(
                "There is nothing to restore: no sync has removed a field of this integration, or"
                " all were restored."
            )
        ids = [removal.field_id for removal in removals[0]]
        restored = core.integrations.restore_fields(chosen.id, integration.id, ids)
    fields = counted(len(restored), "field")
    note(f"Restored {fields} of integration {integration.id}, {integration.name}.")
    rows = [(each.id, each.key, each.name) for each in restored]
    print_rows(render_fields(restored), ("ID", "KEY", "NAME"), rows)


integrations.add_command(names)
integrations.add_command(match)
for _command in connection_commands:
    integrations.add_command(_command)


class _RemovalsRefused(click.ClickException):
    """The sync would remove fields, and neither an option nor a person at a terminal permits it."""

    exit_code = 3


def _sync_confirmed(
    sync_fields: Callable[..., SyncPlan],
    core: Core,
    organization: Organization,
    permitted: int | None,
) -> None:
    """Store the sync after the confirmation of its plan, and print it.

    `permitted` is the number of removals that need no confirmation. None permits any number.
    """
    confirmed: str | None = None
    while True:
        try:  # No field is removed before the plan is printed.
            plan = sync_fields(confirmed=confirmed, max_removals=None if confirmed else 0)
            break
        except SyncNotConfirmed as error:
            _confirm_removals(error, organization, permitted)
            confirmed = error.plan.digest
    # This comes first because the run is stored even if the report can't be printed.
    integration = plan.integration
    note(f"Synced {_summary(plan)}")
    core.connections.note_sync(plan)
    if plan.removed and core.has_history:
        note(f"To undo the removals{_undo_command(integration)}")
    if is_json():
        print_json({"sync": render_sync(plan)})
    elif confirmed is None:
        _print_lines(plan)


def _undo_command(integration: Integration) -> str:
    """Return the command with the options of this command line that it needs.

    It does not contain the URL of a storage that can contain a password.
    """
    ctx, hint = click.get_current_context(), ""
    command = f"recipient-fields integrations restore {integration.id}"
    command += f" --organization {integration.organization_id}"
    if is_on_command_line(ctx, "storage"):
        if storage_kind(ctx.obj) == "postgresql":
            hint = ", with the same --storage"
        else:
            command += f" --storage {shlex.quote(ctx.obj)}"
    if is_on_command_line(ctx, "catalog_size"):
        command += f" --catalog-size {ctx.params['catalog_size']}"
    return f"{hint}: {command}"


def _confirm_removals(
    error: SyncNotConfirmed, organization: Organization, permitted: int | None
) -> None:
    """Print the plan. End the command unless its removals are permitted, or then confirmed."""
    plan, integration = error.plan, error.plan.integration
    removed = counted(len(plan.removed), "field")
    if isinstance(error, SyncPlanChanged):
        note("The fields have changed since the plan was printed, so nothing was stored. The plan:")
    is_permitted = permitted is None or len(plan.removed) <= permitted
    is_refused = not is_permitted and not is_at_terminal()
    if is_json() and not is_refused:  # Standard output has one document: what the sync stores.
        note(f"Would sync {_summary(plan)}")
        for line in _lines(plan):
            note(line)
    else:
        _print_planned(plan)
    if is_refused:
        raise _RemovalsRefused(
            f"The sync would remove {removed}, so nothing was changed. To confirm, add"
            f" --allow-removals {len(plan.removed)}, or --yes for any number."
        )
    if not is_permitted:
        confirm(
            f"Remove {removed} of integration {integration.id}, {integration.name},"
            f" of organization {organization.id}, {organization.name}?"
        )


def _print_planned(plan: SyncPlan) -> None:
    """Print what a sync would change."""
    note(f"Would sync {_summary(plan)}")
    if is_json():
        print_json({"sync": render_sync(plan)})
    else:
        _print_lines(plan)


def _confirm_deletion(
    core: Core, organization: Organization, integration: Integration
) -> list[FieldId]:
    fields = core.integrations.list_fields(integration)
    confirm(
        f"Delete integration {integration.id}, {integration.name},"
        f" of organization {organization.id}, {organization.name},"
        f" and its {counted(len(fields), 'field')}?",
        *(f"{field.key}  {field.name}" for field in fields),
    )
    return [field.id for field in fields]


def _read_from_esp(core: Core, integration: Integration) -> Iterator[ReportedField]:
    """Yield the fields that the ESP lists, with the stored credentials or those of variables.

    If the ESP refuses those of variables, the error names the variables in use.
    """
    source = open_connected_source(core, integration)
    if source is not None:
        yield from source.fields()
        return
    try:
        yield from open_field_source(integration.esp, os.environ).fields()
    except EspRefused as error:
        variables = [name for names in esp_variables(integration.esp) for name in names]
        used = ", ".join(name for name in variables if os.environ.get(name, "").strip())
        raise EspRefused(f"{error} The credentials are in {used}.") from error


def _read_report(file: BinaryIO) -> Iterable[ReportedField]:
    name = name_of(file)
    with reporting_violations(
        f"{name} is not a valid report. A report looks like {_REPORT}.", file=name
    ):
        return parse_report(parse_json_file(file))


def _with_progress(reported: Iterable[ReportedField]) -> Iterator[ReportedField]:
    """Yield the same fields, and print their number every two seconds."""
    progress = Progress()
    for count, field in enumerate(reported, start=1):
        yield field
        progress.note(f"Read {counted(count, 'field')} so far.")


def _print_lines(plan: SyncPlan) -> None:
    for line in _lines(plan):
        print_line(line)


def _lines(plan: SyncPlan) -> Iterator[str]:
    """Yield the links, the table of the changed fields, and that of the changed ESP names."""
    title = installed_profiles().title(plan.integration.esp)
    for link in plan.links:
        yield f"linked {link.definition.key} to {link.counterpart.origin.esp_field_name} ({title})"
    rows = _rows(plan)
    if rows or not plan.links:
        yield from table_lines(("CHANGE", "KEY", "ESP FIELD", "REASON"), rows)
    if plan.name_changes:
        yield ""
        yield from table_lines(
            ("KEY", "INTEGRATION", "ESP NAME BEFORE", "ESP NAME AFTER"),
            [
                (each.field.key, each.field.integration.id, _shown(each.before), _shown(each.after))
                for each in plan.name_changes
            ],
        )


def _shown(named: NamedField[EspName] | None) -> str | None:
    if named is None:
        return None
    name = named.esp_name
    return name.name if name.state is None else f"{name.name} ({name.state.value})"


def _rows(plan: SyncPlan) -> list[tuple[object, ...]]:
    changes = {"created": plan.standalone, "updated": plan.updated, "removed": plan.removed}
    rows: list[tuple[object, ...]] = [
        (change, field.key, field.origin.esp_field_name, None)
        for change, fields in changes.items()
        for field in fields
    ]
    rows += [("refused", None, field.name, field.reason) for field in plan.refused]
    rows += [("caveat", None, each.name, each.message) for each in plan.caveats]
    return rows


def _summary(plan: SyncPlan) -> str:
    changed = len(plan.name_changes)
    names = f", {counted(changed, 'ESP name')} changed" if changed else ""
    linked = f"{len(plan.links)} linked, " if plan.links else ""
    return (
        f"integration {plan.integration.id}, {plan.integration.name}:"
        f" {linked}{len(plan.standalone)} created, {len(plan.updated)} updated,"
        f" {len(plan.removed)} removed, {plan.unchanged} unchanged,"
        f" {len(plan.refused)} refused{names}."
    )


def _show(integration: Integration, verb: str) -> None:
    print_or_note(
        {"integration": render_integration(integration)},
        f"{verb} integration {integration.id}, {integration.name} ({integration.esp}).",
    )
