"""`recipient-fields administrators`."""

from __future__ import annotations

from datetime import datetime

import click

from recipient_fields.application import Core, IssuedInvitation
from recipient_fields.domain import (
    Administrator,
    AdministratorNotFound,
    EmailAddress,
    Invitation,
    OrganizationId,
    Role,
    format_instant,
)

from ...console import ROOT, invitation_url, link_url
from ..commands import CommandGroup
from ..options import confirm, console_url_option, json_option, option, yes_option
from ..output import is_json, note, print_json, print_line, print_or_note, print_rows
from ..targets import open_existing, open_for_organization, organization_option
from ..typed_options import OneOf
from .audit_log import audit_log_option

_HAS_ACCOUNT = (
    "{email} has an account in another organization, and accepts the invitation with its password."
    " If you do not trust the admins of that organization, who can have set this password, run"
    " `administrators reset` first."
)
"""Only the operator may know this: the console does not tell it to an organization."""


@click.group(cls=CommandGroup)
@audit_log_option
def administrators() -> None:
    """Invite, list and revoke the administrators of the console."""


@administrators.command(changes_storage=True)
@click.argument("email")
@organization_option
@option(
    "--role",
    type=OneOf(Role),
    default=Role.ADMIN.value,
    help="A viewer sees everything and changes nothing.",
)
@console_url_option
@json_option
def invite(email: str, organization: str, role: Role, console_url: str) -> None:
    """Invite a person to an organization, and print a link.

    The link opens a page on which the person accepts the invitation, with the password of the
    account or, if there is no account, a new one. It works once, within 24 hours. Until then, the
    person has no access. If the person is already an administrator, the command changes the role.
    """
    with open_for_organization(organization) as (core, chosen):
        invited = core.administrators.invite(chosen.id, email, role)
        account = core.administrators.find_administrator(email)
    where = f"with the role {role.value} in organization {chosen.id}, {chosen.name}"
    if isinstance(invited, IssuedInvitation):
        invitation = invited.invitation
        if not is_json():
            note(f"Invited {invitation.email} {where}.")
            if account is not None:
                note(_HAS_ACCOUNT.format(email=account.email))
        url = invitation_url(f"{console_url}{ROOT}", invited.token)
        _show_link(invitation.email, url, invitation.expires_at)
    else:
        document = {"email": invited.email.text, "link": None, "expires_at": None}
        print_or_note(document, f"{invited.email} is an administrator {where}.")


@administrators.command("list")
@organization_option
@json_option
def list_(organization: str) -> None:
    """List an organization's administrators.

    STATE is "invited" until the person has used the link, or "expired" if the link has expired,
    then "active". A person has an id after accepting the invitation.
    """
    with open_for_organization(organization) as (core, chosen):
        rows = [
            *(
                _render(each, chosen.id)
                for each in core.administrators.list_administrators(chosen.id)
            ),
            *(
                _render_invitation(each, core.clock())
                for each in core.administrators.list_invitations(chosen.id)
            ),
        ]
    shown = ("id", "email", "role", "state")
    titles = [title.upper() for title in shown]
    cells = [[row[member] for member in shown] for row in rows]
    print_rows({"administrators": rows}, titles, cells)


@administrators.command(changes_storage=True)
@click.argument("email")
@organization_option
@yes_option
@json_option
def revoke(email: str, organization: str, *, yes: bool) -> None:
    """Remove an administrator from an organization, and end all of the person's sessions.

    If the person has not accepted the invitation yet, it is withdrawn.
    """
    with open_for_organization(organization) as (core, chosen):
        found = _find(core, chosen.id, email)
        where = f"organization {chosen.id}, {chosen.name}"
        described = (
            f"the invitation of {found.email} to {where}"
            if isinstance(found, Invitation)
            else f"administrator {found.email} of {where}"
        )
        if not yes:
            confirm(f"Revoke {described}?")
        if isinstance(found, Invitation):
            core.administrators.withdraw_invitation(chosen.id, found.id)
            document = _render_invitation(found, core.clock())
        else:
            core.administrators.revoke(chosen.id, found.id)
            document = _render(found, chosen.id)
    print_or_note({"administrator": document}, f"Revoked {described}.")


@administrators.command(changes_storage=True)
@click.argument("email")
@console_url_option
@json_option
def reset(email: str, console_url: str) -> None:
    """Print a link that sets another password.

    It works once, within 24 hours. The current password stays valid until the link is used. The
    new password ends all of the person's sessions.
    """
    with open_existing() as core:
        reset = core.administrators.reset(email)
    url = link_url(f"{console_url}{ROOT}", reset.token)
    _show_link(reset.administrator.email, url, reset.expires_at)


def _find(core: Core, organization_id: OrganizationId, email: str) -> Administrator | Invitation:
    """Return the administrator, or the invitation of a person who has not accepted it.

    Raises: AdministratorNotFound if there is neither.
    """
    address = EmailAddress(email)
    people: tuple[Administrator | Invitation, ...] = (
        *core.administrators.list_administrators(organization_id),
        *core.administrators.list_invitations(organization_id),
    )
    for person in people:
        if person.email == address:
            return person
    raise AdministratorNotFound


def _show_link(email: EmailAddress, url: str, expires_at: datetime) -> None:
    end = format_instant(expires_at)
    if is_json():
        print_json({"email": email.text, "link": url, "expires_at": end})
    else:
        print_line(url)
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


def _render_invitation(invitation: Invitation, now: datetime) -> dict[str, object]:
    return {
        "id": None,
        "email": invitation.email.text,
        "role": invitation.role.value,
        "state": "expired" if invitation.is_expired(now) else "invited",
        "created_at": format_instant(invitation.created_at),
    }
