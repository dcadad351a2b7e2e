"""What the request guard has found out about a request, for its resource."""

from __future__ import annotations

from collections.abc import Mapping

import falcon

from recipient_fields.domain import API, Author, Credential, Precondition

from .request_id import logged_request_id


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
