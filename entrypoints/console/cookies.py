"""The cookies of the console. A browser sends them to no other site."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum

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
