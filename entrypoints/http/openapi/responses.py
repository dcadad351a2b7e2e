"""The headers and the error responses of the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from recipient_fields.application.documents.schemas import Schema, SchemaGenerator

from ..media_types import JSON
from ..operations import EXAMPLE_REQUEST_ID
from ..problem_examples import EXAMPLES
from ..problems import MEANINGS, STATUSES, ErrorDocument, render_error


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
    "Preference-Applied": _header(
        "`return=minimal` if the response contains ids and keys instead of the fields.",
        required=False,
        const="return=minimal",
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
        pattern=(
            '^Bearer realm="recipient-fields"'
            '(?:, error="invalid_token"(?:, error_description="[^"]+")?)?$'
        ),
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


def error_references(statuses: Iterable[HTTPStatus]) -> Schema:
    """Return references to the error responses with these statuses."""
    return {
        str(status.value): {"$ref": f"#/components/responses/{_name(status)}"}
        for status in sorted(set(statuses))
    }


def _name(status: HTTPStatus) -> str:
    return status.phrase.replace(" ", "").replace("-", "")


def error_responses(generator: SchemaGenerator) -> Schema:
    """Return the error responses, by the phrases of their statuses."""
    statuses = sorted(set(STATUSES.values()))
    return {_name(status): _error_response(status, generator) for status in statuses}


def _error_response(status: HTTPStatus, generator: SchemaGenerator) -> Schema:
    codes = [code for code, code_status in STATUSES.items() if code_status is status]
    code_schema = {"code": {"enum": codes}}
    examples = [(name, example) for name, example in EXAMPLES.items() if example.status is status]
    error_response = response(
        f"{status.phrase}: {'; or '.join(f'`{code}`, {MEANINGS[code]}' for code in codes)}.",
        *_WITH_STATUS.get(status, ()),
        content={
            JSON: {
                "schema": {
                    **generator.schema(ErrorDocument),
                    "properties": {"error": {"properties": code_schema}},
                },
                "examples": {
                    name: {"value": json.loads(render_error(example, EXAMPLE_REQUEST_ID))}
                    for name, example in examples
                },
            },
        },
    )
    if status in _WITH_CURRENT_VERSION:
        tag = {**HEADERS["ETag"], "required": False, "description": "The current version."}
        error_response["headers"]["ETag"] = tag
    return error_response
