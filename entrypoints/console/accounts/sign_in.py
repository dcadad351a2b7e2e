"""Signing in and out, the links that set a password or sign in, and the list of sessions."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import falcon
from attrs import evolve, frozen
from falcon import Request, Response

from recipient_fields.application import SignedIn
from recipient_fields.domain import (
    MAX_SESSION_AGE,
    InvalidAdministrator,
    LinkNotValid,
    LinkPurpose,
    PasswordHashingBusy,
    Rule,
    Session,
    SessionId,
    SignInFailed,
    SignInThrottled,
    Violation,
)

from ..pages import Flash, Page
from ..requests import Cookie, author, visit
from ..submitted_forms import CONTINUE, KEPT, claimed_form, continues, is_entered_by
from .session_guard import SIGN_IN, next_path

ClientAddress = Callable[[Request], str]
"""Returns the IP address of the client that sent a request."""

_LINK_NOT_VALID = Flash(
    "The link was used already or has expired. If you used it, sign in. Otherwise, ask for a new"
    " one."
)
_SIGNED_IN_ALREADY = Flash("You are signed in. The link was used already or has expired.")
_OTHER_PASSWORD = Violation(
    Rule.UNKNOWN_VALUE,
    "This email address has an account with another password. Enter the password of that account."
    " If you do not know it, ask the operator of the service for a link that sets a new one.",
)
_ANOTHER_ACCOUNT = Flash(
    "You are signed in to another account, so the form of the ended session was discarded. Nothing"
    " was saved."
)


class Home(Page):
    """`/console`: leads to the fields of the administrator's only or first organization."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Redirect the browser."""
        first = visit(req).administrator.memberships[0]
        has_one = len(visit(req).administrator.memberships) == 1
        path = f"/o/{first.organization_id}/fields" if has_one else "/organizations"
        self.pages.redirect(req, resp, f"{visit(req).base}{path}")


class Organizations(Page):
    """`/console/organizations`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """List the organizations of the administrator."""
        organizations = [
            (self.core.administration.get_organization(each.organization_id), each.role)
            for each in visit(req).administrator.memberships
        ]
        self.pages.send(req, resp, "organizations.html", organizations=organizations)


@frozen
class SignIn(Page):
    """`/console/sign-in`."""

    client_address: ClientAddress
    is_public = True

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the form."""
        if visit(req).session is not None:
            self.pages.redirect(req, resp, next_path(req, req.get_param("next") or ""))
            return
        self._show(req, resp, req.get_param("next") or "")

    def on_post(self, req: Request, resp: Response) -> None:
        """Check the password, and begin a session that replaces the current one."""
        form = visit(req).form
        try:
            signed_in = self.core.administrators.sign_in(
                form.text("email"),
                form.text("password"),
                address=self.client_address(req),
                user_agent=req.user_agent or "",
            )
        except (SignInFailed, SignInThrottled, PasswordHashingBusy) as error:
            retry_after: int | None = getattr(error, "retry_after", None)
            if retry_after is not None:
                resp.set_header("Retry-After", str(retry_after))
            self._show(req, resp, form.text("next"), error)
            return
        _begin_session(self, req, resp, signed_in)
        path = next_path(req, form.text("next"))
        if not continues(form):
            self.pages.redirect(req, resp, path)
        elif is_entered_by(form, signed_in.administrator):
            # A redirect can't contain the inputs, or would repeat the password.
            self.pages.send(req, resp, "continue.html", path=path, kept=form.text(KEPT))
        else:
            self.pages.redirect(req, resp, visit(req).base, _ANOTHER_ACCOUNT)

    def _show(
        self,
        req: Request,
        resp: Response,
        following: str,
        error: SignInFailed | SignInThrottled | PasswordHashingBusy | None = None,
    ) -> None:
        form = visit(req).form
        self.pages.send(
            req,
            resp,
            "sign_in.html",
            status=HTTPStatus.OK if error is None else _STATUSES[type(error)],
            email=form.text("email"),
            next=following,
            kept=form.text(KEPT),
            notice=CONTINUE if form.text(KEPT) else "",
            error=None if error is None else str(error),
        )


