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

    multiple: ClassVar[Collection[str]] = ()
    """The query parameters that take several values and may be repeated."""

    media_types: ClassVar[tuple[str, ...]] = (JSON, PROBLEM)
    """What it answers: `Accept` must admit one of them."""

    methods: ClassVar[tuple[str, ...]] = ()
    """The methods it answers, in alphabetical order."""

    def __init_subclass__(cls) -> None:
        cls.methods = tuple(m for m in METHODS if hasattr(cls, f"on_{m.lower()}"))

    def on_options(self, _req: falcon.Request, resp: falcon.Response, **_path: str) -> None:
        """204 with the methods of this resource."""
        resp.status = falcon.HTTP_204
        resp.set_header("Allow", self.allowed)

    @property
    def allowed(self) -> str:
        """The value of the `Allow` header."""
        return ", ".join(self.methods)
