"""The conversion of error responses to the errors of the domain (HTTP contract, section 6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from recipient_fields.application import InvalidDocument
from recipient_fields.application.conversion import parse_document
from recipient_fields.domain import (
    BeforeHistory,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    InsufficientAccess,
    InvalidField,
    KeyRefused,
    KeyTaken,
    KeyValidationUnavailable,
    OperationForbidden,
    OrganizationNotFound,
    RecipientFieldsError,
    Rule,
    StorageUnavailable,
    VersionConflict,
    Violation,
)

from .connections import Response
from .responses import InvalidResponse, read_document, version_of

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LIMIT = re.compile(r"limit of ([0-9][0-9,]{0,19}) fields")
_INDEX = re.compile(r"0|[1-9][0-9]{0,6}")
_MAX_MESSAGE = 1_000

NotFound: TypeAlias = type[FieldNotFound | OrganizationNotFound]


class RequestRefused(RecipientFieldsError):
    """The service rejects the request with a `code` for which there is no other error.

    The request changed nothing. An example is a field that exceeds 1 MiB as JSON.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code: str = code
        super().__init__(message)


@frozen
class _Error:
    code: str
    message: str
    reason: object = None
    request_id: object = None
    details: object = None


@frozen
class _ErrorDocument:
    error: _Error


@frozen
class _Detail:
    pointer: str
    code: str
    message: str
    suggestion: str | None = None


@frozen
class _Conflict:
    existing_id: FieldId
    existing_key: FieldKey


def code_of(response: Response) -> str | None:
    """Return the code of an error response, or None if it does not match the contract."""
    try:
        return read_document(response, _ErrorDocument).error.code
    except InvalidResponse:
        return None


def error_of(response: Response, not_found: NotFound) -> RecipientFieldsError:
    """Return the error for the response, with the request id as a note.

    `not_found` is what a 404 means: whether the field or the organization does not exist depends on
    the request.
    """
    try:
        error = read_document(response, _ErrorDocument).error
        converted = _convert(response, error, not_found)
    except (InvalidDocument, InvalidResponse):
        return StorageUnavailable(
            f"The service, or a proxy in front of it, sent status {response.status} without a valid"
            " error document."
        )
    if isinstance(error.request_id, str) and _REQUEST_ID.fullmatch(error.request_id):
        converted.add_note(f"Request id: {error.request_id}")
    return converted


def _convert(response: Response, error: _Error, not_found: NotFound) -> RecipientFieldsError:
    code, message = error.code, error.message[:_MAX_MESSAGE]
    if code in _FAILURES:
        return _FAILURES[code](message)
    match code:
        case "validation_failed":
            details = parse_document(error.details, list[_Detail], ignore_unknown=True)
            return InvalidField([_violation(detail) for detail in details])
        case "not_found":
            return BeforeHistory() if error.reason == "before_history" else not_found()
        case "forbidden":
            return _forbidden(error, message)
        case "key_already_exists":
            conflicts = parse_document(error.details, list[_Conflict], ignore_unknown=True)
            if not conflicts:
                raise InvalidResponse("its details are empty")
            return KeyTaken(conflicts[0].existing_key, conflicts[0].existing_id)
        case "field_limit_reached":
            limit = _LIMIT.search(message)
            return FieldLimitReached(0 if limit is None else int(limit[1].replace(",", "")))
        case "precondition_failed":
            return VersionConflict(version_of(response), message)
        case "unauthorized":
            return KeyRefused()
    if response.status < 500 or response.status == 501:
        return RequestRefused(code, message)
    return StorageUnavailable(message)


_FAILURES: Mapping[str, Callable[[str], RecipientFieldsError]] = {
    "internal_error": StorageUnavailable,
    "service_unavailable": StorageUnavailable,
    "overloaded": StorageUnavailable,
    "request_timeout": StorageUnavailable,
    "api_key_validation_unavailable": KeyValidationUnavailable,
}
"""The errors that can be temporary."""


def _forbidden(error: _Error, message: str) -> RecipientFieldsError:
    if not isinstance(error.reason, str):
        raise InvalidResponse("it has no reason")
    if error.reason == "insufficient_scope":
        return InsufficientAccess()
    return OperationForbidden(message)


def _violation(detail: _Detail) -> Violation:
    try:
        rule = Rule(detail.code)
    except ValueError:  # A later version of the service has added the code.
        rule = Rule.FORMAT
    return Violation(rule, detail.message, _path(detail.pointer), detail.suggestion)


def _path(pointer: str) -> tuple[str | int, ...]:
    """Return the path in a JSON pointer, without the root. Below a member, digits are an index."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[2:]]
    path: list[Any] = steps[:1]
    path += [int(step) if _INDEX.fullmatch(step) else step for step in steps[1:]]
    return tuple(path)
