"""What the methods of resources do.

The request guard enforces these declarations, and the OpenAPI document shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from attrs import Factory, frozen

from recipient_fields.application.documents.schemas import Schema, docstring
from recipient_fields.domain import RecipientFieldsError

from .media_types import JSON

M = TypeVar("M", bound=Callable[..., None])

EXAMPLE_REQUEST_ID = "7f6c1f0e5b0d4d0c8a54f1e6c0a4b1d2"
"""The request id of every example."""


@frozen
class Tag:
    """A group of operations."""

    name: str
    description: str


@frozen(kw_only=True)
class PathParameter:
    """A part of the path. `name` is the one that the document shows."""

    name: str
    description: str
    schema: object
    examples: Mapping[str, object] = Factory(dict)


@frozen(kw_only=True)
class Body:
    """A JSON body that a request must have."""

    document: type
    media_types: tuple[str, ...] = (JSON,)
    examples: Mapping[str, object] = Factory(dict)


@frozen(kw_only=True)
class Result:
    """A successful response.

    `document` is the class of the body or its schema, or None if there is no body. `headers` are
    those that do not follow from the method and the status.
    """

    description: str
    document: object = None
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[str, ...] = ()
    examples: Mapping[str, object] = Factory(dict)
    links: Schema = Factory(dict)


@frozen(kw_only=True)
class Operation:
    """A method of a resource.

    `name` is unique: generated clients use it. If the operation `is_conditional`, it respects
    `If-Match` and `If-None-Match`. `headers` are the other headers of the request. `errors` are
    those that do not follow from the path, the method and the body.
    """

    name: str
    summary: str
    description: str
    tag: Tag
    results: tuple[Result, ...]
    body: Body | None
    is_conditional: bool
    headers: tuple[str, ...]
    errors: tuple[type[RecipientFieldsError], ...]


def operation(
    name: str,
    tag: Tag,
    *results: Result,
    body: Body | None = None,
    is_conditional: bool = False,
    headers: tuple[str, ...] = (),
    errors: tuple[type[RecipientFieldsError], ...] = (),
) -> Callable[[M], M]:
    """Declare the operation of a method.

    The first paragraph of the method's docstring is the summary, the others are the description.
    """

    def declare(method: M) -> M:
        summary, description = docstring(method)
        method.operation = Operation(  # type: ignore[attr-defined]
            name=name,
            summary=summary.removesuffix("."),
            description=description,
            tag=tag,
            results=results,
            body=body,
            is_conditional=is_conditional,
            headers=headers,
            errors=errors,
        )
        return method

    return declare


def operations_of(resource: type, methods: tuple[str, ...]) -> Mapping[str, Operation]:
    """Return the declared operations of the class by HTTP method."""
    handlers: dict[str, Any] = {name: getattr(resource, f"on_{name.lower()}") for name in methods}
    return {
        name: handler.operation
        for name, handler in handlers.items()
        if hasattr(handler, "operation")
    }
