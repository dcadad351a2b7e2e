"""Request bodies."""

from __future__ import annotations

import falcon

from ..strict_json import NotJson, parse_json
from .problems import Refused

LARGEST_BODY = 1024 * 1024


def read_json(req: falcon.Request) -> object:
    """The request's JSON document, at most 1 MiB; see `parse_json`."""
    body = req.bounded_stream.read(LARGEST_BODY + 1)
    if len(body) > LARGEST_BODY:
        raise Refused("payload_too_large")
    try:
        return parse_json(body)
    except NotJson as malformed:
        raise Refused("invalid_json", str(malformed)) from None
