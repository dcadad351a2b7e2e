"""Administrators of an organization: the list, invitations, roles, passwords and revocations."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import TypeAlias

from attrs import frozen
from falcon import Request, Response

from recipient_fields.application import Core, IssuedInvitation, IssuedLink
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorShared,
    InvalidAdministrator,
    Invitation,
    InvitationId,
    LastAdministrator,
    Role,
    Rule,
    Violation,
)

from .. import invitation_url, link_url
from ..forms import NO_ERRORS, FormError, FormErrors
from ..pages import ChangingPage, Flash, Page
from ..requests import author, own_origin, visit
from ..submitted_forms import claimed_form

ROLE_NAMES = {Role.ADMIN.value: "Admin", Role.VIEWER.value: "Viewer"}
_LABELS = {"email": "Email address", "role": "Role"}

_Issued: TypeAlias = IssuedInvitation | IssuedLink

_LIST = "/settings/administrators"
_RESET = "administrators/reset.html"
_REVOKE = "administrators/revoke.html"
_LINKED_ALREADY = Flash(
    "This form was submitted already, and the console shows a link only once. If you could not copy"
    " it, reset the password of the administrator: that creates another link."
)
_INVITED_ALREADY = Flash(
    "This form was submitted already, and the console shows a link only once. If you could not copy"
    " it, create a new link for the invitation."
)


class AdministratorList(Page):
    """`/console/o/{organization_id}/settings/administrators`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """List the administrators of the organization."""
        _send_list(self, req, resp)


@frozen
class AdministratorInvitation(ChangingPage):
    """`/console/o/{organization_id}/settings/administrators/new`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the form."""
        _send_form(self, req, resp, Role.VIEWER.value)

    def on_continue(self, req: Request, resp: Response) -> None:
        """Show the form with the inputs of an ended session."""
        _send_form(self, req, resp)

    def on_post(self, req: Request, resp: Response) -> None:
        """Invite the administrator, and show the link once."""
        email, role = visit(req).form.text("email"), visit(req).form.text("role")
        try:
            parsed = _parse_role(role)
            with claimed_form(req, self.core, _LIST, _INVITED_ALREADY):
                invited = self.core.administrators.by(author(req)).invite(
                    visit(req).organization.id, email, parsed
                )
        except (InvalidAdministrator, LastAdministrator) as refused:
            _send_form(self, req, resp, errors=_form_errors(refused, "email"))
            return
        _send_invited(self, req, resp, invited)


@frozen
class InvitationRenewal(ChangingPage):
    """`/console/o/{organization_id}/settings/administrators/invitations/{invitation_id}/link`."""

    def on_get(self, req: Request, resp: Response, invitation_id: InvitationId) -> None:
        """Show the confirmation, which contains the email address."""
        invitation = _get_invitation(self.core, req, invitation_id)
        self.pages.send(req, resp, "administrators/renew.html", invitation=invitation)

    def on_post(self, req: Request, resp: Response, invitation_id: InvitationId) -> None:
        """Replace the invitation by one with a new link, and show the link once."""
        invitation = _get_invitation(self.core, req, invitation_id)
        with claimed_form(req, self.core, _LIST, _INVITED_ALREADY):
            invited = self.core.administrators.by(author(req)).invite(
                visit(req).organization.id, invitation.email.text, invitation.role
            )
        _send_invited(self, req, resp, invited)


class InvitationWithdrawal(ChangingPage):
    """`/console/o/{organization_id}/settings/administrators/invitations/{invitation_id}/withdraw`."""

    def on_get(self, req: Request, resp: Response, invitation_id: InvitationId) -> None:
        """Show the confirmation, which contains the email address."""
        invitation = _get_invitation(self.core, req, invitation_id)
        self.pages.send(req, resp, "administrators/withdraw.html", invitation=invitation)

    def on_post(self, req: Request, resp: Response, invitation_id: InvitationId) -> None:
        """Withdraw the invitation."""
        with claimed_form(req, self.core, _LIST):
            withdrawn = self.core.administrators.by(author(req)).withdraw_invitation(
                visit(req).organization.id, invitation_id
            )
        flash = Flash("The invitation of ", withdrawn.email.text, " was withdrawn.")
        self.pages.redirect(req, resp, visit(req).path(_LIST), flash)


class RoleChange(ChangingPage):
    """`/console/o/{organization_id}/settings/administrators/{administrator_id}/role`."""

    def on_get(self, req: Request, resp: Response, administrator_id: AdministratorId) -> None:
        """Show the form."""
        administrator = _get(self.core, req, administrator_id)
        role = administrator.role_in(visit(req).organization.id)
        _send_form(self, req, resp, "" if role is None else role.value, administrator)

    def on_post(self, req: Request, resp: Response, administrator_id: AdministratorId) -> None:
        """Change the role."""
        administrator = _get(self.core, req, administrator_id)
        role = visit(req).form.text("role")
        try:
            self.core.administrators.by(author(req)).change_role(
                visit(req).organization.id, administrator.id, _parse_role(role)
            )
        except (InvalidAdministrator, LastAdministrator) as refused:
            errors = _form_errors(refused, "role")
            _send_form(self, req, resp, administrator=administrator, errors=errors)
            return
        flash = Flash("", administrator.email.text, f" has the role {role} now.")
        self.pages.redirect(req, resp, visit(req).path(_LIST), flash)


