"""Checks that use cases are called with the right objects, before anything depends on them.

Storages treat an object in place of its id differently: a dict does not find it, SQLite's driver
can't bind it, and PostgreSQL receives its text.
"""

from __future__ import annotations


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
