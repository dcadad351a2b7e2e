"""Rejects an object that is passed to a use case in place of its id.

Storages can't do this alike: a dict does not find an `Organization`, the driver of SQLite can't
bind it, and PostgreSQL gets its text. So it is checked before any storage sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_REFERENCE = "reference"


def checks_identifiers(service: type[S]) -> type[S]:
    """Make the class's public methods raise TypeError if an identifier has the wrong type.

    Identifiers are the parameters `…_id`, which are integers, and `reference`, which is the id or
    the key of a field.
    """
    for name, method in list(vars(service).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            parameters = method.__code__.co_varnames[: method.__code__.co_argcount]
            identifiers = [
                (position, parameter)
                for position, parameter in enumerate(parameters)
                if parameter.endswith("_id") or parameter == _REFERENCE
            ]
            if identifiers:
                setattr(service, name, _checked(method, identifiers))
    return service


def _checked(method: Callable[P, R], identifiers: list[tuple[int, str]]) -> Callable[P, R]:
    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for position, name in identifiers:
            # Python itself reports an argument that is missing.
            value = args[position] if position < len(args) else kwargs.get(name, 0)
            if not isinstance(value, int) and not (name == _REFERENCE and isinstance(value, str)):
                raise TypeError(_message(name, type(value).__name__))
        return method(*args, **kwargs)

    return checked


def _message(name: str, wrong: str) -> str:
    if name == _REFERENCE:
        return f"{name} must be a field's id or key, not {wrong}. Pass field.id or field.key."
    return f"{name} must be an int, not {wrong}. Pass {name.removesuffix('_id')}.id."
