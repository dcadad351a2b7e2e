"""The base classes of enums that are keys of many tables, or that can be written as text."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NoReturn

from .arguments import require_type


class KeyEnum(Enum):
    """An enum whose members are hashed as objects. `Enum.__hash__` is Python code, and slower."""

    if not TYPE_CHECKING:
        __hash__ = object.__hash__


class Choice(KeyEnum):
    """An enum whose members can be written as text, such as `"html"` for `Surface.HTML`.

    It lists its values if it is called with the text of no member.
    """

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        require_type(cls | str, **{cls.__name__.lower(): value})
        values = ", ".join(each.value for each in cls)
        raise ValueError(f"{value!r} is no {cls.__name__}. Use one of {values}.")
