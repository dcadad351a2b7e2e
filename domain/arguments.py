"""Checks that functions and use cases are called with the right types of arguments.

Otherwise, a wrong one would fail somewhere inside, with an error that does not name it. Storages
treat an object in place of its id differently: a dict does not find it, SQLite's driver can't bind
it, and PostgreSQL receives its text.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import get_args


def require_type(expected: type | UnionType, **arguments: object) -> None:
    """Require that each argument, such as `draft`, is an instance of the class, or of one of them.

    It takes about 0.4 µs, so functions that are called for each value of a list call it only if the
    type is wrong.

    Raises: TypeError, with the name of the argument, what is expected and what came, if one is not.
    """
    for name, value in arguments.items():
        if not isinstance(value, expected):
            types = " or ".join(map(_described, get_args(expected) or (expected,)))
            raise TypeError(f"{name} must be {types}, not {type(value).__name__}.")


def require_ids(**ids: object) -> None:
    """Require that each argument, such as `organization_id`, is an integer.

    Raises: TypeError if one is not.
    """
    for name, value in ids.items():
        if not isinstance(value, int):
            wrong, owner = type(value).__name__, name.removesuffix("_id")
            raise TypeError(f"{name} must be an int, not {wrong}. Pass {owner}.id.")


def require_reference(reference: object) -> None:
    """Require that the reference is the id or the key of a field.

    Raises: TypeError if it is neither an integer nor a string.
    """
    if not isinstance(reference, int | str):
        wrong = type(reference).__name__
        raise TypeError(
            f"reference must be a field's id or key, not {wrong}. Pass field.id or field.key."
        )


def _described(expected: type) -> str:
    if expected is NoneType:
        return "None"
    name = expected.__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"
