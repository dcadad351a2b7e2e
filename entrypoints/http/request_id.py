"""The id of a request: in the response, and in the log."""

from __future__ import annotations

import re
from random import getrandbits

import falcon

from recipient_fields.domain import redact_keys

HIDDEN_KEY = "[API key]"
"""What the log shows instead of a request id that is an API key."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def request_id(req: falcon.Request) -> str:
    """Return the id of the request."""
    if "request_id" not in req.context:
        req.context.request_id = choose_request_id(req.get_header("X-Request-Id"))
    identifier: str = req.context.request_id
    return identifier


def logged_request_id(req: falcon.Request) -> str:
    """Return the id of the request for the log, without an API key.

    Keys of other validators have no known form: only the `Authorization` header identifies them.
    """
    return redacted_request_id(request_id(req), req.get_header("Authorization"))


def redacted_request_id(identifier: str, authorization: str | None) -> str:
    """Return the id, or a placeholder if it is the key in that header or looks like one of ours."""
    if (authorization or "").endswith(f" {identifier}"):
        return HIDDEN_KEY
    return redact_keys(identifier)


def choose_request_id(sent: str | None) -> str:
    """Return the id that the client has sent if it is well-formed, and a new one otherwise."""
    if sent is not None and _REQUEST_ID.fullmatch(sent):
        return sent
    # The id is no secret. A cryptographic generator would cost one system call per request.
    return f"{getrandbits(128):032x}"  # nosec B311
