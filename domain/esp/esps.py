"""The names of email service providers (ESPs), and their profiles by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ..arguments import require_type
from .errors import MissingProfile

if TYPE_CHECKING:
    from .profiles.profile import Profile

__all__ = ["Esp", "Profiles"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Esp(str):
    """The name of an ESP, such as `braze`: a letter a-z, then up to 62 of a-z, 0-9 and `_`.

    Its profile and the integrations with it have this name. Whether there is a profile is not
    checked.

    Raises: ValueError if the text can't be a name.
    """

    __slots__ = ()

    def __new__(cls, name: str) -> Self:  # noqa: D102 (the class describes it)
        if isinstance(name, cls):
            return name
        require_type(cls | str, esp=name)
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no Esp. Use a name such as braze.")
        return super().__new__(cls, name)

    def __repr__(self) -> str:
        return f"Esp({super().__repr__()})"


class Profiles:
    """Profiles by the names of their ESPs, in the order of lists and messages.

    `read` returns them. It is called when the first one is requested.
    Raises: ValueError then, if two profiles have the same name.
    """

    def __init__(self, read: Callable[[], Iterable[Profile]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Profile]:
        return iter(self._by_esp.values())

    def __contains__(self, esp: object) -> bool:
        return esp in self._by_esp

    def __getitem__(self, esp: Esp) -> Profile:
        """Return the profile of the ESP. Raises: MissingProfile if there is none."""
        try:
            return self._by_esp[esp]
        except KeyError:
            raise MissingProfile(
                f"The profile of the ESP {esp} is not installed. Install the package that has the"
                f" entry point `{esp}` in the group `recipient_fields.esp_profile`."
            ) from None

    @property
    def esps(self) -> tuple[Esp, ...]:
        """The names of the ESPs."""
        return tuple(self._by_esp)

    def parse_name(self, name: str) -> Esp:
        """Return the name of the ESP. Raises: ValueError if there is no profile with it."""
        require_type(Esp | str, esp=name)
        if name not in self:
            raise ValueError(f"{str(name)!r} is no Esp. Use one of {', '.join(self.esps)}.")
        return Esp(name)

    def title(self, esp: Esp) -> str:
        """Return the title of the ESP, or its name if its profile is missing."""
        return self[esp].title if esp in self else str(esp)

    @cached_property
    def _by_esp(self) -> Mapping[Esp, Profile]:
        by_esp: dict[Esp, Profile] = {}
        for each in self._read():
            if by_esp.setdefault(each.esp, each) is not each:
                raise ValueError(f"Two profiles have the name {each.esp}.")
        return by_esp
