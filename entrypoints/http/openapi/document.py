"""The OpenAPI 3.1 document, from the routes of the application and the declared operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from recipient_fields.application.documents.schemas import Schema, SchemaGenerator
from recipient_fields.application.documents.value_schemas import schema_generator

from ..operations import Body, Operation, PathParameter, Result, Tag
from ..preconditions import PRECONDITION
from ..problems import CODES, STATUSES
from ..resource import PROTECTED_PREFIX, READS, Resource
from .responses import HEADERS, error_references, error_responses, headers

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
