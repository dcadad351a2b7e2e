"""The conversion of error responses to the errors of the domain (*Errors* in docs/http-api.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from attrs import evolve, frozen

from recipient_fields.application import InvalidDocument
from recipient_fields.application.documents.conversion import parse_document
from recipient_fields.domain import (
    Batch,
    BatchOperation,
    BatchRejected,
    BeforeHistory,
    CatalogChanged,
    CatalogTooLarge,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    HistoryRemoved,
    InsufficientAccess,
    InvalidField,
    KeyRefused,
    KeyRepeated,
    KeyTaken,
    KeyValidationUnavailable,
    OperationForbidden,
    OrganizationNotFound,
    RecipientFieldsError,
    StorageUnavailable,
    VersionConflict,
)
from recipient_fields.domain.conditions import (
    InvalidCondition,
    InvalidRecipient,
)
from recipient_fields.domain.content import InvalidContent
from recipient_fields.domain.esp import MissingProfile, NotExpressible
from recipient_fields.domain.integrations import IntegrationNotFound, IntegrationRequired

from ..network import Response, describe
from .responses import Detail, invalid_response, read_document, version_of

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_EXPLANATION = re.compile(r'error_description="([^"]{1,200})"')
_OPERATION = re.compile(r"/operations/(0|[1-9][0-9]{0,6})((?:/.*)?)", re.DOTALL)
_MAX_MESSAGE = 1_000
_INTEGRATION_ERRORS = {
    each.rule.value: each for each in (IntegrationNotFound, IntegrationRequired, MissingProfile)
}

NotFound: TypeAlias = type[FieldNotFound | OrganizationNotFound]


class RequestRefused(RecipientFieldsError):
    """The service rejects the request with a `code` for which there is no other error.

    The request changed nothing. An example is a batch that exceeds 1 MiB as JSON.
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
    limit: object = None
    used: object = None
    details: object = None


@frozen
class _ErrorDocument:
    error: _Error


def code_of(response: Response) -> str | None:
    """Return the code of an error response, or None if it does not match the contract."""
    try:
        return read_document(response, _ErrorDocument).error.code
    except StorageUnavailable:
        return None


def error_of(
    response: Response, not_found: NotFound, batch: Batch | None = None
) -> RecipientFieldsError:
    """Return the error for the response, with the request id as a note.

    `not_found` is the error for a 404: depending on the request, the field or the organization does
    not exist. `batch` is the batch of the request, if it has one.
    """
    try:
        error = read_document(response, _ErrorDocument).error
        converted = _convert(response, error, not_found, batch)
    except (InvalidDocument, StorageUnavailable):
        return StorageUnavailable(
            f"The service, or a proxy in front of it, {describe(response.status)}, without a valid"
            " error document."
        )
    if isinstance(error.request_id, str) and _REQUEST_ID.fullmatch(error.request_id):
        converted.add_note(f"Request id: {error.request_id}")
    return converted


def _convert(
    response: Response, error: _Error, not_found: NotFound, batch: Batch | None
) -> RecipientFieldsError:
    code, message = error.code, error.message[:_MAX_MESSAGE]
    if batch is not None:
        rejection = _batch_rejection(response, error, batch)
        if rejection is not None:
            return rejection
    match code:
        case "validation_failed":
            return _invalid_input(error.code, _details(error))
        case "not_expressible":
            return _not_expressible(_details(error), message)
        case "not_found":
            return BeforeHistory(message) if error.reason == "before_history" else not_found()
        case "forbidden":
            return _forbidden(error, message)
        case "key_already_exists":
            return _key_taken(_details(error))
        case "field_limit_reached":
            return _limit_reached(error.limit)
        case "history_removed":
            return HistoryRemoved()
        case "catalog_too_large":
            return _catalog_too_large(error.limit, error.used)
        case "precondition_failed":
            return VersionConflict(version_of(response), message)
        case "unauthorized":
            return _key_refused(response)
        case "api_key_validation_unavailable":
            return KeyValidationUnavailable(message)
        case "request_timeout":
            return StorageUnavailable(message)
    if response.status < 500 or response.status == 501:
        return RequestRefused(code, message)
    return StorageUnavailable(message)


