"""The base class of all resources, and the declarations of their methods and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

import falcon
from attrs import Factory, frozen
from falcon import Request, Response

from recipient_fields.application.documents.schemas import Schema, docstring
from recipient_fields.application.documents.value_schemas import NEW_KEY
from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import FieldKey, IntegrationId, RecipientFieldsError, Source

M = TypeVar("M", bound=Callable[..., None])

JSON = "application/json"
JSON_SCHEMA = "application/schema+json"
HTML = "text/html"
MERGE_PATCH = "application/merge-patch+json"
PROBLEM = "application/problem+json"
"""A client that accepts only this type gets JSON, too: its library expects errors in RFC 9457."""

EXAMPLE_REQUEST_ID = "7f6c1f0e5b0d4d0c8a54f1e6c0a4b1d2"
"""The request id of every example."""
MAX_PAGE_SIZE = 1_000
ID_PARAMETER: Schema = {"type": "integer", "minimum": 1, "maximum": 10**16 - 1}
"""The schema of an id in a URL: `is_id` permits 16 digits."""


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
class Parameter:
    """A query parameter.

    `parse` returns members of a query, or raises ValueError or InvalidField if the value is
    invalid. It is None if the resource reads the value itself. `rule` describes the valid values in
    error messages. A parameter that `is_multiple` has several values, and can be repeated.
    """

    description: str
    schema: object
    parse: Callable[[str], Mapping[str, object]] | None = None
    rule: str = ""
    is_multiple: bool = False


@frozen(kw_only=True)
class Body:
    """A JSON body that a request must have."""

    document: object
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
    body: Body | None = None
    is_conditional: bool = False
    headers: tuple[str, ...] = ()
    errors: tuple[type[RecipientFieldsError], ...] = ()


def operation(name: str, tag: Tag, *results: Result, **others: Any) -> Callable[[M], M]:
    """Declare the operation of a method. `others` are the other attributes of `Operation`.

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
            **others,
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


METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
KIBIBYTE = 1024
MEBIBYTE = 1024 * KIBIBYTE
MAX_BODY_SIZE = 4 * MEBIBYTE
"""The greatest `max_body_size` of all resources, in bytes."""
PROTECTED_PREFIX = "/api/"
"""The beginning of the paths that require an API key."""
READS = frozenset({"GET", "HEAD"})
WRITES = frozenset({"DELETE", "PATCH", "POST", "PUT"})


class Resource:
    """A resource. Its `on_get` and similar methods handle the HTTP methods that it has."""

    path_parameters: ClassVar[Mapping[str, PathParameter]] = {}
    """The parts of the path, by their names in the template of the route."""

    parameters: ClassVar[Mapping[str, Parameter]] = {}
    """The query parameters of GET and HEAD. Other methods have none."""

    max_body_size: ClassVar[int] = MEBIBYTE
    """The maximum size of a body, in bytes."""

    max_body_values: ClassVar[int] = 10_000
    """The maximum number of member names and values in a body: ten times those of a field."""

    requires_write: ClassVar[bool] = True
    """Whether POST, PUT, PATCH and DELETE require an API key with write access."""

    media_types: ClassVar[tuple[str, ...]] = (JSON, PROBLEM)
    """The media types of the responses. `Accept` must include one of them."""

    methods: ClassVar[tuple[str, ...]] = ()
    """The HTTP methods of the resource, in alphabetical order."""

    operations: ClassVar[Mapping[str, Operation]] = {}
    """The declared operations by HTTP method. The OpenAPI document has no other ones."""

    on_head: ClassVar[Callable[..., None]]
    """The responder to HEAD: that to GET, if the resource has no other one."""

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "on_get") and not hasattr(cls, "on_head"):
            cls.on_head = cls.on_get  # Hosts send no body for HEAD.
        cls.methods = tuple(m for m in METHODS if hasattr(cls, f"on_{m.lower()}"))
        cls.operations = operations_of(cls, cls.methods)

    def needs_write_access(self, path: str, method: str) -> bool:
        """Return whether a request with this method requires an API key with write access."""
        return self.requires_write and method in WRITES and path.startswith(PROTECTED_PREFIX)

    def on_options(self, _req: Request, resp: Response, **_path: str) -> None:
        """Send 204 with the methods of this resource."""
        resp.status = falcon.HTTP_204
        resp.set_header("Allow", self.allowed)

    @property
    def allowed(self) -> str:
        """The value of the `Allow` header."""
        return ", ".join(self.methods)


def alternatives(
    member: str, parse: Callable[[str], object], rule: str, *, description: str, schema: object
) -> Parameter:
    """Return a parameter that has several values. `schema` is the one of each value."""
    several = "Separate several values by commas, or repeat the parameter."
    return Parameter(
        description=f"{description} {several}",
        schema={"type": "array", "minItems": 1, "items": schema},
        parse=lambda text: {member: frozenset(parse(one) for one in text.split(","))},
        rule=f"{rule}. {several}",
        is_multiple=True,
    )


def truth_value(member: str, description: str) -> Parameter:
    """Return a parameter that is `true` or `false`, in any case."""

    def parse(text: str) -> Mapping[str, object]:
        if text.lower() not in {"true", "false"}:
            raise ValueError(text)
        return {member: text.lower() == "true"}

    rule = "use `true` or `false`."
    return Parameter(description=description, schema=bool, parse=parse, rule=rule)


def parse_integration_id(text: str) -> IntegrationId:
    """Return the id of an integration in a URL. Raises: ValueError if it is none."""
    if not is_id(text):
        raise ValueError(text)
    return IntegrationId(int(text))


def one_of(values: Iterable[str]) -> str:
    """Return the values, as part of a sentence."""
    *names, last = (f"`{value}`" for value in values)
    return f"{', '.join(names)} or {last}"


def _limit(text: str) -> Mapping[str, object]:
    if not is_id(text) or int(text) > MAX_PAGE_SIZE:
        raise ValueError(text)
    return {"limit": int(text)}


def key_filter(description: str) -> Parameter:
    """Return the parameter with the keys of fields."""
    rule = "use the key of a field, such as `loyalty_tier`"
    return alternatives("keys", FieldKey, rule, description=description, schema=NEW_KEY)


def source_filter(description: str) -> Parameter:
    """Return the parameter with the sources of fields."""
    rule = f"use {one_of(each.value for each in Source)}"
    return alternatives("sources", Source, rule, description=description, schema=Source)


def page_size(description: str) -> Parameter:
    """Return the parameter with the number of items on a page."""
    return Parameter(
        description=description,
        schema={"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE},
        parse=_limit,
        rule=f"use a number from 1 to {MAX_PAGE_SIZE}.",
    )
