"""JSON that a service answers with, read strictly."""

from __future__ import annotations

import json
from typing import NoReturn

from attrs import frozen

from .connections import Answer

_MEDIA_TYPE = "application/json"


class NotAsAgreed(Exception):
    """An answer is not what the HTTP contract says."""


@frozen
class Json:
    """A value of an answer; NotAsAgreed where it is not what it is read as."""

    value: object

    @classmethod
    def of(cls, answer: Answer) -> Json:
        """The answer's document."""
        media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media_type != _MEDIA_TYPE:
            raise NotAsAgreed("it is not JSON")
        try:
            return cls(json.loads(answer.body.decode("utf-8"), parse_constant=_no_constant))
        except (ValueError, RecursionError):
            raise NotAsAgreed("it is not JSON") from None

    def __getitem__(self, name: str) -> Json:
        """The member of that name."""
        if not isinstance(self.value, dict) or name not in self.value:
            raise NotAsAgreed(f"it lacks {name}")
        return Json(self.value[name])

    def find(self, name: str) -> Json | None:
        """The member of that name; None where it is missing or null."""
        found = self.value.get(name) if isinstance(self.value, dict) else None
        return None if found is None else Json(found)

    def items(self) -> tuple[Json, ...]:
        """The items of an array."""
        if not isinstance(self.value, list):
            raise NotAsAgreed("something in it is no array")
        return tuple(Json(item) for item in self.value)

    def first(self) -> Json:
        """The first item of an array."""
        items = self.items()
        if not items:
            raise NotAsAgreed("something in it is empty")
        return items[0]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise NotAsAgreed("something in it is no string")
        return self.value

    def integer(self) -> int:
        """An integer, which a boolean is not."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise NotAsAgreed("something in it is no integer")
        return self.value

    def flag(self) -> bool:
        """A boolean."""
        if not isinstance(self.value, bool):
            raise NotAsAgreed("something in it is no boolean")
        return self.value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
