"""The path at which the application is mounted in another one."""

from __future__ import annotations

from urllib.parse import quote

import falcon

_UNENCODED = "/~!$&'()*+,;=:@"
"""Characters that a path may contain without percent-encoding (RFC 3986, section 3.3)."""


def mount_path(req: falcon.Request) -> str:
    """Return the percent-encoded path at which the application is mounted, or "" for the root."""
    return quote(req.root_path, safe=_UNENCODED)
