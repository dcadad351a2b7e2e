"""Request bodies."""

from __future__ import annotations

import falcon

from recipient_fields.application.strict_json import NotJson, TooManyValues, parse_json
from recipient_fields.domain import MAX_ALLOWED_VALUES, Rule, Violation

from .problems import RequestRejected

MAX_BODY_SIZE = 1024 * 1024

MAX_VALUES = 10_000
"""Member names and values of one field, ten times as many as a valid one can have."""

MAX_BATCH_VALUES = 100_000
"""Member names and values of a batch: 100 for each of 1,000 operations."""

MAX_RECIPIENT_VALUES = 250_000
"""Member names and values of recipients to check. More would hardly fit into a body."""


def read_json(req: falcon.Request, *, max_values: int = MAX_VALUES) -> object:
    """Return the value of the request's JSON document.

    Raises: RequestRejected if the body exceeds 1 MiB or `max_values`, or is not JSON.
    """
    body = req.bounded_stream.read(MAX_BODY_SIZE + 1)
    if len(body) > MAX_BODY_SIZE:
        raise RequestRejected("payload_too_large")
    try:
        return parse_json(body, max_values=max_values)
    except TooManyValues:
        message = (
            f"The body has more than {max_values:,} names and values. Send fewer. "
            f"A field has at most {MAX_ALLOWED_VALUES:,} allowed values."
        )
        violation = Violation(Rule.TOO_MANY_ITEMS, message)
        raise RequestRejected("validation_failed", violations=[violation]) from None
    except NotJson as malformed:
        raise RequestRejected("invalid_json", str(malformed)) from None
