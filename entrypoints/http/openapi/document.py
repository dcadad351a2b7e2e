"""The OpenAPI 3.1 document, from the routes of the application and the declared operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from recipient_fields.application.documents.schemas import Schema, SchemaGenerator
from recipient_fields.application.documents.value_schemas import schema_generator

from ..problem_examples import EXAMPLES
from ..problems import CODES, MEANINGS, STATUSES, ErrorDocument, render_error
from ..requests import PRECONDITION
from ..resource import (
    EXAMPLE_REQUEST_ID,
    JSON,
    PROTECTED_PREFIX,
    READS,
    Body,
    Operation,
    PathParameter,
    Resource,
    Result,
    Tag,
)


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


_DESCRIPTION = """\
Recipient fields are named attributes that email teams personalize content with. This API lists
and reads all fields of an organization, and creates, updates and deletes those that are managed
through it (`source` is `api`).

Every request under `/api/` requires an organization API key: `Authorization: Bearer <API_KEY>`.
Keys are for servers: there is no CORS. Every error is an error object with a `code` for programs
and a `message` for people.

Within `/api/v1`, changes only add members, parameters and enum values. Clients must tolerate them.
The service rejects unknown query parameters.
"""
_METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
"""The document omits `HEAD` and `OPTIONS`, which every path supports: a generated client would have
a method for each of them."""

_PART = re.compile(r"{(\w+)}")

_ERRORS_OF_ALL = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.NOT_IMPLEMENTED,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_HEADER_PARAMETERS: Mapping[str, Schema] = {
    "RequestId": {
        "name": "X-Request-Id",
        "in": "header",
        "description": (
            "The id of the request. The response has the same id if it matches "
            "`[A-Za-z0-9._-]{1,64}`. Otherwise, the service generates one."
        ),
        "schema": str,
    },
    "Prefer": {
        "name": "Prefer",
        "in": "header",
        "description": (
            "`return=minimal` leaves the fields out of the response (RFC 7240). Other preferences "
            "have no effect."
        ),
        "schema": str,
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "description": "The `ETag` that the field must have. Otherwise the response is 412.",
        "schema": PRECONDITION,
    },
    "UnlessMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": (
            "The response is 412 if the field has this `ETag` or, with `*`, if the field exists."
        ),
        "schema": PRECONDITION,
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "The `ETag` of the client's version. The response is 304 if it is current.",
        "schema": PRECONDITION,
    },
}


def document(routes: Mapping[str, Resource], mount_path: str = "") -> dict[str, Any]:
    """Return the OpenAPI document of an application that is mounted at this path.

    `routes` contains its resources by the templates of their paths.
    """
    generator = schema_generator("#/components/schemas/")
    documented = {path: resource for path, resource in routes.items() if resource.operations}
    operations = [each for r in documented.values() for each in r.operations.values()]
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Recipient Fields",
            "version": version("recipient-fields"),
            "summary": "Definitions of the recipient fields that email teams personalize with.",
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": mount_path or "/"}],
        "security": [{"api_key": []}],
        "tags": _tags(each.tag for each in operations),
        "paths": {
            _path(template, resource): _path_item(template, resource, generator)
            for template, resource in documented.items()
        },
        "components": {
            "parameters": generator.schema(_HEADER_PARAMETERS),
            "headers": HEADERS,
            "responses": error_responses(generator),
            "schemas": generator.definitions,
            "securitySchemes": {
                "api_key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An organization API key: `rfk_` and 38 letters and digits.",
                }
            },
        },
    }


def _tags(tags: Iterable[Tag]) -> list[Schema]:
    return [{"name": tag.name, "description": tag.description} for tag in dict.fromkeys(tags)]


def _path(template: str, resource: Resource) -> str:
    """Return the path with the names that the document shows."""
    return _PART.sub(lambda part: f"{{{resource.path_parameters[part[1]].name}}}", template)


def _parts(template: str, resource: Resource) -> list[PathParameter]:
    return [resource.path_parameters[name] for name in _PART.findall(template)]


def _path_item(template: str, resource: Resource, generator: SchemaGenerator) -> Schema:
    parts = [_path_parameter(each, generator) for each in _parts(template, resource)]
    operations = {
        method.lower(): _operation(template, method, resource, generator)
        for method in _METHODS
        if method in resource.operations
    }
    return {"parameters": [*parts, _header_parameter("RequestId")], **operations}


def _operation(
    path: str, method: str, resource: Resource, generator: SchemaGenerator
) -> dict[str, Any]:
    operation = resource.operations[method]
    parameters = [
        *(_query_parameters(resource, generator) if method in READS else ()),
        *_preconditions(method, operation),
    ]
    described: dict[str, Any] = {
        "summary": operation.summary,
        "tags": [operation.tag.name],
        "operationId": operation.name,
        "responses": {
            **_results(path, method, resource, generator),
            **error_references(_errors(path, method, resource)),
        },
    }
    if operation.description:
        described["description"] = operation.description
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = _body(operation.body, generator)
    if not path.startswith(PROTECTED_PREFIX):
        described["security"] = []
    return described


def _errors(path: str, method: str, resource: Resource) -> Iterator[HTTPStatus]:
    """Yield the statuses of the errors that the operation can send."""
    operation = resource.operations[method]
    yield from _ERRORS_OF_ALL
    if path.startswith(PROTECTED_PREFIX):
        yield HTTPStatus.UNAUTHORIZED
    if resource.needs_write_access(path, method):
        yield HTTPStatus.FORBIDDEN
    if _parts(path, resource):
        yield HTTPStatus.NOT_FOUND
    if operation.is_conditional and method not in READS:
        yield HTTPStatus.PRECONDITION_FAILED
    if operation.body is not None:
        yield from (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, HTTPStatus.UNPROCESSABLE_ENTITY)
    for error in operation.errors:
        yield STATUSES[CODES[error]]


def _results(path: str, method: str, resource: Resource, generator: SchemaGenerator) -> Schema:
    operation = resource.operations[method]
    responses = {}
    for result in operation.results:
        names = _headers(path, method, operation, result)
        responses[str(result.status.value)] = _result(result, names, resource, generator)
        if operation.is_conditional and method in READS:
            responses["304"] = {
                "description": "The client's version is current.",
                "headers": headers(*names),
            }
    return responses


def _headers(path: str, method: str, operation: Operation, result: Result) -> tuple[str, ...]:
    names = list(result.headers)
    if path.startswith(PROTECTED_PREFIX):
        names.append("Vary")
    if operation.is_conditional and method in READS:
        names.append("ETag")
    if result.status is HTTPStatus.CREATED:
        names.append("Location")
    return tuple(names)


def _result(
    result: Result, names: tuple[str, ...], resource: Resource, generator: SchemaGenerator
) -> Schema:
    described: dict[str, Any] = {"description": result.description, "headers": headers(*names)}
    if result.document is not None:
        media_type = resource.media_types[0]
        described["content"] = {
            media_type: _content(generator.schema(result.document), result.examples)
        }
    if result.links:
        described["links"] = result.links
    return described


def _body(body: Body, generator: SchemaGenerator) -> Schema:
    schema = generator.for_requests().schema(body.document)
    first, *others = body.media_types
    content = {first: _content(schema, body.examples)}
    content |= {media_type: {"schema": schema} for media_type in others}
    return {"required": True, "content": content}


def _content(schema: Schema, examples: Mapping[str, object]) -> Schema:
    """Return a body with this schema."""
    shown = {name: {"value": value} for name, value in examples.items()}
    return {"schema": schema, "examples": shown} if shown else {"schema": schema}


def _path_parameter(parameter: PathParameter, generator: SchemaGenerator) -> Schema:
    return {
        "name": parameter.name,
        "in": "path",
        "required": True,
        "description": parameter.description,
        "schema": generator.schema(parameter.schema),
        "examples": {name: {"value": value} for name, value in parameter.examples.items()},
    }


def _query_parameters(resource: Resource, generator: SchemaGenerator) -> list[Schema]:
    return [
        {
            "name": name,
            "in": "query",
            "description": parameter.description,
            "schema": generator.schema(parameter.schema),
        }
        for name, parameter in resource.parameters.items()
    ]


def _preconditions(method: str, operation: Operation) -> list[Schema]:
    names = operation.headers
    if operation.is_conditional:
        names += ("IfNoneMatch",) if method in READS else ("IfMatch", "UnlessMatch")
    return [_header_parameter(name) for name in names]


def _header_parameter(name: str) -> Schema:
    return {"$ref": f"#/components/parameters/{name}"}
