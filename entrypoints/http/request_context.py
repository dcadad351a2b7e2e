"""What is known about a request: its id, where the application is mounted, and its credential."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import getrandbits
from urllib.parse import quote

import falcon

from recipient_fields.domain import API, Author, Credential, Precondition, redact_keys

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


_UNENCODED = "/~!$&'()*+,;=:@"
"""Characters that a path may contain without percent-encoding (RFC 3986, section 3.3)."""


def mount_path(req: falcon.Request) -> str:
    """Return the percent-encoded path at which the application is mounted, or "" for the root."""
    return quote(req.root_path, safe=_UNENCODED)


def credential(req: falcon.Request) -> Credential:
    """Return the credential of the request's API key."""
    validated: Credential = req.context.credential
    return validated


def author(req: falcon.Request) -> Author:
    """Return the author of the request's changes: its API key."""
    key = credential(req)
    return Author(API, id=key.key_id, name=key.key_display, request_id=logged_request_id(req))


def parameters(req: falcon.Request) -> Mapping[str, str]:
    """Return the query parameters, all of which the resource has."""
    parsed: Mapping[str, str] = req.context.parameters
    return parsed


def precondition(req: falcon.Request) -> Precondition:
    """Return the precondition that the request sets for the field's version."""
    parsed: Precondition = req.context.precondition
    return parsed
