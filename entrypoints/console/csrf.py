"""Protection against requests that another site causes (cross-site request forgery)."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

import falcon

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