@frozen
class PasswordReset(ChangingPage):
    """`/console/o/{organization_id}/settings/administrators/{administrator_id}/reset`."""

    def on_get(self, req: Request, resp: Response, administrator_id: AdministratorId) -> None:
        """Show the confirmation, which contains the email address."""
        _send_confirmation(self, req, resp, _RESET, _get(self.core, req, administrator_id))

    def on_post(self, req: Request, resp: Response, administrator_id: AdministratorId) -> None:
        """Create a link that sets another password, and show it once."""
        administrator = _get(self.core, req, administrator_id)
        try:
            with claimed_form(req, self.core, _LIST, _LINKED_ALREADY):
                reset = self.core.administrators.by(author(req)).reset_in(
                    visit(req).organization.id, administrator.id
                )
        except AdministratorShared as refused:
            _send_confirmation(self, req, resp, _RESET, administrator, str(refused))
            return
        _send_list(self, req, resp, reset)


class AdministratorRevocation(ChangingPage):
    """`/console/o/{organization_id}/settings/administrators/{administrator_id}/revoke`."""

    def on_get(self, req: Request, resp: Response, administrator_id: AdministratorId) -> None:
        """Show the confirmation, which contains the email address."""
        _send_confirmation(self, req, resp, _REVOKE, _get(self.core, req, administrator_id))

    def on_post(self, req: Request, resp: Response, administrator_id: AdministratorId) -> None:
        """Remove the administrator from the organization, and end all sessions of the account."""
        path = visit(req).path(_LIST)
        try:
            with claimed_form(req, self.core, _LIST):
                revoked = self.core.administrators.by(author(req)).revoke(
                    visit(req).organization.id, administrator_id, keep_last=True
                )
        except LastAdministrator as refused:
            administrator = _get(self.core, req, administrator_id)
            _send_confirmation(self, req, resp, _REVOKE, administrator, str(refused))
            return
        flash = Flash("", revoked.email.text, " was revoked and signed out.")
        self.pages.redirect(req, resp, path, flash)


@frozen(kw_only=True)
class _ShownLink:
    """A link that the list shows once."""

    url: str
    email: str
    is_invitation: bool
    expires_at: datetime

    @classmethod
    def of(cls, issued: _Issued, console: str) -> _ShownLink:
        """Return what the list shows. `console` is the URL of the console."""
        if isinstance(issued, IssuedInvitation):
            return cls(
                url=invitation_url(console, issued.token),
                email=issued.invitation.email.text,
                is_invitation=True,
                expires_at=issued.invitation.expires_at,
            )
        return cls(
            url=link_url(console, issued.token),
            email=issued.administrator.email.text,
            is_invitation=False,
            expires_at=issued.expires_at,
        )


def _send_form(
    page: Page,
    req: Request,
    resp: Response,
    role: str | None = None,
    administrator: Administrator | None = None,
    *,
    errors: FormErrors = NO_ERRORS,
) -> None:
    """Send the form of an invitation, or of the role of an administrator, with the entered inputs.

    A `role` replaces the entered one.
    """
    form = visit(req).form
    page.pages.send(
        req,
        resp,
        "administrators/form.html",
        status=errors.status,
        administrator=administrator,
        email=form.text("email") if administrator is None else administrator.email.text,
        role=form.text("role") if role is None else role,
        roles=ROLE_NAMES,
        errors=errors,
    )


def _send_confirmation(
    page: Page,
    req: Request,
    resp: Response,
    template: str,
    administrator: Administrator,
    error: str | None = None,
) -> None:
    """Send the confirmation of an action, or the reason why it is not possible."""
    page.pages.send(
        req,
        resp,
        template,
        status=HTTPStatus.OK if error is None else HTTPStatus.CONFLICT,
        administrator=administrator,
        is_self=administrator.id == visit(req).administrator.id,
        error=error,
    )


def _send_list(page: Page, req: Request, resp: Response, issued: _Issued | None = None) -> None:
    """Send the list, and show the link that was issued for a person."""
    organization_id = visit(req).organization.id
    console = f"{own_origin(req, page.pages.origin)}{visit(req).base}"
    page.pages.send(
        req,
        resp,
        "administrators/list.html",
        administrators=page.core.administrators.list_administrators(organization_id),
        invitations=page.core.administrators.list_invitations(organization_id),
        role_names=ROLE_NAMES,
        now=page.core.clock(),
        issued=None if issued is None else _ShownLink.of(issued, console),
    )


def _send_invited(
    page: Page,
    req: Request,
    resp: Response,
    invited: IssuedInvitation | Administrator,
) -> None:
    """Show the link of an invitation once, or the role of an administrator who needs none."""
    if isinstance(invited, IssuedInvitation):
        _send_list(page, req, resp, invited)
        return
    after = " belongs to this organization already, and has this role now."
    flash = Flash("", invited.email.text, after)
    page.pages.redirect(req, resp, visit(req).path(_LIST), flash)


def _get(core: Core, req: Request, administrator_id: AdministratorId) -> Administrator:
    return core.administrators.get_administrator(visit(req).organization.id, administrator_id)


def _get_invitation(core: Core, req: Request, invitation_id: InvitationId) -> Invitation:
    return core.administrators.get_invitation(visit(req).organization.id, invitation_id)


def _parse_role(text: str) -> Role:
    if text not in ROLE_NAMES:
        message = "Choose what the administrator may do."
        raise InvalidAdministrator([Violation(Rule.UNKNOWN_VALUE, message, ("role",))])
    return Role(text)


def _form_errors(error: InvalidAdministrator | LastAdministrator, name: str) -> FormErrors:
    """Return the violations at their inputs, or any other error at the input with this name."""
    if isinstance(error, InvalidAdministrator):
        return FormErrors.of(error, _LABELS)
    return FormErrors((FormError(name, _LABELS[name], str(error)),))