@frozen
class SignOut(Page):
    """`/console/sign-out`."""

    ends_session = True

    def on_post(self, req: Request, resp: Response) -> None:
        """End the session."""
        self.core.administrators.sign_out(visit(req).secret)
        self.pages.cookies.delete(resp, Cookie.SESSION)
        self.pages.redirect(req, resp, f"{visit(req).base}{SIGN_IN}")


@frozen
class _TokenPage(Page):
    """A page with a one-time token. Only a POST uses it: programs that preview links send GET."""

    client_address: ClientAddress
    is_public = True

    def on_get(self, req: Request, resp: Response, token: str) -> None:
        """Show what the token does. If it is used already, a session continues in the console."""
        try:
            self._show(req, resp, token)
        except LinkNotValid:
            if visit(req).session is None:
                raise
            self.pages.redirect(req, resp, visit(req).base, _SIGNED_IN_ALREADY)

    def _show(self, req: Request, resp: Response, token: str, *errors: Violation) -> None:
        """Send the page. Raises: LinkNotValid."""
        raise NotImplementedError


class InvitationPage(_TokenPage):
    """`/console/invitations/{token}`: the organization, the role, and the password.

    The page is the same whether or not the email address has an account.
    """

    def on_post(self, req: Request, resp: Response, token: str) -> None:
        """Accept the invitation, and begin a session."""
        try:
            invitation = self.core.administrators.find_invitation(token)
            signed_in = self.core.administrators.accept_invitation(
                token,
                visit(req).form.text("password"),
                address=self.client_address(req),
                user_agent=req.user_agent or "",
            )
        except InvalidAdministrator as invalid:
            self._show(req, resp, token, *invalid.violations)
        except SignInFailed:
            self._show(req, resp, token, _OTHER_PASSWORD)
        except LinkNotValid:  # After a double click, for example.
            _refuse_link(self, req, resp)
        else:
            _begin_session(self, req, resp, signed_in)
            path = f"{visit(req).base}/o/{invitation.organization_id}/fields"
            self.pages.redirect(req, resp, path, Flash("You have accepted the invitation."))

    def _show(self, req: Request, resp: Response, token: str, *errors: Violation) -> None:
        invitation = self.core.administrators.find_invitation(token)
        self.pages.send(
            req,
            resp,
            "invitation.html",
            status=HTTPStatus.UNPROCESSABLE_ENTITY if errors else HTTPStatus.OK,
            invitation=invitation,
            organization=self.core.administration.get_organization(invitation.organization_id),
            errors=errors,
        )


class LinkPage(_TokenPage):
    """`/console/links/{token}`: it sets a password, or signs in."""

    def on_post(self, req: Request, resp: Response, token: str) -> None:
        """Set the password if the link does that, and begin a session."""
        try:
            self._use(req, resp, token)
        except LinkNotValid:  # After a double click, for example.
            _refuse_link(self, req, resp)

    def _use(self, req: Request, resp: Response, token: str) -> None:
        administrators, user_agent = self.core.administrators, req.user_agent or ""
        link = administrators.find_link(token)
        if link.purpose is LinkPurpose.SIGN_IN:
            signed_in = administrators.sign_in_with_link(token, user_agent=user_agent)
            flash = None
        else:
            password = visit(req).form.text("password")
            try:
                signed_in = administrators.set_password(
                    token, password, address=self.client_address(req), user_agent=user_agent
                )
            except InvalidAdministrator as invalid:
                self._show(req, resp, token, *invalid.violations)
                return
            flash = Flash("Your password was set.")
        _begin_session(self, req, resp, signed_in)
        self.pages.redirect(req, resp, visit(req).base, flash)

    def _show(self, req: Request, resp: Response, token: str, *errors: Violation) -> None:
        link = self.core.administrators.find_link(token)
        sets_password = link.purpose is LinkPurpose.SET_PASSWORD
        self.pages.send(
            req,
            resp,
            "link.html",
            status=HTTPStatus.UNPROCESSABLE_ENTITY if errors else HTTPStatus.OK,
            title="Set your password" if sets_password else "Sign in",
            email=link.administrator.email,
            expires_at=link.expires_at,
            sets_password=sets_password,
            errors=errors,
        )


