"""What is known about a request: its administrator, organization and form, cookies and origin."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from enum import Enum
from urllib.parse import quote, urlsplit

import falcon
from attrs import field, frozen
from falcon import Request, Response

from recipient_fields.domain import (
    ADMINISTRATOR,
    Administrator,
    Author,
    Organization,
    Role,
    Session,
)

from . import ROOT
from .forms import Form

_UNENCODED = "/~!$&'()*+,;=:@"
"""Characters that a path may contain without percent-encoding (RFC 3986, section 3.3)."""


@frozen(kw_only=True)
class Visit:
    """The facts about a request: its administrator, organization, role and form."""

    base: str
    """The path of the console, percent-encoded."""
    secret: str = field(default="", repr=False)
    """The text from which CSRF tokens are derived: the session token, or a random cookie.

    It is empty before the first form of a browser without a session.
    """
    form: Form = field(factory=Form, repr=False)
    session: Session | None = None
    signed_in_as: Administrator | None = None
    in_organization: Organization | None = None
    role: Role | None = None
    is_continued: bool = False
    """Whether the form was entered in a session that has ended, and is shown again."""

    @property
    def administrator(self) -> Administrator:
        """The signed-in administrator. Only public pages can have none."""
        if self.signed_in_as is None:
            raise falcon.HTTPUnauthorized
        return self.signed_in_as

    @property
    def organization(self) -> Organization:
        """The organization of the path."""
        if self.in_organization is None:
            raise falcon.HTTPNotFound
        return self.in_organization

    @property
    def may_change(self) -> bool:
        """Whether the administrator may change the organization's data."""
        return self.role is not None and self.role.may_change

    def path(self, path: str = "") -> str:
        """Return the path of a page of the organization."""
        return f"{self.base}/o/{self.organization.id}{path}"


def visit(req: Request) -> Visit:
    """Return the facts about the request. A static file has none but the path."""
    found: Visit | None = req.context.get("visit")
    return Visit(base=base_path(req)) if found is None else found


def author(req: Request) -> Author:
    """Return the author of the request's changes: the signed-in administrator."""
    administrator = visit(req).administrator
    return Author(
        ADMINISTRATOR,
        id=administrator.id,
        name=administrator.email.text,
        request_id=req.context.get("request_id"),
    )


def base_path(req: Request) -> str:
    """Return the percent-encoded path of the console."""
    return quote(req.root_path, safe=_UNENCODED) + ROOT


def own_path(req: Request) -> str:
    """Return the percent-encoded path of the request."""
    return quote(req.root_path + req.path, safe=_UNENCODED)


_PAST = datetime(1970, 1, 1, tzinfo=UTC)
"""Deletes a cookie. Falcon sends no `Max-Age=0`."""


class Cookie(Enum):
    """The cookies, by their names without a prefix."""

    SESSION = "console"
    FORM = "console-form"
    """Identifies the browser of a form that has no session: the sign-in form, for example."""
    FLASH = "console-flash"


@frozen
class Cookies:
    """Reads and sets cookies. `is_secure` is whether browsers use HTTPS."""

    is_secure: bool

    def read(self, req: Request, cookie: Cookie) -> str | None:
        """Return the value, or None if the request has none or contradicting ones.

        Over HTTP, another application of the same host could add a second cookie of this name.
        """
        values = req.get_cookie_values(self._name(cookie)) or []
        return values[0] if len(values) == 1 else None

    def delete(self, resp: Response, cookie: Cookie) -> None:
        """Delete the cookie."""
        self.set(resp, cookie, "", expires=_PAST)

    def set(
        self,
        resp: Response,
        cookie: Cookie,
        value: str,
        *,
        expires: datetime | None = None,
    ) -> None:
        """Set the cookie, by default until the browser ends."""
        resp.set_cookie(
            self._name(cookie),
            value,
            expires=expires,
            path="/",  # `__Host-` requires it.
            secure=self.is_secure,
            http_only=True,
            same_site="Strict",
        )

    def _name(self, cookie: Cookie) -> str:
        return f"__Host-{cookie.value}" if self.is_secure else cookie.value


_FOREIGN = (
    "The request did not come from a page of this console, so nothing was changed. Open the page"
    " again. If this continues, an operator has to set --console-url to the address in your"
    " browser."
)


def sign(secret: str, purpose: str, text: str = "") -> str:
    """Return the authentication code of a text for this purpose."""
    return hmac.new(secret.encode(), f"{purpose}:{text}".encode(), "sha256").hexdigest()


def csrf_token(secret: str) -> str:
    """Return the token that every form of this session contains."""
    return sign(secret, "csrf")


def is_csrf_token(secret: str, token: str) -> bool:
    """Return whether this is the token of the forms with this secret, which must not be empty."""
    return bool(secret) and hmac.compare_digest(csrf_token(secret).encode(), token.encode())


def own_origin(req: Request, origin: str | None) -> str:
    """Return the origin of the console, or of the request's own address if `origin` is None.

    It is empty if the request has no `Host`.
    """
    host = req.get_header("Host")
    return origin or (f"{req.scheme}://{host}" if host else "")


def require_same_origin(req: Request, origin: str | None) -> None:
    """Check that a page of the console sent the request.

    `origin` is the origin of the console. None means that of the request's own address.
    Raises: HTTPForbidden.
    """
    if not is_same_origin(req, origin):
        raise falcon.HTTPForbidden(description=_FOREIGN)


def is_same_origin(req: Request, origin: str | None) -> bool:
    """Return whether a page of the console sent the request."""
    expected = own_origin(req, origin)
    return bool(expected) and _sent_from(req, expected) == expected


def _sent_from(req: Request, expected: str) -> str | None:
    """Return the origin of the page that sent the request. Some old browsers omit `Origin`."""
    sent = req.get_header("Origin")
    if sent is not None:
        return sent
    site = req.get_header("Sec-Fetch-Site")
    if site is not None:
        return expected if site == "same-origin" else None
    referer = urlsplit(req.get_header("Referer") or "")
    return f"{referer.scheme}://{referer.netloc}"
