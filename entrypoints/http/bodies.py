"""Request bodies."""

from __future__ import annotations

import falcon

from recipient_fields.application.documents.strict_json import (
    NotJson,
    TooManyValues,
    parse_json,
)
from recipient_fields.domain import Rule, Violation

from .problems import RequestRejected
from .resource import KIBIBYTE, Resource


def require_size(req: falcon.Request, max_size: int) -> None:
    """Raise RequestRejected if the request announces a body of more than `max_size` bytes."""
    if (req.content_length or 0) > max_size:
        raise _too_large(max_size)


def read_json(req: falcon.Request, resource: Resource) -> object:
    """Return the value of the request's JSON document.

    Raises: RequestRejected if the body exceeds a limit of the resource, or is not JSON.
    """
    return parse_body(read_body(req, resource), resource)


def read_body(req: falcon.Request, resource: Resource) -> bytes:
    """Return the request's body.

    Raises: RequestRejected if it has more bytes than the resource permits.
    """
    body = req.bounded_stream.read(resource.max_body_size + 1)
    if len(body) > resource.max_body_size:
        raise _too_large(resource.max_body_size)
    return body


def parse_body(body: bytes, resource: Resource) -> object:
    """Return the value of a JSON document.

    Raises: RequestRejected if it exceeds a limit of the resource, or is not JSON.
    """
    max_values = resource.max_body_values
    try:
        return parse_json(body, max_values=max_values)
    except TooManyValues:
        message = f"The body has more than {max_values:,} names and values. Send fewer."
        violation = Violation(Rule.TOO_MANY_ITEMS, message)
        raise RequestRejected("validation_failed", violations=[violation]) from None
    except NotJson as malformed:
        raise RequestRejected("invalid_json", str(malformed)) from None


def _too_large(max_size: int) -> RequestRejected:
    kibibytes = max_size // KIBIBYTE
    size = f"{kibibytes // 1024} MiB" if kibibytes >= 1024 else f"{kibibytes} KiB"
    message = f"The request body is larger than {size}. Send less."
    return RequestRejected("payload_too_large", message)
