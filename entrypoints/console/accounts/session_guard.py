"""The checks before a page handles a request, and the headers of every response."""

from __future__ import annotations

import re
import secrets
from typing import Any
from urllib.parse import urlencode

import falcon
from attrs import evolve, frozen
from falcon import Request, Response

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId

from .. import ROOT
from ..forms import read_form
from ..pages import Page, StaticFile
from ..requests import (
    Cookie,
    Cookies,
    Visit,
    base_path,
    is_csrf_token,
    is_same_origin,
    own_path,
    require_same_origin,
)
from ..submitted_forms import KEPT, SessionEnded, continues, entered_form, is_entered_by

SIGN_IN = "/sign-in"

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-src 'self'",
        "frame-ancestors 'none'",
    )
)
_PAGE = re.compile(r"(?:/[A-Za-z0-9_-]+)*/?(?:\?[!$-\[\]-~]*)?")
"""The path of a page below the console's root, and its query.

The path of a page has no dot and no percent-encoding, with which browsers would leave the console.
A query is printable ASCII without `"`, `#` and `\\`.
"""

_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With `no-referrer`, browsers would send `Origin: null` with forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_OUTDATED = "The page is out of date, so nothing was changed. Reload it, and submit the form again."
_VIEWER = (
    "Your role in this organization is viewer: you can see everything and change nothing. Ask an"
    " administrator of the organization to change your role."
)


@frozen
class SessionGuard:
    """The middleware that checks the session, the form, the organization and the role."""

    core: Core
    cookies: Cookies
    origin: str | None
    """The public origin of the console. None: that of each request's own address."""

    def process_request(self, req: Request, _resp: Response) -> None:
        """Choose the request's id, and find its session.

        Unlike the API, the console uses no id that a client sends.
        """
        req.context.request_id = secrets.token_hex(16)
        if not req.path.startswith(f"{ROOT}/static/"):
            req.context.visit = self._identify(req)

    def process_resource(
        self,
        req: Request,
        resp: Response,
        resource: Page | StaticFile,
        params: dict[str, Any],
    ) -> None:
        """Set the `Visit` of the request, or reject it.

        If the form continues one of an ended session, the page shows it instead of saving it.

        Raises: a falcon.HTTPError; HTTPSeeOther to the sign-in page; SessionEnded for a form.
        """
        if isinstance(resource, StaticFile):
            return
        visit: Visit = req.context.visit
        if visit.session is None and resource.ends_session:
            raise falcon.HTTPSeeOther(f"{visit.base}{SIGN_IN}")
        needs_sign_in = visit.session is None and not resource.is_public
        if needs_sign_in and req.method != "POST":
            raise falcon.HTTPSeeOther(sign_in_path(req))
        if not visit.secret:
            req.context.visit = visit = evolve(visit, secret=secrets.token_urlsafe())
            self.cookies.set(resp, Cookie.FORM, visit.secret)
        if needs_sign_in:
            raise self._session_ended(req, resource)
        if "organization_id" in params:
            req.context.visit = visit = self._enter(visit, params.pop("organization_id"))
            req.context.facts["organization"] = visit.organization.id
        if req.method == "POST":
            require_same_origin(req, self.origin)
            visit = evolve(visit, form=read_form(req, resource.max_body_size))
            self._require_csrf_token(req, visit, resource)
            if continues(visit.form) and resource.keeps_inputs:
                visit = evolve(visit, form=entered_form(visit.form), is_continued=True)
            req.context.visit = visit
        is_change = req.method == "POST" or resource.changes
        is_allowed = visit.may_change or resource.is_for_viewers
        if visit.in_organization is not None and is_change and not is_allowed:
            raise falcon.HTTPForbidden(description=_VIEWER)
        if visit.is_continued:
            on_continue: Any = getattr(resource, "on_continue", None)
            on_continue(req, resp, **params)
            resp.complete = True

    def process_response(
        self,
        req: Request,
        resp: Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 (Falcon's signature)
    ) -> None:
        """Add the headers for browsers and caches, unless the page has set its own."""
        for name, value in _HEADERS.items():
            if resp.get_header(name) is None:
                resp.set_header(name, value)
        if "request_id" in req.context:
            resp.set_header("X-Request-Id", req.context.request_id)

    def _identify(self, req: Request) -> Visit:
        """Return the visit of the session's administrator, or of a browser without a session."""
        base = base_path(req)
        token = self.cookies.read(req, Cookie.SESSION)
        signed_in = None if token is None else self.core.administrators.authenticate(token)
        if token is not None and signed_in is not None:
            administrator = signed_in.administrator
            req.context.facts = {"administrator": administrator.id}
            return Visit(
                base=base, secret=token, session=signed_in.session, signed_in_as=administrator
            )
        req.context.facts = {}
        return Visit(base=base, secret=self.cookies.read(req, Cookie.FORM) or "")

    def _session_ended(self, req: Request, page: Page) -> SessionEnded:
        """Return the error for a form without a session.

        Nothing of another site's form is kept, so that it chooses no inputs for the administrator.
        """
        if is_same_origin(req, self.origin):
            return SessionEnded.of_request(req, page)
        return SessionEnded(page.form_path(req))

    def _require_csrf_token(self, req: Request, visit: Visit, page: Page) -> None:
        """Check that the form comes from a page that this browser has opened.

        Raises: HTTPForbidden; if the browser has signed in since the page was opened, HTTPSeeOther
        to a page that works without a session, or SessionEnded with what was entered before.
        """
        token = visit.form.text("csrf")
        if is_csrf_token(visit.secret, token):
            return
        # A browser that follows a link of another site sends no session cookie for the page, but
        # then sends it with the form.
        if page.is_public and is_csrf_token(self.cookies.read(req, Cookie.FORM) or "", token):
            return
        if page.is_public and visit.session is not None:
            if continues(visit.form) and is_entered_by(visit.form, visit.administrator):
                path = next_path(req, visit.form.text("next"))
                raise SessionEnded(path, kept=visit.form.text(KEPT))
            raise falcon.HTTPSeeOther(own_path(req))
        ended = SessionEnded.of_form(visit.form, req, page)
        if ended.kept and is_entered_by(visit.form, visit.administrator):
            raise ended
        raise falcon.HTTPForbidden(description=_OUTDATED)

    def _enter(self, visit: Visit, organization_id: OrganizationId) -> Visit:
        """Return the visit in the organization, which is missing for other administrators."""
        role = visit.administrator.role_in(organization_id)
        if role is None:
            raise falcon.HTTPNotFound
        organization = self.core.administration.get_organization(organization_id)
        return evolve(visit, in_organization=organization, role=role)


def sign_in_path(req: Request) -> str:
    """Return the path of the sign-in page, which leads back to the page of this request."""
    path = f"{base_path(req)}{SIGN_IN}"
    wanted = req.relative_uri
    return path if wanted == base_path(req) else f"{path}?{urlencode({'next': wanted})}"


def next_path(req: Request, wanted: str) -> str:
    """Return the path to open after the sign-in: only one of this console."""
    base = base_path(req)
    is_own = wanted.startswith(base) and _PAGE.fullmatch(wanted, len(base)) is not None
    return wanted if is_own else base
