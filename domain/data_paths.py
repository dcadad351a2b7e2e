"""Paths to event data, and to the variables of loops: `event.items[0]["Order Number"]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

EVENT: Final = "event"
"""The root of the paths to the data of the event or message that causes the send."""
LOOP: Final = "loop"
"""The root of the paths to the number of the current round."""
NUMBER: Final = "number"
"""The member of `loop` that counts the rounds from 1. The others are `first` and `last`."""
MAX_PARTS = 8
"""The number of parts after the root."""
_TEXT = r"""(?:"[^"\\{}\r\n]{1,100}+"|'[^'\\{}\r\n]{1,100}+')"""
_PART = rf"(?:\.\w++|\[(?:[0-9]{{1,4}}+|{_TEXT})\])"
DATA_PATH: Final = rf"[A-Za-z_]\w*+(?>{_PART}*)"
"""The pattern of a path, also of a root alone."""
LONG_PATH: Final = rf"[A-Za-z_]\w*+(?>{_PART}+)"
"""The pattern of a path with parts."""
_PARTS = re.compile(rf"\.(?P<word>\w++)|\[(?:(?P<index>[0-9]++)|(?P<text>{_TEXT}))\]")
_NAME = re.compile(r"[^\W\d]\w*")


class DataPath(str):
    """A path to event data, or to a variable of a loop, in its canonical form.

    Names are written verbatim: no convention changes them. A path never equals the key of a field.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> DataPath:
        """Return the path that matches `DATA_PATH`."""
        return _path(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataPath) and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()

    @property
    def root(self) -> str:
        """`event`, `loop`, or the name of the variable of a loop."""
        return _split(self)[0]

    @property
    def is_state(self) -> bool:
        """Whether this is the number or the place of a round, which each round of a loop has."""
        return self.root == LOOP

    @property
    def parts(self) -> tuple[str | int, ...]:
        """The names of members, and the positions in lists, from 0."""
        return _split(self)[1]

    @property
    def without_root(self) -> str:
        """The path as a person names it: `items[0].name`."""
        return self.removeprefix(self.root).removeprefix(".")


@lru_cache(maxsize=256)  # A content has few paths, often: equal ones are one object.
def _path(text: str) -> DataPath:
    root, parts = _split(text)
    return str.__new__(DataPath, root + "".join(map(_written, parts)))


@lru_cache(maxsize=256)
def _split(text: str) -> tuple[str, tuple[str | int, ...]]:
    root, *_ = re.split(r"\W", text, maxsplit=1)
    return root, tuple(_parts(text[len(root) :]))


def _parts(text: str) -> Iterator[str | int]:
    for part in _PARTS.finditer(text):
        if part["text"]:
            yield part["text"][1:-1]
        else:
            number = part["index"] or part["word"]
            yield int(number) if number.isdecimal() else number


def _written(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if _NAME.fullmatch(part):
        return f".{part}"
    return f"['{part}']" if '"' in part else f'["{part}"]'
