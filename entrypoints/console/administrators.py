"""Administrators of an organization: the list, invitations, roles, passwords and revocations."""

from __future__ import annotations

from http import HTTPStatus

import falcon
from attrs import frozen

from recipient_fields.application import Core, Invitation
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorShared,
    InvalidAdministrator,
    LastAdministrator,
    Role,
    Rule,
    Violation,
)

from . import link_url
from .csrf import own_origin
from .form_claims import claimed_form
from .form_errors import NO_ERRORS, FormError, FormErrors
from .page import Page, visit
from .rendering import Flash, Pages

ROLE_NAMES = {Role.ADMIN.value: "Admin", Role.VIEWER.value: "Viewer"}
_LABELS = {"email": "Email address", "role": "Role"}

_LIST = "/settings/administrators"
_LINKED_ALREADY = Flash(
    "This form was submitted already, and the console shows a link only once. If you could not copy"
    " it, reset the password of the administrator: that creates another link."
)


@frozen
class AdministratorList(Page):
    """`/console/o/{organization_id}/settings/administrators`."""

    core: Core
    pages: Pages

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the administrators of the organization."""
        _send_list(self.core, self.pages, req, resp)


@frozen
class AdministratorInvitation(Page):
    """`/console/o/{organization_id}/settings/administrators/new`."""

    core: Core
    pages: Pages
    origin: str | None
    changes = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Show the form."""
        _send_form(self.pages, req, resp, email="", role="")

    def on_continue(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Show the form with the inputs of an ended session."""
        form = visit(req).form
        _send_form(self.pages, req, resp, email=form.text("email"), role=form.text("role"))

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Invite the administrator, and show the link once."""
        email, role = visit(req).form.text("email"), visit(req).form.text("role")
        try:
            parsed = _parse_role(role)
            with claimed_form(req, self.core, _LIST, _LINKED_ALREADY):
                invitation = self.core.administrators.invite(
                    visit(req).organization.id,
                    email,
                    parsed,
                    by=visit(req).administrator.email.text,
                )
        except (AdministratorShared, InvalidAdministrator, LastAdministrator) as refused:
            errors = _form_errors(refused, "email")
            _send_form(self.pages, req, resp, email=email, role=role, errors=errors)
            return
        if invitation.token is None:
            invited = invitation.administrator
            after = f" has a password already, and the role {role} in this organization."
            flash = Flash("", invited.email.text, after)
            self.pages.redirect(req, resp, visit(req).path(_LIST), flash)
            return
        link = _link(req, self.origin, invitation)
        _send_list(self.core, self.pages, req, resp, invitation=invitation, link=link)


@frozen
class RoleChange(Page):
    """`/console/o/{organization_id}/settings/administrators/{administrator_id}/role`."""

    core: Core
    pages: Pages
    changes = True

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, administrator_id: AdministratorId
    ) -> None:
        """Show the form."""
        administrator = _get(self.core, req, administrator_id)
        role = administrator.role_in(visit(req).organization.id)
        _send_form(
            self.pages,
            req,
            resp,
            email=administrator.email.text,
            role="" if role is None else role.value,
            administrator=administrator,
        )

    def on_post(
        self, req: falcon.Request, resp: falcon.Response, administrator_id: AdministratorId
    ) -> None:
        """Change the role."""
        administrator = _get(self.core, req, administrator_id)
        role = visit(req).form.text("role")
        try:
            self.core.administrators.change_role(
                visit(req).organization.id,
                administrator.id,
                _parse_role(role),
                by=visit(req).administrator.email.text,
            )
        except (InvalidAdministrator, LastAdministrator) as refused:
            _send_form(
                self.pages,
                req,
                resp,
                email=administrator.email.text,
                role=role,
                administrator=administrator,
                errors=_form_errors(refused, "role"),
            )
            return
        flash = Flash("", administrator.email.text, f" has the role {role} now.")
        self.pages.redirect(req, resp, visit(req).path(_LIST), flash)


