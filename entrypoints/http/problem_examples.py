"""One example of each error, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping

from recipient_fields.domain import (
    BatchRejected,
    CatalogTooLarge,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    HistoryRemoved,
    KeyTaken,
)
from recipient_fields.domain.esp import NotExpressible

from .problems import MESSAGES, STATUSES, Problem, problem, problem_of

_INVALID = (
    {
        "pointer": "/recipient_field/data_type",
        "code": "required",
        "message": "Add this member.",
    },
    {
        "pointer": "/recipient_field/key",
        "code": "format",
        "message": (
            "Use lower-case letters, digits and single underscores, beginning with a letter."
        ),
        "suggestion": "loyalty_tier",
    },
    {
        "pointer": "/recipient_field/datatype",
        "code": "unknown_field",
        "message": "There is no such member.",
        "suggestion": "data_type",
    },
)
_TAKEN = "A recipient field with this key already exists. Choose another key."

_SPECIFIC: Mapping[str, Problem] = {
    "invalid_json": problem("invalid_json", "The document is not JSON: line 1, column 21."),
    "invalid_parameter": problem(
        "invalid_parameter", "Invalid value for `limit`: use a number from 1 to 1000."
    ),
    "field_not_api_managed": problem(
        "forbidden",
        "Manual fields are changed by administrators, in the console or on the command line, not "
        "through the API.",
        reason="field_not_api_managed",
    ),
    "insufficient_scope": problem(
        "forbidden",
        "This API key can only read. Use a key with read and write access.",
        reason="insufficient_scope",
    ),
    "not_found": problem("not_found"),
    "before_history": problem(
        "not_found",
        "The history of this organization has no record up to this time. Use a later time, or list"
        " the current fields.",
        reason="before_history",
    ),
    "key_already_exists": problem(
        "key_already_exists",
        _TAKEN,
        details=(
            {
                "pointer": "/recipient_field/key",
                "code": "key_already_exists",
                "message": _TAKEN,
                "existing_id": 1,
                "existing_key": "loyalty_tier",
            },
        ),
    ),
    "operations_failed": problem_of(
        BatchRejected({1: KeyTaken(FieldKey("loyalty_tier"), FieldId(1)), 2: FieldNotFound()})
    ),
    "field_limit_reached": problem_of(FieldLimitReached(1_000)),
    "catalog_too_large": problem_of(CatalogTooLarge(8_388_608, 8_388_500)),
    "history_removed": problem_of(HistoryRemoved()),
    "precondition_failed": problem(
        "precondition_failed", "The field is not in the expected version. Read it again and retry."
    ),
    "payload_too_large": problem(
        "payload_too_large", "The request body is larger than 1 MiB. Send less."
    ),
    "unsupported_media_type": problem(
        "unsupported_media_type", "Send the body as application/json in UTF-8."
    ),
    "validation_failed": problem("validation_failed", details=_INVALID),
    "not_expressible": problem_of(
        NotExpressible("first_name: Mailchimp has no test for a part of a text.")
    ),
}
_GENERAL = {code: problem(code) for code in STATUSES if code in MESSAGES and code not in _SPECIFIC}
EXAMPLES: Mapping[str, Problem] = {**_SPECIFIC, **_GENERAL}
"""One example of each error, exactly as the service sends it, one of each reason, and a batch."""
