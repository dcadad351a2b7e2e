"""`recipient-fields administrators`."""

from __future__ import annotations

import click

from recipient_fields.application import OPERATOR, Core, Invitation
from recipient_fields.domain import (
    Administrator,
    AdministratorNotFound,
    EmailAddress,
    OrganizationId,
    Role,
    format_instant,
)

from ..console import ROOT, link_url
from .audit_log import audit_log_option
from .command_group import CommandGroup
from .options import OneOf, console_url_option, json_option, open_existing, option
from .organization_option import open_for_organization, organization_option
from .output import note, print_json, print_line, print_table
from .prompts import confirm, yes_option


@click.group(cls=CommandGroup)
@audit_log_option
def administrators() -> None:
    """Invite, list and revoke the administrators of the console."""


@administrators.command()
@click.argument("email")
@organization_option
@option(
    "--role",
    type=OneOf(Role),
    default=Role.ADMIN.value,
    show_default=True,
    help="A viewer sees everything and changes nothing.",
)
@console_url_option
@json_option
@click.pass_obj
def invite(
    storage: str, email: str, organization: str, role: Role, console_url: str, *, as_json: bool
) -> None:
    """Assign a role in an organization to a person, and print a link.

    The link opens a page that sets a password. It works once, within 24 hours. A person with a
    password gets the role without a link.
    """
    with open_for_organization(storage, organization) as (core, tenant):
        invitation = core.administrators.invite(tenant.id, email, role, by=OPERATOR)
    if not as_json:
        invited = invitation.administrator.email
        note(f"{invited} has the role {role.value} in organization {tenant.id}, {tenant.name}.")
    _show(invitation, console_url, as_json=as_json)


@administrators.command("list")
@organization_option
@json_option
@click.pass_obj
def list_(storage: str, organization: str, *, as_json: bool) -> None:
    """List an organization's administrators.

    STATE is "invited" until the administrator has set a password, then "active".
    """
    with open_for_organization(storage, organization) as (core, tenant):
        listed = core.administrators.list_administrators(tenant.id)
    rows = [_render(each, tenant.id) for each in listed]
    if as_json:
        print_json({"administrators": rows})
    else:
        shown = ("id", "email", "role", "state")
        titles = [title.upper() for title in shown]
        print_table(titles, [[row[member] for member in shown] for row in rows])


@administrators.command()
@click.argument("email")
@organization_option
@yes_option
@json_option
@click.pass_obj
def revoke(storage: str, email: str, organization: str, *, yes: bool, as_json: bool) -> None:
    """Remove an administrator from an organization, and end all of the person's sessions."""
    with open_for_organization(storage, organization) as (core, tenant):
        administrator = _find(core, tenant.id, email)
        described = f"{administrator.email} of organization {tenant.id}, {tenant.name}"
        if not yes:
            confirm(f"Revoke administrator {described}?")
        core.administrators.revoke(tenant.id, administrator.id, by=OPERATOR)
    if as_json:
        print_json({"administrator": _render(administrator, tenant.id)})
    else:
        note(f"Revoked administrator {described}.")


@administrators.command()
@click.argument("email")
@console_url_option
@json_option
@click.pass_obj
def reset(storage: str, email: str, console_url: str, *, as_json: bool) -> None:
    """Print a link that sets another password.

    It works once, within 24 hours. The current password stays valid until the link is used. The
    new password ends all of the person's sessions.
    """
    with open_existing(storage) as core:
        invitation = core.administrators.reset(email, by=OPERATOR)
    _show(invitation, console_url, as_json=as_json)


def _find(core: Core, organization_id: OrganizationId, email: str) -> Administrator:
    """Return the administrator. Raises: AdministratorNotFound if there is none."""
    address = EmailAddress(email)
    for administrator in core.administrators.list_administrators(organization_id):
        if administrator.email == address:
            return administrator
    raise AdministratorNotFound


def _show(invitation: Invitation, console_url: str, *, as_json: bool) -> None:
    token, expires_at = invitation.token, invitation.expires_at
    link = None if token is None else link_url(f"{console_url}{ROOT}", token)
    end = None if expires_at is None else format_instant(expires_at)
    email = invitation.administrator.email.text
    if as_json:
        print_json({"email": email, "link": link, "expires_at": end})
    elif link is None:
        note(f"{email} has a password already. `administrators reset` prints a link for another.")
    else:
        print_line(link)
        note(f"Send this link to {email}. It works once, until {end}. It is not shown again.")


def _render(administrator: Administrator, organization_id: OrganizationId) -> dict[str, object]:
    role = administrator.role_in(organization_id)
    return {
        "id": administrator.id,
        "email": administrator.email.text,
        "role": None if role is None else role.value,
        "state": "active" if administrator.has_password else "invited",
        "created_at": format_instant(administrator.created_at),
    }