_STATUSES: dict[type[Exception], HTTPStatus] = {
    SignInFailed: HTTPStatus.UNPROCESSABLE_ENTITY,
    SignInThrottled: HTTPStatus.TOO_MANY_REQUESTS,
    PasswordHashingBusy: HTTPStatus.SERVICE_UNAVAILABLE,
}


def _refuse_link(page: Page, req: Request, resp: Response) -> None:
    """Redirect a form of a link that does not work any more."""
    flash = _LINK_NOT_VALID if visit(req).session is None else _SIGNED_IN_ALREADY
    page.pages.redirect(req, resp, f"{visit(req).base}{SIGN_IN}", flash)


def _begin_session(page: Page, req: Request, resp: Response, signed_in: SignedIn) -> None:
    """Set the cookie of the new session, and end the previous session of this browser."""
    if visit(req).session is not None:
        page.core.administrators.sign_out(visit(req).secret)
    token = signed_in.token.reveal()
    page.pages.cookies.set(resp, Cookie.SESSION, token)
    page.pages.cookies.delete(resp, Cookie.FORM)
    req.context.visit = evolve(visit(req), secret=token)


_LIST = "/settings/sessions"

_BROWSERS = {
    "Edg/": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
"""Browsers by a part of the user agent. The first match applies: most browsers name others too."""
_SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


class SessionList(Page):
    """`/console/o/{organization_id}/settings/sessions`."""

    is_for_viewers = True

    def on_get(self, req: Request, resp: Response) -> None:
        """List the active sessions, the one in use first."""
        current = visit(req).session
        sessions = self.core.administrators.list_sessions(visit(req).administrator.id)
        rows = [_Row.of(each, current) for each in sessions]
        rows.sort(key=lambda row: (row.is_current, row.session.last_used_at), reverse=True)
        self.pages.send(req, resp, "sessions.html", rows=rows, now=self.core.clock())


class SessionEnd(Page):
    """`/console/o/{organization_id}/settings/sessions/{session_id}/end`."""

    is_for_viewers = True

    def on_post(self, req: Request, resp: Response, session_id: SessionId) -> None:
        """End one of the administrator's sessions."""
        path = visit(req).path(_LIST)
        with claimed_form(req, self.core, _LIST):
            if not self.core.administrators.end_session(visit(req).administrator.id, session_id):
                raise falcon.HTTPNotFound
        self.pages.redirect(req, resp, path, Flash("The session was ended."))


@frozen
class AllSessionsEnd(Page):
    """`/console/o/{organization_id}/settings/sessions/end-all`."""

    is_for_viewers = True

    def on_post(self, req: Request, resp: Response) -> None:
        """End all sessions of the administrator, also the one in use."""
        administrator = visit(req).administrator
        self.core.administrators.by(author(req)).end_all_sessions(administrator.id)
        self.pages.cookies.delete(resp, Cookie.SESSION)
        resp.set_header("Clear-Site-Data", '"cache"')
        self.pages.redirect(req, resp, f"{visit(req).base}{SIGN_IN}")


@frozen
class _Row:
    """One session in the list."""

    session: Session
    browser: str
    is_current: bool

    @classmethod
    def of(cls, session: Session, current: Session | None) -> _Row:
        """Return the row of the session."""
        is_current = current is not None and session.id == current.id
        return cls(session, describe_user_agent(session.user_agent), is_current)

    @property
    def ends_at(self) -> object:
        """The time at which the session ends at the latest."""
        return self.session.created_at + MAX_SESSION_AGE


def describe_user_agent(text: str) -> str:
    """Return the browser and the operating system, such as `Firefox on Linux`, if they are known.

    Programs can send any user agent, so this is only a help to recognize a session.
    """
    browser = _first_match(text, _BROWSERS)
    system = _first_match(text, _SYSTEMS)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "Unknown browser"


def _first_match(text: str, names: dict[str, str]) -> str:
    return next((name for part, name in names.items() if part in text), "")
