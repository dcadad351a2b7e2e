"""The cookies of the console, and protection against requests that another site causes."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from enum import Enum
from urllib.parse import urlsplit

import falcon
from attrs import frozen

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

    def read(self, req: falcon.Request, cookie: Cookie) -> str | None:
        """Return the value, or None if the request has none or contradicting ones.

        Over HTTP, another application of the same host could add a second cookie of this name.
        """
        values = req.get_cookie_values(self._name(cookie)) or []
        return values[0] if len(values) == 1 else None

    def set(self, resp: falcon.Response, cookie: Cookie, value: str) -> None:
        """Set the cookie until the browser ends."""
        self._send(resp, cookie, value)

    def delete(self, resp: falcon.Response, cookie: Cookie) -> None:
        """Delete the cookie."""
        self._send(resp, cookie, "", expires=_PAST)

    def _send(
        self,
        resp: falcon.Response,
        cookie: Cookie,
        value: str,
        *,
        expires: datetime | None = None,
    ) -> None:
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


def own_origin(req: falcon.Request, origin: str | None) -> str:
    """Return the origin of the console, or of the request's own address if `origin` is None.

    It is empty if the request has no `Host`.
    """
    host = req.get_header("Host")
    return origin or (f"{req.scheme}://{host}" if host else "")


def require_same_origin(req: falcon.Request, origin: str | None) -> None:
    """Check that a page of the console sent the request.

    `origin` is the origin of the console. None means that of the request's own address.
    Raises: HTTPForbidden.
    """
    if not is_same_origin(req, origin):
        raise falcon.HTTPForbidden(description=_FOREIGN)


def is_same_origin(req: falcon.Request, origin: str | None) -> bool:
    """Return whether a page of the console sent the request."""
    expected = own_origin(req, origin)
    return bool(expected) and _sent_from(req, expected) == expected


def _sent_from(req: falcon.Request, expected: str) -> str | None:
    """Return the origin of the page that sent the request. Some old browsers omit `Origin`."""
    sent = req.get_header("Origin")
    if sent is not None:
        return sent
    site = req.get_header("Sec-Fetch-Site")
    if site is not None:
        return expected if site == "same-origin" else None
    referer = urlsplit(req.get_header("Referer") or "")
    return f"{referer.scheme}://{referer.netloc}"
