"""What an ESP's JSON says, and where it is not as documented."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from attrs import frozen

from .api import Api

_LONGEST_PLACE = 100
_NUMBER = re.compile("[0-9]{1,15}")


@frozen
class Answer:
    """A value of the answer, and its place. EspRefused where it is not what it is read as."""

    _api: Api
    value: object
    _place: str = "the answer"

    @classmethod
    def parse(cls, api: Api, body: bytes) -> Answer:
        """The JSON of that body. EspRefused where it is none."""
        try:
            return cls(api, json.loads(body))
        except (ValueError, RecursionError):
            # A chained error would repeat the body, which may be about the credentials.
            raise api.refused("answers with something that is not JSON") from None

    def __getitem__(self, name: str) -> Answer:
        """The member of that name."""
        members = self._members()
        if name not in members:
            raise self._unexpected(f"an object with {name}")
        return self._inner(name, members[name])

    def find(self, name: str) -> Answer | None:
        """The member of that name; None where it is missing or null."""
        value = self._members().get(name)
        return None if value is None else self._inner(name, value)

    def optional_items(self, name: str) -> tuple[Answer, ...]:
        """The items of the member of that name; none where it is missing or null."""
        found = self.find(name)
        return () if found is None else found.items()

    def optional_text(self, name: str) -> str:
        """The string of that name; empty where it is missing or null."""
        found = self.find(name)
        return "" if found is None else found.text()

    def optional_flag(self, name: str) -> bool:
        """The boolean of that name; false where it is missing or null."""
        found = self.find(name)
        return found is not None and found.flag()

    def members(self) -> Iterator[tuple[str, Answer]]:
        """All members, in order."""
        for name, value in self._members().items():
            yield name, self._inner(name, value)

    def items(self) -> tuple[Answer, ...]:
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self._unexpected("a list")
        return tuple(self._inner(str(i), value) for i, value in enumerate(self.value))

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self._unexpected("a string")
        return self.value

    def number(self) -> int:
        """A whole number from 0, which some ESPs write as a string."""
        digits = str(self.value)
        if type(self.value) not in {int, str} or _NUMBER.fullmatch(digits) is None:
            raise self._unexpected("a whole number")
        return int(digits)

    def flag(self) -> bool:
        """A boolean."""
        if not isinstance(self.value, bool):
            raise self._unexpected("true or false")
        return self.value

    def _members(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            raise self._unexpected("an object")
        return self.value

    def _inner(self, name: str, value: object) -> Answer:
        return Answer(self._api, value, f"{self._place} / {name}")

    def _unexpected(self, expected: str) -> Exception:
        place = ascii(self._place)[1:-1][:_LONGEST_PLACE]
        return self._api.refused(f"answers otherwise than documented: {place} is not {expected}")
