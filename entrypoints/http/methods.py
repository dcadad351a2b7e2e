"""Which methods a resource has."""

from __future__ import annotations

_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


def allowed_methods(resource: object) -> list[str]:
    """The methods a resource answers, in alphabetical order."""
    return [method for method in _METHODS if hasattr(resource, f"on_{method.lower()}")]


def allow_header(resource: object) -> str:
    """The value of the `Allow` header."""
    return ", ".join(allowed_methods(resource))
