"""The connections of integrations: credentials, scheduled syncs, and the key of the credentials."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta

import click

from recipient_fields.application import DEFAULT_LEASE, Core, EspFieldSource, TestedAccount
from recipient_fields.application.environment import MissingCredentials, read_variables
from recipient_fields.application.wording import counted
from recipient_fields.domain import IntegrationId
from recipient_fields.domain.integrations import (
    AccountNotConfirmed,
    CredentialUnreadable,
    Integration,
    Interval,
    NotConnected,
)

from ...service.selection import esp_variables, new_secrets_key, open_field_source
from ..accounts.audit_log import audit_log_option
from ..commands import Command, CommandGroup
from ..options import Option, confirm, flag, is_at_terminal, option, setting_option, yes_option
from ..output import note, print_line, print_table
from ..targets import open_existing, open_for_organization
from .options import integration_options

_set_option: Option = option(
    "--set",
    "entered",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value that is no secret, such as url=https://rest.iad-01.braze.com. Can be repeated.",
)


@click.command(cls=Command, changes_storage=True, params=[setting_option("esp_hosts")])
@integration_options
@_set_option
@flag("--from-environment", text="Store the values of the variables that `esp list` shows.")
@yes_option
def connect(
    integration_id: int,
    organization: str,
    esp_hosts: tuple[str, ...],
    entered: tuple[str, ...],
    *,
    from_environment: bool,
    yes: bool,
) -> None:
    """Store the credentials of an integration, after a test.

    The command prompts for the secrets, or reads them from standard input, one per line. They are
    encrypted with the key in RECIPIENT_FIELDS_SECRETS_KEY, and no command prints them.
    """
    with open_for_organization(organization, esp_hosts=esp_hosts) as (core, chosen):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        if from_environment:
            values = _read_environment(core, integration)
        else:
            values = _read_values(core, integration, entered)
        connections = core.connections
        try:
            tested = connections.connect(chosen.id, integration.id, values, confirmed=yes)
        except AccountNotConfirmed as error:
            confirm(
                f"{error} If this is another account, the next sync replaces the fields of"
                f" integration {integration.id}, {integration.name}, with its fields. Connect it?"
            )
            tested = connections.connect(chosen.id, integration.id, values, confirmed=True)
    note(f"Connected integration {integration.id}, {integration.name}{_account(tested)}.")


@click.command(cls=Command, params=[setting_option("esp_hosts")])
@integration_options
def test(integration_id: int, organization: str, esp_hosts: tuple[str, ...]) -> None:
    """Test the stored credentials of an integration, and print the name of the account."""
    with open_for_organization(organization, esp_hosts=esp_hosts) as (core, chosen):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        credential = core.connections.get_credential(chosen.id, integration.id)
        if credential is None:
            raise NotConnected
        tested = core.connections.test(chosen.id, integration.id, credential.values)
    note(f"Integration {integration.id}, {integration.name}, is connected{_account(tested)}.")


@click.command(cls=Command, changes_storage=True)
@integration_options
@yes_option
def disconnect(integration_id: int, organization: str, *, yes: bool) -> None:
    """Delete the stored credentials of an integration. Its fields stay."""
    with open_for_organization(organization) as (core, chosen):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        if not yes:
            confirm(f"Delete the credentials of integration {integration.id}, {integration.name}?")
        core.connections.disconnect(chosen.id, integration.id)
    note(f"Disconnected integration {integration.id}, {integration.name}.")


@click.command(cls=Command, changes_storage=True)
@integration_options
@option(
    "--every",
    "interval",
    required=True,
    type=click.Choice([each.value for each in Interval]),
    help="How often `sync-due` syncs the integration.",
)
def schedule(integration_id: int, organization: str, interval: str) -> None:
    """Set how often `integrations sync-due` syncs an integration."""
    with open_for_organization(organization) as (core, chosen):
        core.connections.schedule(chosen.id, IntegrationId(integration_id), Interval(interval))
    note(f"Scheduled integration {integration_id}: {interval}.")


@click.command(
    "sync-due",
    cls=Command,
    changes_storage=True,
    params=[setting_option("catalog_size"), setting_option("esp_hosts")],
)
@option(
    "--lease",
    type=click.IntRange(min=1),
    default=int(DEFAULT_LEASE.total_seconds()),
    metavar="SECONDS",
    help="How long another process waits before it repeats the sync of a process that was killed.",
)
@click.pass_context
def sync_due(ctx: click.Context, catalog_size: int, esp_hosts: tuple[str, ...], lease: int) -> None:
    """Sync the integrations of all organizations that are due.

    Run it regularly, with a systemd timer or a CronJob. Creations and updates are stored. Removals
    wait until a person confirms them. The exit status is 1 if a sync failed, or 3 if removals wait.
    """
    failed = waiting = 0
    with open_existing(catalog_size=catalog_size, esp_hosts=esp_hosts) as core:
        for each in core.connections.sync_due(lease=timedelta(seconds=lease)):
            integration = each.integration
            named = (
                f"integration {integration.id}, {integration.name},"
                f" of organization {integration.organization_id}"
            )
            if each.plan is None:
                failed += 1
                note(f"The sync of {named} failed: {each.error}")
            else:
                plan = each.plan
                done = f"{len(plan.created)} created, {len(plan.updated)} updated"
                note(f"Synced {named}: {done}.")
            if each.waiting:
                waiting += each.waiting
                note(
                    f"{counted(each.waiting, 'removal')} of {named} must be confirmed:"
                    f" recipient-fields integrations sync {integration.id}"
                    f" --organization {integration.organization_id}"
                )
    ctx.exit(1 if failed else 3 if waiting else 0)


connection_commands: Sequence[click.Command] = (connect, test, disconnect, schedule, sync_due)


@click.group(cls=CommandGroup)
@audit_log_option
def secrets() -> None:
    """Create and rotate the key that encrypts the credentials of integrations."""


@secrets.command("new-key")
def new_key() -> None:
    """Print a new key for RECIPIENT_FIELDS_SECRETS_KEY. Nothing is stored."""
    print_line(new_secrets_key())


@secrets.command(changes_storage=True)
@click.pass_context
def rotate(ctx: click.Context) -> None:
    """Encrypt all stored credentials with the first key in RECIPIENT_FIELDS_SECRETS_KEY.

    The exit status is 1 if no key decrypts some of them. The services can run meanwhile.
    """
    with open_existing() as core:
        rotated, unreadable = core.connections.rotate()
    note(f"Encrypted {counted(rotated, 'credential')} with the first key.")
    if unreadable:
        note("No key decrypts the credentials of these integrations. Connect them again:")
        print_table(
            ("ORGANIZATION", "ID"), [(each.organization_id, each.id) for each in unreadable]
        )
        ctx.exit(1)


def open_connected_source(core: Core, integration: Integration) -> EspFieldSource | None:
    """Return the source with the stored credentials, or None if the variables have others.

    Raises: NotConnected if there are neither; CredentialUnreadable.
    """
    try:
        return core.connections.open_source(integration.organization_id, integration.id)
    except NotConnected as error:
        try:
            open_field_source(integration.esp, os.environ)
        except MissingCredentials:
            raise error from None
        note(
            "Warning: the credentials are in environment variables, which version 0.4 will not"
            f" read. Store them: recipient-fields integrations connect {integration.id}"
            f" --organization {integration.organization_id} --from-environment"
        )
        return None


def _read_environment(core: Core, integration: Integration) -> Mapping[str, str]:
    parameters = core.connections.accounts.parameters(integration.esp)
    read = read_variables([each.variable for each in parameters], os.environ)
    required, _ = esp_variables(integration.esp)
    missing = [variable for variable in required if variable not in read]
    if missing:
        raise MissingCredentials("store them with --from-environment", missing)
    return {each.name: read.get(each.variable, "") for each in parameters}


def _read_values(
    core: Core, integration: Integration, entered: tuple[str, ...]
) -> Mapping[str, str]:
    """Return the values of options and the secrets. The others stay as they are stored."""
    parameters = core.connections.accounts.parameters(integration.esp)
    names = [each.name for each in parameters if not each.secret]
    try:
        stored = core.connections.get_credential(integration.organization_id, integration.id)
    except CredentialUnreadable:
        stored = None
    values = {} if stored is None else {name: stored.values.get(name, "") for name in names}
    for text in entered:
        name, equals, value = text.partition("=")
        if not equals or name not in names:
            example = ", ".join(names) or "none"
            raise click.BadParameter(
                f"Use NAME=VALUE with one of these names: {example}.", param_hint="'--set'"
            )
        values[name] = value
    if is_at_terminal():
        note(core.connections.accounts.advice(integration.esp)) if parameters else None
    for each in parameters:
        if each.secret:
            values[each.name] = _read_secret(each.label)
    return values


def _read_secret(label: str) -> str:
    """Return a secret from a prompt that does not show it, or from a line of standard input."""
    if is_at_terminal():
        prompted: str = click.prompt(label, hide_input=True, default="", show_default=False)
        return prompted
    return (sys.stdin.readline() if sys.stdin else "").rstrip("\r\n")


def _account(tested: TestedAccount) -> str:
    return f" to the account {tested.name}" if tested.name else ""
