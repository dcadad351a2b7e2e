"""Where in a host's URLs the application is."""

from __future__ import annotations

from urllib.parse import quote

import falcon

_UNRESERVED = "/~!$&'()*+,;=:@"
"""What a path may hold as it is (RFC 3986, section 3.3)."""


def mount_path(req: falcon.Request) -> str:
    """The path that the host has mounted the application at, as a URL writes it; "" at the root."""
    return quote(req.root_path, safe=_UNRESERVED)
