"""A request that the server rejects before the application receives it, and the response to it.

The server finds the fault; the application knows how its responses and its log look. Neither
imports the other, so the server is created with a `RejectionHandler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import frozen


@frozen(kw_only=True)
class RejectedRequest:
    """What the server has read of a rejected request."""

    code: str
    """The error code of docs/errors.md, such as `overloaded` or `malformed_request`."""
    method: str
    """Empty if the request line could not be read."""
    path: str
    """Percent-decoded. Empty if the request line could not be read."""
    peer: str
    """The IP address at the other end of the connection."""
    headers: Mapping[str, str]
    """The headers that could be read, by their WSGI names without `HTTP_`, as in `X_REQUEST_ID`."""
    unparsed: bytes
    """The head of the request, if a fault kept the server from parsing it."""
    seconds: float
    """The time since the first byte of the request."""


@frozen
class RejectionResponse:
    """The response to a rejected request. The server adds what concerns the connection."""

    status: str
    """As in WSGI: `503 Service Unavailable`."""
    headers: tuple[tuple[str, str], ...]
    body: bytes


RejectionHandler: TypeAlias = Callable[[RejectedRequest], RejectionResponse]
"""Returns the response to a rejected request, and logs it. It must not block."""
