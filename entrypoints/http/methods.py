"""What every resource has: its methods and its query parameters."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import falcon

from .media_types import JSON, PROBLEM

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


class Resource:
    """An endpoint. `on_get` and its like are the methods it answers."""

    parameters: ClassVar[Collection[str]] = ()
    """The query parameters of GET and HEAD; other methods take none."""

    media_types: ClassVar[Collection[str]] = (JSON, PROBLEM)
    """What it answers: `Accept` must admit one of them."""

    def on_options(self, _req: falcon.Request, resp: falcon.Response, **_path: str) -> None:
        """204 with the methods of this resource."""
        resp.status = falcon.HTTP_204
        resp.set_header("Allow", allow_header(self))


def allowed_methods(resource: Resource) -> list[str]:
    """The methods a resource answers, in alphabetical order."""
    return [method for method in METHODS if hasattr(resource, f"on_{method.lower()}")]


def allow_header(resource: Resource) -> str:
    """The value of the `Allow` header."""
    return ", ".join(allowed_methods(resource))
