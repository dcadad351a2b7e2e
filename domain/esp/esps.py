"""The names of email service providers (ESPs)."""

from __future__ import annotations

import re
from typing import Final, Self

from ..arguments import require_type

__all__ = ["PORTABLE", "Esp"]

PORTABLE: Final = "portable"
"""The name of the language of content, beside those of ESPs."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Esp(str):
    """The name of an ESP, such as `braze`: a letter a-z, then up to 62 of a-z, 0-9 and `_`.

    Its profile and the integrations with it have this name. Whether there is a profile is not
    checked.

    Raises: ValueError if the text can't be a name.
    """

    __slots__ = ()

    def __new__(cls, esp: str) -> Self:  # noqa: D102 (the class describes it)
        if isinstance(esp, cls):
            return esp
        require_type(cls | str, esp=esp)
        if _NAME.fullmatch(esp) is None:
            raise ValueError(f"{esp!r} is no Esp. Use a name such as braze.")
        return super().__new__(cls, esp)

    def __repr__(self) -> str:
        return f"Esp({super().__repr__()})"
