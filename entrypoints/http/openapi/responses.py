"""The responses of the OpenAPI document: headers, errors and their examples.

HTTP contract, sections 4 to 6. Statuses and codes are those of `problems`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias

from recipient_fields.domain import BatchRejected, FieldId, FieldKey, FieldNotFound, KeyTaken

from ..media_types import JSON
from ..problems import STATUSES, Problem, problem, problem_of, render_error
from .schemas import Schema, ref

Responses: TypeAlias = dict[str, Any]

REQUEST_ID = "7f6c1f0e5b0d4d0c8a54f1e6c0a4b1d2"
"""The request id of every example."""

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
    "not_implemented": "the service does not support the transfer coding of the request",
    "api_key_validation_unavailable": "API keys can't be checked at the moment",
    "service_unavailable": "the storage does not respond",
    "overloaded": "the request waited too long for a thread, or too many are large",
}
"""The cause of each error code (section 6)."""


def _header(description: str, *, required: bool = True, **schema: Any) -> Schema:
    schema.setdefault("type", "string")
    return {"description": description, "required": required, "schema": schema}


HEADERS: Mapping[str, Schema] = {
    "X-Request-Id": _header(
        "The id that the client has sent, if it is well-formed. Otherwise one of the service.",
        pattern="^[A-Za-z0-9._-]{1,64}$",
    ),
    "Cache-Control": _header(
        "Whether caches may store the response.",
        enum=["private, no-cache", "no-store", "no-cache"],
    ),
    "Vary": _header("The headers that the response depends on.", const="Authorization, Accept"),
    "ETag": _header("The version of the resource: a strong entity tag.", pattern='^"[^"]+"$'),
    "Location": _header(
        "The absolute path of the field.", pattern="/api/v1/recipient_fields/[1-9][0-9]*$"
    ),
    "Total-Count": _header("The number of fields on all pages.", type="integer", minimum=0),
    "Link": _header(
        'The next page, as `<…>; rel="next"`; absent on the last page.',
        required=False,
        pattern='^<[^<>]+>; rel="next"$',
    ),
    "Allow": _header("The methods of the resource.", pattern="^[A-Z]+(?:, [A-Z]+)*$"),
    "Retry-After": _header("Seconds to wait.", type="integer", minimum=1),
    "WWW-Authenticate": _header(
        "How to authenticate.",
        pattern='^Bearer realm="recipient-fields"(?:, error="invalid_token")?$',
    ),
    "Content-Security-Policy": _header("Allows the page to load resources of this service only."),
}

_EVERYWHERE = ("X-Request-Id", "Cache-Control")
_WITH_STATUS: Mapping[HTTPStatus, tuple[str, ...]] = {
    HTTPStatus.UNAUTHORIZED: ("WWW-Authenticate",),
    HTTPStatus.METHOD_NOT_ALLOWED: ("Allow",),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Retry-After",),
}
_WITH_CURRENT_VERSION = {HTTPStatus.PRECONDITION_FAILED: "ETag"}


def headers(*names: str) -> Schema:
    """Return these headers, and those that every response has."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*_EVERYWHERE, *names)}


def response(description: str, *names: str, **content: Schema) -> Schema:
    """Return a response with these headers. It has no body unless `content` describes one."""
    return {"description": description, "headers": headers(*names), **content}


def json_content(schema: str, **examples: object) -> Schema:
    """Return a JSON body with this schema."""
    body: dict[str, Any] = {"schema": ref(schema)}
    if examples:
        body["examples"] = {name: {"value": value} for name, value in examples.items()}
    return {JSON: body}


def error_responses(statuses: Iterable[int]) -> Responses:
    """Return references to the error responses with these statuses."""
    return {
        str(status): {"$ref": f"#/components/responses/{_name(HTTPStatus(status))}"}
        for status in sorted(statuses)
    }


def _name(status: HTTPStatus) -> str:
    return status.phrase.replace(" ", "").replace("-", "")


def _error_response(status: HTTPStatus) -> Schema:
    codes = [code for code, code_status in STATUSES.items() if code_status is status]
    code_schema = {"code": {"enum": codes}}
    examples = [(name, example) for name, example in EXAMPLES.items() if example.status is status]
    error_response = response(
        f"{status.phrase}: {'; or '.join(f'`{code}`, {MEANINGS[code]}' for code in codes)}.",
        *_WITH_STATUS.get(status, ()),
        content={
            JSON: {
                "schema": {**ref("Error"), "properties": {"error": {"properties": code_schema}}},
                "examples": {
                    name: {"value": json.loads(render_error(example, REQUEST_ID))}
                    for name, example in examples
                },
            },
        },
    )
    if status in _WITH_CURRENT_VERSION:
        tag = {**HEADERS["ETag"], "required": False, "description": "The current version."}
        error_response["headers"]["ETag"] = tag
    return error_response


_INVALID = (
    {
        "pointer": "/recipient_field/data_type",
        "code": "required",
        "message": "Send this member.",
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

EXAMPLES: Mapping[str, Problem] = {
    "invalid_json": problem("invalid_json", "The document is not JSON: line 1, column 21."),
    "invalid_parameter": problem(
        "invalid_parameter", "Invalid value for `limit`: use a number from 1 to 1000."
    ),
    "malformed_request": problem("malformed_request"),
    "unauthorized": problem("unauthorized"),
    "field_not_api_managed": problem(
        "forbidden",
        "Manual fields are changed by administrators, in the web application or on the command "
        "line, not through the API.",
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
    "method_not_allowed": problem("method_not_allowed"),
    "not_acceptable": problem("not_acceptable"),
    "request_timeout": problem("request_timeout"),
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
    "field_limit_reached": problem(
        "field_limit_reached",
        "The limit of 1,000 fields of this source is reached. Delete one that is not needed.",
    ),
    "precondition_failed": problem(
        "precondition_failed", "The field is not in the expected version. Read it again and retry."
    ),
    "payload_too_large": problem(
        "payload_too_large", "The request body is larger than 1 MiB. Send less."
    ),
    "uri_too_long": problem("uri_too_long"),
    "unsupported_media_type": problem(
        "unsupported_media_type", "Send the body as application/json in UTF-8."
    ),
    "validation_failed": problem("validation_failed", details=_INVALID),
    "not_expressible": problem(
        "not_expressible", "loyalty_tier: this field has no value expression."
    ),
    "headers_too_large": problem("headers_too_large"),
    "internal_error": problem("internal_error"),
    "not_implemented": problem("not_implemented"),
    "api_key_validation_unavailable": problem("api_key_validation_unavailable"),
    "service_unavailable": problem("service_unavailable"),
    "overloaded": problem("overloaded"),
}
"""One example of each error, exactly as the service sends it, one of each reason, and a batch."""

RESPONSES: Mapping[str, Schema] = {
    _name(status): _error_response(status) for status in sorted(set(STATUSES.values()))
}
"""The error responses, by the phrases of their statuses."""
