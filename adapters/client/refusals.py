"""What a refusal means in the domain's words: the inverse of the service's table of errors.

HTTP contract, section 6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from recipient_fields.domain import (
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

from .connections import Answer
from .json_values import Json, NotAsAgreed

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e]+)"')
_LIMIT = re.compile(r"limit of ([0-9][0-9,]{0,19}) fields")
_INDEX = re.compile(r"0|[1-9][0-9]{0,6}")
_LONGEST_MESSAGE = 1_000


class RequestRefused(RecipientFieldsError):
    """The service does not take this request, for a reason that no use case knows: `code` tells it.

    Nothing has changed. One such reason is a field that is larger, as JSON, than the service reads.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code: str = code
        super().__init__(message)


@frozen
class Asked:
    """What a refusal doesn't repeat: which absence 404 tells of, and which key was to be taken."""

    absent: type[FieldNotFound | OrganizationNotFound]
    key: FieldKey | None = None


def code_of(answer: Answer) -> str | None:
    """The code of the refusal; None where it is none of the contract's."""
    try:
        return _error_of(answer)["code"].text()
    except NotAsAgreed:
        return None


def refusal(answer: Answer, asked: Asked) -> RecipientFieldsError:
    """The error that the refusal tells of, with its attributes and the request's id as a note."""
    try:
        told = _error_of(answer)
        error = _rebuilt(answer, told, asked)
    except NotAsAgreed:
        return StorageUnavailable(
            f"The service, or something before it, answers {answer.status} in a form that it is not"
            " known to use."
        )
    request_id = told.find("request_id")
    if request_id is not None and _REQUEST_ID.fullmatch(str(request_id.value)):
        error.add_note(f"Request id: {request_id.value}")
    return error


def version_of(answer: Answer) -> str | None:
    """The version that `ETag` names; None where it names none."""
    tag = _TAG.fullmatch(answer.headers.get("ETag", ""))
    return None if tag is None else tag[1]


def _error_of(answer: Answer) -> Json:
    return Json.of(answer)["error"]


def _rebuilt(answer: Answer, told: Json, asked: Asked) -> RecipientFieldsError:
    code, message = told["code"].text(), told["message"].text()[:_LONGEST_MESSAGE]
    if code in _FAILURES:
        return _FAILURES[code](message)
    match code:
        case "validation_failed":
            return InvalidField([_violation(each) for each in told["details"].items()])
        case "not_found":
            return asked.absent()
        case "forbidden":
            return _forbidden(told, message)
        case "key_already_exists" if asked.key is not None:
            holder = told["details"].first()["existing_id"].integer()
            return KeyTaken(asked.key, FieldId(holder))
        case "field_limit_reached":
            limit = _LIMIT.search(message)
            return FieldLimitReached(0 if limit is None else int(limit[1].replace(",", "")))
        case "precondition_failed":
            return VersionConflict(version_of(answer), message)
        case "unauthorized":
            return KeyRefused()
    if answer.status < 500 or answer.status == 501:
        return RequestRefused(code, message)
    return StorageUnavailable(message)


_FAILURES: Mapping[str, Callable[[str], RecipientFieldsError]] = {
    "internal_error": StorageUnavailable,
    "service_unavailable": StorageUnavailable,
    "overloaded": StorageUnavailable,
    "request_timeout": StorageUnavailable,
    "api_key_validation_unavailable": KeyValidationUnavailable,
}
"""What may be over later."""


def _forbidden(told: Json, message: str) -> RecipientFieldsError:
    if told["reason"].text() == "insufficient_scope":
        return InsufficientAccess()
    return OperationForbidden(message)


def _violation(told: Json) -> Violation:
    suggestion = told.find("suggestion")
    return Violation(
        _rule(told["code"].text()),
        told["message"].text(),
        _path(told["pointer"].text()),
        None if suggestion is None else suggestion.text(),
    )


def _rule(code: str) -> Rule:
    """The rule of that code; `format` stands for those that later services may add."""
    return Rule(code) if code in Rule._value2member_map_ else Rule.FORMAT


def _path(pointer: str) -> tuple[str | int, ...]:
    """Where the pointer (RFC 6901) leads from the field. Below a member, digits are an index."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[2:]]
    path: list[Any] = steps[:1]
    path += [int(step) if _INDEX.fullmatch(step) else step for step in steps[1:]]
    return tuple(path)
