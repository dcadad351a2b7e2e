"""The sessions of the signed-in administrator."""

from __future__ import annotations

import falcon
from attrs import frozen

from recipient_fields.application import Core
from recipient_fields.domain import MAX_SESSION_AGE, Session, SessionId

from ..cookies import Cookie, Cookies
from ..form_claims import claimed_form
from ..page import Page, author, visit
from ..rendering import Flash, Pages
from .session_guard import SIGN_IN

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


@frozen
class SessionList(Page):
    """`/console/o/{organization_id}/settings/sessions`."""

    core: Core
    pages: Pages
    is_for_viewers = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the active sessions, the one in use first."""
        current = visit(req).session
        sessions = self.core.administrators.list_sessions(visit(req).administrator.id)
        rows = [_Row.of(each, current) for each in sessions]
        rows.sort(key=lambda row: (row.is_current, row.session.last_used_at), reverse=True)
        self.pages.send(req, resp, "sessions.html", rows=rows, now=self.core.clock())


@frozen
class SessionEnd(Page):
    """`/console/o/{organization_id}/settings/sessions/{session_id}/end`."""

    core: Core
    pages: Pages
    is_for_viewers = True

    def on_post(self, req: falcon.Request, resp: falcon.Response, session_id: SessionId) -> None:
        """End one of the administrator's sessions."""
        path = visit(req).path(_LIST)
        with claimed_form(req, self.core, _LIST):
            if not self.core.administrators.end_session(visit(req).administrator.id, session_id):
                raise falcon.HTTPNotFound
        self.pages.redirect(req, resp, path, Flash("The session was ended."))


@frozen
class AllSessionsEnd(Page):
    """`/console/o/{organization_id}/settings/sessions/end-all`."""

    core: Core
    pages: Pages
    cookies: Cookies
    is_for_viewers = True

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """End all sessions of the administrator, also the one in use."""
        administrator = visit(req).administrator
        self.core.administrators.by(author(req)).end_all_sessions(administrator.id)
        self.cookies.delete(resp, Cookie.SESSION)
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
