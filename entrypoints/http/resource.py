"""The base class of all resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import falcon

from .media_types import JSON, PROBLEM
from .operations import Operation, PathParameter, operations_of
from .parameters import Parameter

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

    def __init_subclass__(cls) -> None:
        cls.methods = tuple(m for m in METHODS if hasattr(cls, f"on_{m.lower()}"))
        cls.operations = operations_of(cls, cls.methods)

    def needs_write_access(self, path: str, method: str) -> bool:
        """Return whether a request with this method requires an API key with write access."""
        return self.requires_write and method in WRITES and path.startswith(PROTECTED_PREFIX)

    def on_options(self, _req: falcon.Request, resp: falcon.Response, **_path: str) -> None:
        """Send 204 with the methods of this resource."""
        resp.status = falcon.HTTP_204
        resp.set_header("Allow", self.allowed)

    @property
    def allowed(self) -> str:
        """The value of the `Allow` header."""
        return ", ".join(self.methods)
