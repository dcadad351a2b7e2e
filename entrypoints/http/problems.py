"""The error responses: one table of codes, and one of the core's errors.

docs/errors.md describes each code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any

from attrs import field, frozen

from recipient_fields.application import InvalidDocument, MissingGroup
from recipient_fields.application.documents.conversion import MAX_VIOLATIONS
from recipient_fields.application.documents.schemas import (
    described,
    named,
    render_document,
)
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.documents.violations import (
    ErrorDetailDocument,
    render_violation,
)
from recipient_fields.domain import (
    UNCHANGED,
    BatchRejected,
    BeforeHistory,
    CatalogChanged,
    CatalogTooLarge,
    FieldLimitReached,
    FieldNotFound,
    HistoryRemoved,
    InsufficientAccess,
    InvalidField,
    KeyRepeated,
    KeyTaken,
    KeyValidationUnavailable,
    OperationForbidden,
    OrganizationNotFound,
    RecipientFieldsError,
    Rule,
    StorageUnavailable,
    Unchanged,
    VersionConflict,
    Violation,
)
from recipient_fields.domain.conditions import InvalidCondition, InvalidRecipient
from recipient_fields.domain.content import InvalidContent
from recipient_fields.domain.esp import MissingProfile, NotExpressible
from recipient_fields.domain.integrations import IntegrationNotFound, IntegrationRequired

STATUSES: Mapping[str, HTTPStatus] = {
    "invalid_json": HTTPStatus.BAD_REQUEST,
    "invalid_parameter": HTTPStatus.BAD_REQUEST,
    "malformed_request": HTTPStatus.BAD_REQUEST,
    "unauthorized": HTTPStatus.UNAUTHORIZED,
    "forbidden": HTTPStatus.FORBIDDEN,
    "not_found": HTTPStatus.NOT_FOUND,
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "not_acceptable": HTTPStatus.NOT_ACCEPTABLE,
    "request_timeout": HTTPStatus.REQUEST_TIMEOUT,
    "key_already_exists": HTTPStatus.CONFLICT,
    "field_limit_reached": HTTPStatus.CONFLICT,
    "catalog_too_large": HTTPStatus.CONFLICT,
    "history_removed": HTTPStatus.CONFLICT,
    "precondition_failed": HTTPStatus.PRECONDITION_FAILED,
    "payload_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "uri_too_long": HTTPStatus.REQUEST_URI_TOO_LONG,
    "unsupported_media_type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "validation_failed": HTTPStatus.UNPROCESSABLE_ENTITY,
    "not_expressible": HTTPStatus.UNPROCESSABLE_ENTITY,
    "headers_too_large": HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "internal_error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "not_implemented": HTTPStatus.NOT_IMPLEMENTED,
    "api_key_validation_unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "service_unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "overloaded": HTTPStatus.SERVICE_UNAVAILABLE,
}

MEANINGS: Mapping[str, str] = {
    "invalid_json": "the body is not JSON (RFC 8259), or is nested deeper than 32 levels",
    "invalid_parameter": "a query parameter or header is invalid, or a parameter is unknown",
    "malformed_request": "the request is not well-formed HTTP; the connection is closed",
    "unauthorized": "the API key is missing, malformed, unknown, expired or revoked",
    "forbidden": "the field is not API-managed, or the API key can only read; see `reason`",
    "not_found": (
        "the resource does not exist, is another organization's, or is before the history; "
        "see `reason`"
    ),
    "method_not_allowed": "the resource does not support this method",
    "not_acceptable": "`Accept` includes no media type that the service can send",
    "request_timeout": "the request did not arrive in time",
    "key_already_exists": "a field of the organization, of any origin, has this key",
    "field_limit_reached": "the organization has reached its limit of API-managed fields",
    "catalog_too_large": "the list of the organization's fields would exceed its limit of bytes",
    "history_removed": "the record of the field's deletion can have been removed from the history",
    "precondition_failed": "the field, or the list, is not in the expected version",
    "payload_too_large": (
        "the body is larger than 1 MiB; for conditions, 64 KiB, and for content, 4 MiB"
    ),
    "uri_too_long": "the URL is too long",
    "unsupported_media_type": "the body is not sent as JSON in UTF-8 without a Content-Encoding",
    "validation_failed": "the body breaks rules; `details` lists all of them",
    "not_expressible": "the ESP can't express the condition; `message` states the reason",
    "headers_too_large": "the headers are too large",
    "internal_error": "the service failed",
    "not_implemented": (
        "the service does not support the transfer coding of the request, or its storage has no"
        " history"
    ),
    "api_key_validation_unavailable": "API keys can't be checked at the moment",
    "service_unavailable": "the storage does not respond",
    "overloaded": "the request waited too long for a thread, or too many are large",
}
"""The cause of each code, for the OpenAPI document."""

CODES: Mapping[type[RecipientFieldsError], str] = {
    InvalidDocument: "validation_failed",
    InvalidField: "validation_failed",
    InvalidCondition: "validation_failed",
    InvalidContent: "validation_failed",
    InvalidRecipient: "validation_failed",
    IntegrationNotFound: "validation_failed",
    IntegrationRequired: "validation_failed",
    MissingProfile: "validation_failed",
    NotExpressible: "not_expressible",
    FieldNotFound: "not_found",
    OrganizationNotFound: "not_found",
    BeforeHistory: "not_found",
    OperationForbidden: "forbidden",
    InsufficientAccess: "forbidden",
    KeyTaken: "key_already_exists",
    KeyRepeated: "key_already_exists",
    FieldLimitReached: "field_limit_reached",
    CatalogTooLarge: "catalog_too_large",
    HistoryRemoved: "history_removed",
    VersionConflict: "precondition_failed",
    CatalogChanged: "precondition_failed",
    StorageUnavailable: "service_unavailable",
    KeyValidationUnavailable: "api_key_validation_unavailable",
    MissingGroup: "not_implemented",
}
"""The code of each error. A BatchRejected has the code of its first failure."""

_REASONS: Mapping[type[RecipientFieldsError], str] = {
    OperationForbidden: "field_not_api_managed",
    InsufficientAccess: "insufficient_scope",
    BeforeHistory: "before_history",
}
"""The reasons, for errors whose code has several. Their messages state the cause."""

MESSAGES = {
    "validation_failed": "The request breaks the rules that `details` lists. Correct it and retry.",
    "not_found": "This resource does not exist. Check the id or key, and the path.",
    "unauthorized": (
        "A valid API key is required. Send the whole key as `Authorization: Bearer <API_KEY>`."
        " Check that it belongs to this service, or ask an administrator for a new one."
    ),
    "method_not_allowed": (
        "This resource does not support this method. Use one that the `Allow` header lists."
    ),
    "not_acceptable": "The service sends application/json. Accept that media type.",
    "payload_too_large": "The request body is too large. Send less.",
    "malformed_request": "The request is not well-formed HTTP.",
    "request_timeout": "The request did not arrive in time. Send it again.",
    "uri_too_long": "The URL is too long. Send a shorter one.",
    "headers_too_large": "The request headers are too large. Send fewer or shorter ones.",
    "not_implemented": "The service does not implement what this request needs.",
    "internal_error": "The service failed. If this continues, report the `request_id`.",
    "service_unavailable": "The service is temporarily unavailable. Retry shortly.",
    "overloaded": "The service is overloaded. Retry shortly.",
    "api_key_validation_unavailable": (
        "Authentication is temporarily unavailable. Retry shortly with the same API key."
    ),
}
"""Messages that reveal nothing about the cause, for errors without a reason."""

_BATCH_MESSAGE = "No operation took effect. `details` lists each failed operation and its cause."

_RETRY_AFTER_SECONDS = "1"


def _named(name: str, **schema: object) -> Mapping[str, object]:
    """Return the metadata of a member whose schema has a name."""
    return described(schema=named(name, **schema))


_CODE = _named(
    "ErrorCode",
    type="string",
    enum=list(STATUSES),
    description="The cause, for programs. docs/errors.md#CODE describes each code.",
)
_REQUEST_ID = _named(
    "ErrorRequestId",
    type="string",
    pattern="^[A-Za-z0-9._-]{1,64}$",
    description="The id in `X-Request-Id` and in the service's log.",
)
_REASON = _named(
    "ErrorReason",
    type="string",
    enum=list(_REASONS.values()),
    description="Why the request is forbidden, or the resource is not found.",
)
_LIMIT = _named(
    "ErrorLimit",
    type="integer",
    minimum=0,
    description=(
        "The limit that the request would exceed: the number of API-managed fields, or the"
        " bytes of the list of all fields."
    ),
)
_USED = _named(
    "ErrorUsed",
    type="integer",
    minimum=0,
    description="The size of the list of all fields before the request, in bytes.",
)
_DETAILS = _named(
    "ErrorDetails",
    type="array",
    minItems=1,
    maxItems=MAX_VIOLATIONS,
    items=ErrorDetailDocument,
    description=f"All violations, up to {MAX_VIOLATIONS:,}.",
)


@frozen(kw_only=True)
class ErrorObjectDocument:
    """The cause of an error."""

    code: str = field(metadata=_CODE)
    message: str = field(metadata=described("The cause, for people.", minLength=1))
    request_id: str = field(metadata=_REQUEST_ID)
    reason: str | Unchanged = field(default=UNCHANGED, metadata=_REASON)
    limit: int | Unchanged = field(default=UNCHANGED, metadata=_LIMIT)
    used: int | Unchanged = field(default=UNCHANGED, metadata=_USED)
    details: Sequence[object] | Unchanged = field(default=UNCHANGED, metadata=_DETAILS)


@frozen(kw_only=True)
class FailureDocument:
    """An error in a successful response: the error object without `request_id`."""

    code: str = field(metadata=_CODE)
    message: str = field(metadata=described("The cause, for people.", minLength=1))
    details: Sequence[object] | Unchanged = field(default=UNCHANGED, metadata=_DETAILS)


@frozen
class ErrorDocument:
    """The error object."""

    error: ErrorObjectDocument


@frozen(kw_only=True)
class Problem:
    """An error response, before it is rendered for a request."""

    code: str
    message: str
    reason: str | None = None
    limit: int | None = None
    used: int | None = None
    details: tuple[Mapping[str, object], ...] = ()
    headers: Mapping[str, str] = {}

    @property
    def status(self) -> HTTPStatus:
        """The HTTP status of the code."""
        return STATUSES[self.code]


class RequestRejected(Exception):
    """The HTTP layer rejects this request."""

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        violations: Sequence[Violation] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        details = _details(violations)
        self.problem: Problem = problem(code, message, details=details, headers=headers)
        super().__init__(self.problem.message)


def problem(
    code: str,
    message: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    **members: Any,
) -> Problem:
    """Return the problem with this code, and with these other members.

    The default message is the one of the code.
    """
    headers = dict(headers or {})
    if STATUSES[code] is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = _RETRY_AFTER_SECONDS
    return Problem(code=code, message=message or MESSAGES[code], headers=headers, **members)


def problem_of(error: RecipientFieldsError) -> Problem:
    """Return the problem that reports an error of the core."""
    if isinstance(error, BatchRejected):
        return _problem_of_batch(error)
    kind = _kind_of(error)
    code = CODES[kind]
    message = None if code in MESSAGES and kind not in _REASONS else str(error)
    if isinstance(error, MissingGroup):
        message = f"This service has no {error.group.value}."
    return problem(
        code,
        message,
        reason=_REASONS.get(kind),
        details=_details_of(error),
        headers=_headers_of(error),
        **_limits_of(error),
    )


def render_error(problem: Problem, request_id: str) -> bytes:
    """Return the error object as JSON."""
    error = ErrorObjectDocument(
        code=problem.code,
        message=problem.message,
        request_id=request_id,
        reason=UNCHANGED if problem.reason is None else problem.reason,
        limit=UNCHANGED if problem.limit is None else problem.limit,
        used=UNCHANGED if problem.used is None else problem.used,
        details=problem.details or UNCHANGED,
    )
    return render_json(render_document(ErrorDocument(error)))


def failure_document(error: RecipientFieldsError) -> FailureDocument:
    """Return the document of an error of the core that is a part of a successful response."""
    problem = problem_of(error)
    return FailureDocument(
        code=problem.code, message=problem.message, details=problem.details or UNCHANGED
    )


def _kind_of(error: RecipientFieldsError) -> type[RecipientFieldsError]:
    """Return the class of the error that has a code: its own class or a base class."""
    return next(kind for kind in type(error).__mro__ if kind in CODES)


def _problem_of_batch(rejected: BatchRejected) -> Problem:
    """Return the problem of the first failed operation, with the details of all of them."""
    first = problem_of(rejected.failures[min(rejected.failures)])
    details = tuple(islice(_operation_details(rejected), MAX_VIOLATIONS))
    return problem(
        first.code,
        _BATCH_MESSAGE,
        reason=first.reason,
        limit=first.limit,
        used=first.used,
        details=details,
    )


def _operation_details(rejected: BatchRejected) -> Iterator[Mapping[str, object]]:
    """Yield the details of each failure, or one for the failure itself if it has none."""
    for index, error in sorted(rejected.failures.items()):
        kind = _kind_of(error)
        cause = {"pointer": "", "code": CODES[kind], "message": str(error), **_limits_of(error)}
        if kind in _REASONS:
            cause["reason"] = _REASONS[kind]
        for detail in _details_of(error) or (cause,):
            yield {**detail, "pointer": f"/operations/{index}{detail['pointer']}"}


def _details_of(error: RecipientFieldsError) -> tuple[Mapping[str, object], ...]:
    match error:
        case InvalidDocument():
            return _details(error.violations)
        case InvalidField():
            return _details([v.prefixed("recipient_field") for v in error.violations])
        case InvalidCondition():
            return _details([v.prefixed("condition") for v in error.violations])
        case InvalidContent():
            return _details([v.prefixed("content") for v in error.violations])
        case InvalidRecipient():
            return _details([v.prefixed("recipient") for v in error.violations])
        case NotExpressible():
            return _details([Violation(Rule.NOT_APPLICABLE, str(error), (error.member,))])
        case IntegrationNotFound() | IntegrationRequired() | MissingProfile():
            return _details([Violation(error.rule, str(error), ("integration_id",))])
        case KeyTaken():
            existing = {"existing_id": error.existing_id, "existing_key": error.key}
            return ({**_taken_key(error), **existing},)
        case KeyRepeated():
            return (_taken_key(error),)
        case _:
            return ()


def _taken_key(error: KeyTaken | KeyRepeated) -> Mapping[str, object]:
    return {
        "pointer": "/recipient_field/key",
        "code": "key_already_exists",
        "message": str(error),
    }


def _limits_of(error: RecipientFieldsError) -> dict[str, int]:
    match error:
        case FieldLimitReached(limit=limit):
            return {"limit": limit}
        case CatalogTooLarge(limit=limit, used=used):
            return {"limit": limit, "used": used}
        case _:
            return {}


def _headers_of(error: RecipientFieldsError) -> Mapping[str, str]:
    if isinstance(error, VersionConflict | CatalogChanged) and error.current is not None:
        return {"ETag": f'"{error.current}"'}
    return {}


def _details(violations: Sequence[Violation]) -> tuple[Mapping[str, object], ...]:
    return tuple(render_violation(violation) for violation in violations[:MAX_VIOLATIONS])
