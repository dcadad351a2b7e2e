"""What is answered: headers, refusals and their examples, for the published contract.

HTTP contract, sections 4 to 6. Statuses and codes are those of the table the service answers by.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias

from ..media_types import JSON
from ..problems import STATUSES, Problem, problem, render_error
from .schemas import Schema, ref

Answers: TypeAlias = dict[str, Any]

REQUEST_ID = "7f6c1f0e5b0d4d0c8a54f1e6c0a4b1d2"
"""The request id of every example."""

MEANINGS: Mapping[str, str] = {
    "invalid_json": "the body is not JSON as RFC 8259 has it, or nested deeper than 32",
    "invalid_parameter": "a query parameter or header is invalid, or a parameter is unknown",
    "malformed_request": "the HTTP framing can't be trusted; the connection is closed",
    "unauthorized": "the API key is missing, malformed, unknown, expired or revoked",
    "forbidden": "the field is not API-managed, or the key may only read; see `reason`",
    "not_found": "there is no such resource; another organization's field is none",
    "method_not_allowed": "the resource has no such method",
    "not_acceptable": "`Accept` admits nothing that can be answered",
    "request_timeout": "the request did not arrive in time",
    "key_already_exists": "the organization has a field with this key, of whatever origin",
    "field_limit_reached": "the organization has as many API-managed fields as it may have",
    "precondition_failed": "the field is not in the version that was expected",
    "payload_too_large": "the body is larger than 1 MiB",
    "uri_too_long": "the URL is too long",
    "unsupported_media_type": "the body is not sent as JSON in UTF-8 without a Content-Encoding",
    "validation_failed": "the body breaks rules; `details` lists all of them",
    "headers_too_large": "the headers are too large",
    "internal_error": "something went wrong in the service",
    "not_implemented": "the service does not implement what the request needs",
    "api_key_validation_unavailable": "keys can't be checked at the moment",
    "service_unavailable": "the storage of the fields does not answer",
    "overloaded": "the request waited too long to be worth starting",
}
"""When a code is answered, in the words of section 6."""


def _header(description: str, *, required: bool = True, **schema: Any) -> Schema:
    schema.setdefault("type", "string")
    return {"description": description, "required": required, "schema": schema}


HEADERS: Mapping[str, Schema] = {
    "X-Request-Id": _header(
        "The client's own id where it was well-formed, else one of the service's.",
        pattern="^[A-Za-z0-9._-]{1,64}$",
    ),
    "Cache-Control": _header(
        "How long the answer may be kept.",
        enum=["private, no-cache", "no-store", "no-cache"],
    ),
    "Vary": _header("What the answer depends on.", const="Authorization, Accept"),
    "ETag": _header("The version of what is answered: a strong entity tag.", pattern='^"[^"]+"$'),
    "Location": _header(
        "The absolute path of the field.", pattern="/api/v1/recipient_fields/[1-9][0-9]*$"
    ),
    "Total-Count": _header("The number of matches on all pages.", type="integer", minimum=0),
    "Link": _header(
        'The next page, as `<…>; rel="next"`; absent on the last.',
        required=False,
        pattern='^<[^<>]+>; rel="next"$',
    ),
    "Allow": _header("The methods of the resource.", pattern="^[A-Z]+(?:, [A-Z]+)*$"),
    "Retry-After": _header("Seconds to wait.", type="integer", minimum=1),
    "WWW-Authenticate": _header(
        "How to authenticate.",
        pattern='^Bearer realm="recipient-fields"(?:, error="invalid_token")?$',
    ),
    "Content-Security-Policy": _header("What the page may load: nothing from elsewhere."),
}

_EVERYWHERE = ("X-Request-Id", "Cache-Control")
_WITH_STATUS: Mapping[HTTPStatus, tuple[str, ...]] = {
    HTTPStatus.UNAUTHORIZED: ("WWW-Authenticate",),
    HTTPStatus.METHOD_NOT_ALLOWED: ("Allow",),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Retry-After",),
}
_WHERE_THERE_IS_A_FIELD = {HTTPStatus.PRECONDITION_FAILED: "ETag"}


def headers(*names: str) -> Schema:
    """The headers of an answer, beside those that every answer has."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*_EVERYWHERE, *names)}


def answer(description: str, *names: str, **content: Schema) -> Schema:
    """An answer with these headers, and no body unless `content` tells one."""
    return {"description": description, "headers": headers(*names), **content}


def json_content(schema: str, **examples: object) -> Schema:
    """A JSON body of that schema."""
    body: dict[str, Any] = {"schema": ref(schema)}
    if examples:
        body["examples"] = {name: {"value": value} for name, value in examples.items()}
    return {JSON: body}


def refusals(statuses: Iterable[int]) -> Answers:
    """The refusals with these statuses, by reference."""
    return {
        str(status): {"$ref": f"#/components/responses/{_name(HTTPStatus(status))}"}
        for status in sorted(statuses)
    }


def _name(status: HTTPStatus) -> str:
    return status.phrase.replace(" ", "").replace("-", "")


def _refusal(status: HTTPStatus) -> Schema:
    codes = [code for code, its_status in STATUSES.items() if its_status is status]
    told = {"code": {"enum": codes}}
    examples = [(name, shown) for name, shown in EXAMPLES.items() if shown.status is status]
    refusal = answer(
        f"{status.phrase}: {'; or '.join(f'`{code}`, {MEANINGS[code]}' for code in codes)}.",
        *_WITH_STATUS.get(status, ()),
        content={
            JSON: {
                "schema": {**ref("Error"), "properties": {"error": {"properties": told}}},
                "examples": {
                    name: {"value": json.loads(render_error(shown, REQUEST_ID))}
                    for name, shown in examples
                },
            },
        },
    )
    if status in _WHERE_THERE_IS_A_FIELD:
        tag = {**HEADERS["ETag"], "required": False, "description": "The current version."}
        refusal["headers"]["ETag"] = tag
    return refusal


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
            },
        ),
    ),
    "field_limit_reached": problem(
        "field_limit_reached",
        "The limit of 1,000 fields of this source is reached. Delete one that is not needed.",
    ),
    "precondition_failed": problem(
        "precondition_failed", "The field is not in the expected version. Read it again and retry."
    ),
    "payload_too_large": problem("payload_too_large"),
    "uri_too_long": problem("uri_too_long"),
    "unsupported_media_type": problem(
        "unsupported_media_type", "Send the body as application/json in UTF-8."
    ),
    "validation_failed": problem("validation_failed", details=_INVALID),
    "headers_too_large": problem("headers_too_large"),
    "internal_error": problem("internal_error"),
    "not_implemented": problem("not_implemented"),
    "api_key_validation_unavailable": problem("api_key_validation_unavailable"),
    "service_unavailable": problem("service_unavailable"),
    "overloaded": problem("overloaded"),
}
"""Each refusal once, word for word as the service answers it; `forbidden` for either reason."""

RESPONSES: Mapping[str, Schema] = {
    _name(status): _refusal(status) for status in sorted(set(STATUSES.values()))
}
"""The refusals, by their status's phrase."""