def _batch_rejection(
    response: Response, error: _Error, batch: Batch
) -> RecipientFieldsError | None:
    """Return the error that only a batch can have, or None if its error is that of any request."""
    details = [] if error.details is None else _details(error)
    by_operation: dict[int, list[Detail]] = {}
    for detail in details:
        match = _OPERATION.fullmatch(detail.pointer)
        if match is None:
            return RequestRefused(error.code, str(_invalid_field(details))[:_MAX_MESSAGE])
        of_operation = evolve(detail, pointer=match[2])
        by_operation.setdefault(int(match[1]), []).append(of_operation)
    if by_operation:
        if max(by_operation) >= len(batch.operations):
            raise invalid_response("its details have an operation that the batch does not have")
        return BatchRejected(
            {n: _failure(each, batch.operations[n]) for n, each in by_operation.items()}
        )
    if error.code != "precondition_failed":
        return None
    current = version_of(response)
    if current is None:
        raise invalid_response("its ETag is not that of a catalog")
    return CatalogChanged(current)


def _failure(details: Sequence[Detail], operation: BatchOperation) -> RecipientFieldsError:
    """Return the error of one operation of a batch."""
    first = details[0]
    match first.code:
        case "not_found":
            return FieldNotFound()
        case "forbidden":
            return OperationForbidden(first.message)
        case "key_already_exists" if first.existing_id is None:
            return KeyRepeated(FieldKey(str(operation.reference)))
        case "key_already_exists":
            return _key_taken(details)
        case "field_limit_reached":
            return _limit_reached(first.limit)
        case "catalog_too_large":
            return _catalog_too_large(first.limit, first.used)
        case "precondition_failed":
            return VersionConflict(None, first.message)
    if first.pointer == "/reference":  # No field can have such an id or key.
        return FieldNotFound()
    return _invalid_field(details)


def _key_refused(response: Response) -> KeyRefused:
    challenge = response.headers.get("WWW-Authenticate", "")
    explanation = _EXPLANATION.search(challenge)
    return KeyRefused() if explanation is None else KeyRefused(explanation[1])


def _forbidden(error: _Error, message: str) -> RecipientFieldsError:
    if not isinstance(error.reason, str):
        raise invalid_response("it has no reason")
    if error.reason == "insufficient_scope":
        return InsufficientAccess()
    return OperationForbidden(message)


_TARGETS = {"from", "to"}


def _details(error: _Error) -> list[Detail]:
    return parse_document(error.details, list[Detail], ignore_unknown=True)


def _key_taken(details: Sequence[Detail]) -> KeyTaken:
    detail = next(iter(details), None)
    if detail is None or detail.existing_key is None or detail.existing_id is None:
        raise invalid_response("its details have no existing field")
    return KeyTaken(detail.existing_key, detail.existing_id, detail.message)


def _limit_reached(limit: object) -> FieldLimitReached:
    """Return the error with the limit, or with 0 if an older service does not send it."""
    return FieldLimitReached(limit if isinstance(limit, int) else 0)


def _catalog_too_large(limit: object, used: object) -> CatalogTooLarge:
    if not isinstance(limit, int) or not isinstance(used, int):
        raise invalid_response("it has no limit or no used bytes")
    return CatalogTooLarge(limit, used)


def _invalid_input(code: str, details: Sequence[Detail]) -> RecipientFieldsError:
    """Return the error for the member of the body that the details are about."""
    members = {_member(each) for each in details}
    match members.pop() if len(members) == 1 else None:
        case "recipient_field" | "":
            return _invalid_field(details)
        case "content":
            return InvalidContent([detail.to_located_violation() for detail in details])
        case "condition":
            return InvalidCondition([detail.to_violation() for detail in details])
        case "recipient":
            return InvalidRecipient([detail.to_violation() for detail in details])
        case "integration_id":
            error = _INTEGRATION_ERRORS.get(details[0].code, IntegrationNotFound)
            return error(details[0].message)
    return RequestRefused(code, str(_invalid_field(details))[:_MAX_MESSAGE])


def _not_expressible(details: Sequence[Detail], message: str) -> NotExpressible:
    if not details:
        raise invalid_response("its details are empty")
    return NotExpressible(message, _member(details[0]))


def _member(detail: Detail) -> str:
    """Return the member of the body that the detail is about, or an empty text.

    The targets of a conversion have members themselves.
    """
    first, _, others = detail.pointer[1:].partition("/")
    return others if others and first in _TARGETS else first


def _invalid_field(details: Sequence[Detail]) -> InvalidField:
    return InvalidField([detail.to_violation() for detail in details])
