"""`recipient-fields organizations`."""

from __future__ import annotations

import click

from recipient_fields.application import Core, StorageGroup
from recipient_fields.application.wording import counted
from recipient_fields.domain import Organization, OrganizationContents

from ..commands import CommandGroup
from ..options import confirm, json_option, yes_option
from ..output import note, print_or_note, print_rows
from ..targets import ORGANIZATION_REFERENCE, open_existing, open_for_command, open_for_organization
from .audit_log import audit_log_option


@click.group(cls=CommandGroup)
@audit_log_option
def organizations() -> None:
    """Create, list, rename and delete organizations."""


@organizations.command(changes_storage=True, creates_storage=True)
@click.argument("name")
@json_option
@click.pass_obj
def create(storage: str, name: str) -> None:
    """Create an organization."""
    with open_for_command(storage) as core:
        organization = core.administration.create_organization(name)
    _show(organization, "Created")


@organizations.command("list")
@json_option
def list_() -> None:
    """List the organizations."""
    with open_existing() as core:
        listed = core.administration.list_organizations()
    rendered = [_render(organization) for organization in listed]
    print_rows({"organizations": rendered}, ("ID", "NAME"), [(o.id, o.name) for o in listed])


@organizations.command(changes_storage=True)
@click.argument("organization", type=ORGANIZATION_REFERENCE, metavar="ID_OR_NAME")
@click.argument("new_name")
@json_option
def rename(organization: str, new_name: str) -> None:
    """Rename an organization."""
    with open_for_organization(organization) as (core, chosen):
        renamed = core.administration.rename_organization(chosen.id, new_name)
    _show(renamed, "Renamed")


@organizations.command(changes_storage=True)
@click.argument("organization", type=ORGANIZATION_REFERENCE, metavar="ID_OR_NAME")
@yes_option
def delete(organization: str, *, yes: bool) -> None:
    """Delete an organization with all its fields, API keys, integrations and administrators.

    From the next request, the service rejects its API keys. Ids are never reused.
    """
    with open_for_organization(organization) as (core, chosen):
        expected = None if yes else _confirm_deletion(core, chosen)
        deleted = core.administration.delete_organization(chosen.id, expected=expected)
    note(f"Deleted {_with_contents(chosen, deleted)}.")


def _confirm_deletion(core: Core, organization: Organization) -> OrganizationContents:
    keys, integrations, administrators = 0, 0, 0
    if StorageGroup.INTEGRATIONS.is_in(core.storage):
        keys = len(core.administration.list_keys(organization.id))
        integrations = len(core.integrations.list_integrations(organization.id))
    if StorageGroup.CONSOLE_ACCOUNTS.is_in(core.storage):
        administrators = len(core.administrators.list_administrators(organization.id))
    contents = OrganizationContents(
        fields=len(core.fields.list_fields(organization.id).fields),
        api_keys=keys,
        integrations=integrations,
        administrators=administrators,
    )
    confirm(f"Delete {_with_contents(organization, contents)}?")
    return contents


def _with_contents(organization: Organization, contents: OrganizationContents) -> str:
    return (
        f"organization {organization.id}, {organization.name},"
        f" with {counted(contents.fields, 'field')}, {counted(contents.api_keys, 'API key')},"
        f" {counted(contents.integrations, 'integration')}"
        f" and {counted(contents.administrators, 'administrator')}"
    )


def _show(organization: Organization, verb: str) -> None:
    message = f"{verb} organization {organization.id}, {organization.name}."
    print_or_note({"organization": _render(organization)}, message)


def _render(organization: Organization) -> dict[str, object]:
    return {"id": organization.id, "name": organization.name}