@frozen
class PasswordReset(Page):
    """`/console/o/{organization_id}/settings/administrators/{administrator_id}/reset`."""

    core: Core
    pages: Pages
    origin: str | None
    changes = True

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, administrator_id: AdministratorId
    ) -> None:
        """Show the confirmation, which contains the email address."""
        self._show(req, resp, _get(self.core, req, administrator_id))

    def on_post(
        self, req: falcon.Request, resp: falcon.Response, administrator_id: AdministratorId
    ) -> None:
        """Create a link that sets another password, and show it once."""
        administrator = _get(self.core, req, administrator_id)
        try:
            with claimed_form(req, self.core, _LIST, _LINKED_ALREADY):
                invitation = self.core.administrators.reset_in(
                    visit(req).organization.id,
                    administrator.id,
                    by=visit(req).administrator.email.text,
                )
        except AdministratorShared as refused:
            self._show(req, resp, administrator, str(refused))
            return
        link = _link(req, self.origin, invitation)
        _send_list(self.core, self.pages, req, resp, invitation=invitation, link=link)

    def _show(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        administrator: Administrator,
        error: str | None = None,
    ) -> None:
        self.pages.send(
            req,
            resp,
            "administrators/reset.html",
            status=HTTPStatus.OK if error is None else HTTPStatus.CONFLICT,
            administrator=administrator,
            error=error,
        )


@frozen
class AdministratorRevocation(Page):
    """`/console/o/{organization_id}/settings/administrators/{administrator_id}/revoke`."""

    core: Core
    pages: Pages
    changes = True

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, administrator_id: AdministratorId
    ) -> None:
        """Show the confirmation, which contains the email address."""
        self._show(req, resp, _get(self.core, req, administrator_id))

    def on_post(
        self, req: falcon.Request, resp: falcon.Response, administrator_id: AdministratorId
    ) -> None:
        """Remove the administrator from the organization, and end all sessions of the account."""
        path = visit(req).path(_LIST)
        try:
            with claimed_form(req, self.core, _LIST):
                revoked = self.core.administrators.revoke(
                    visit(req).organization.id,
                    administrator_id,
                    by=visit(req).administrator.email.text,
                    keep_last=True,
                )
        except LastAdministrator as refused:
            administrator = _get(self.core, req, administrator_id)
            self._show(req, resp, administrator, str(refused))
            return
        flash = Flash("", revoked.email.text, " was revoked and signed out.")
        self.pages.redirect(req, resp, path, flash)

    def _show(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        administrator: Administrator,
        error: str | None = None,
    ) -> None:
        self.pages.send(
            req,
            resp,
            "administrators/revoke.html",
            status=HTTPStatus.OK if error is None else HTTPStatus.CONFLICT,
            administrator=administrator,
            is_self=administrator.id == visit(req).administrator.id,
            error=error,
        )


@frozen(kw_only=True)
class _Row:
    """One administrator in the list."""

    administrator: Administrator
    role: str
    is_self: bool


def _send_form(
    pages: Pages,
    req: falcon.Request,
    resp: falcon.Response,
    *,
    email: str,
    role: str,
    administrator: Administrator | None = None,
    errors: FormErrors = NO_ERRORS,
) -> None:
    """Send the form of an invitation, or of the role of an administrator."""
    pages.send(
        req,
        resp,
        "administrators/form.html",
        status=errors.status,
        administrator=administrator,
        email=email,
        role=role,
        roles=ROLE_NAMES,
        errors=errors,
    )


def _send_list(
    core: Core,
    pages: Pages,
    req: falcon.Request,
    resp: falcon.Response,
    *,
    invitation: Invitation | None = None,
    link: str | None = None,
) -> None:
    organization_id = visit(req).organization.id
    rows = []
    for each in core.administrators.list_administrators(organization_id):
        role = each.role_in(organization_id)
        if role is not None:
            is_self = each.id == visit(req).administrator.id
            rows.append(_Row(administrator=each, role=ROLE_NAMES[role.value], is_self=is_self))
    pages.send(req, resp, "administrators/list.html", rows=rows, invitation=invitation, link=link)


def _get(core: Core, req: falcon.Request, administrator_id: AdministratorId) -> Administrator:
    return core.administrators.get_administrator(visit(req).organization.id, administrator_id)


def _parse_role(text: str) -> Role:
    if text not in ROLE_NAMES:
        message = "Choose what the administrator may do."
        raise InvalidAdministrator([Violation(Rule.UNKNOWN_VALUE, message, ("role",))])
    return Role(text)


def _form_errors(
    error: InvalidAdministrator | AdministratorShared | LastAdministrator, name: str
) -> FormErrors:
    """Return the violations at their inputs, or any other error at the input with this name."""
    if isinstance(error, InvalidAdministrator):
        return FormErrors.of(error, _LABELS)
    return FormErrors((FormError(name, _LABELS[name], str(error)),))


def _link(req: falcon.Request, origin: str | None, invitation: Invitation) -> str | None:
    if invitation.token is None:
        return None
    return link_url(f"{own_origin(req, origin)}{visit(req).base}", invitation.token)
