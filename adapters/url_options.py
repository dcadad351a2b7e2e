"""For authors of storages: the options in a URL, such as `create` in `sqlite:PATH?create=false`.

No message repeats what the URL contains, because that can be a password.
"""

from __future__ import annotations

from collections.abc import Collection

from recipient_fields.domain import InvalidStorageUrl


def take_options(query: str, known: Collection[str]) -> dict[str, str]:
    """Return the values in a query such as `pool_size=8&prepare=false`, by the options' names.

    Raises: InvalidStorageUrl if an option is not `known`, has no `=`, or occurs more than once.
    """
    options: dict[str, str] = {}
    for option in query.split("&") if query else ():
        name, equals, value = option.partition("=")
        if name not in known:
            names = ", ".join(f"`{name}`" for name in known)
            raise InvalidStorageUrl(f"Unknown option in the storage URL: use only {names}.")
        if not equals:
            raise InvalidStorageUrl(f"Option `{name}` of the storage URL: add `=` and a value.")
        if name in options:
            raise InvalidStorageUrl(f"Option `{name}` of the storage URL: set it only once.")
        options[name] = value
    return options


def boolean(name: str, value: str) -> bool:
    """Return the value of an option that is `true` or `false`.

    Raises: InvalidStorageUrl if it is neither.
    """
    if value not in ("true", "false"):
        raise InvalidStorageUrl(
            f"Invalid value for option `{name}` of the storage URL: use `true` or `false`,"
            f" for example `?{name}=false`."
        )
    return value == "true"


def integer(name: str, value: str, least: int, most: int) -> int:
    """Return the value of an option that is a whole number from `least` to `most`.

    Raises: InvalidStorageUrl if it is not written in ASCII digits or out of that range.
    """
    digits = value.isascii() and value.isdigit() and len(value) <= len(str(most))
    if not digits or not least <= int(value) <= most:
        raise InvalidStorageUrl(
            f"Invalid value for option `{name}` of the storage URL: use a whole number from"
            f" {least} to {most}, for example `?{name}={most}`."
        )
    return int(value)
