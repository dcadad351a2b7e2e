"""One example of each error, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping

from recipient_fields.domain import (
    BatchRejected,
    BeforeHistory,
    CatalogTooLarge,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    HistoryRemoved,
    InsufficientAccess,
    InvalidField,
    KeyTaken,
    OperationForbidden,
    Rule,
    VersionConflict,
    Violation,
)
from recipient_fields.domain.esp import NotExpressible

from .problems import MESSAGES, STATUSES, Problem, problem, problem_of

_KEY_RULE = "Use lower-case letters, digits and single underscores, beginning with a letter."
_TAKEN = KeyTaken(FieldKey("loyalty_tier"), FieldId(1))

_SPECIFIC: Mapping[str, Problem] = {
    "invalid_json": problem("invalid_json", "The document is not JSON: line 1, column 21."),
    "invalid_parameter": problem(
        "invalid_parameter", "Invalid value for `limit`: use a number from 1 to 1000."
    ),
    "field_not_api_managed": problem_of(
        OperationForbidden(
            "Manual fields are changed by administrators, in the console or on the command line,"
            " not through the API."
        )
    ),
    "insufficient_scope": problem_of(InsufficientAccess()),
    "not_found": problem("not_found"),
    "before_history": problem_of(BeforeHistory()),
    "key_already_exists": problem_of(_TAKEN),
    "operations_failed": problem_of(BatchRejected({1: _TAKEN, 2: FieldNotFound()})),
    "field_limit_reached": problem_of(FieldLimitReached(1_000)),
    "catalog_too_large": problem_of(CatalogTooLarge(8_388_608, 8_388_500)),
    "history_removed": problem_of(HistoryRemoved()),
    "precondition_failed": problem_of(VersionConflict(None)),
    "payload_too_large": problem(
        "payload_too_large", "The request body is larger than 1 MiB. Send less."
    ),
    "unsupported_media_type": problem(
        "unsupported_media_type", "Send the body as application/json in UTF-8."
    ),
    "validation_failed": problem_of(
        InvalidField(
            [
                Violation(Rule.REQUIRED, "Add this member.", ("data_type",)),
                Violation(Rule.FORMAT, _KEY_RULE, ("key",), "loyalty_tier"),
                Violation(
                    Rule.UNKNOWN_FIELD, "There is no such member.", ("datatype",), "data_type"
                ),
            ]
        )
    ),
    "not_expressible": problem_of(
        NotExpressible("first_name: Mailchimp has no test for a part of a text.")
    ),
}
_GENERAL = {code: problem(code) for code in STATUSES if code in MESSAGES and code not in _SPECIFIC}
EXAMPLES: Mapping[str, Problem] = {**_SPECIFIC, **_GENERAL}
"""One example of each error, exactly as the service sends it, one of each reason, and a batch."""
