"""The marks around a block that a conversion leaves to a person, so that nobody sends it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN, _END = "[BY HAND: line {line}]", "[END BY HAND]"
_MARK = re.compile(r"\[(?:BY HAND: line [0-9]++|(?P<end>END BY HAND))\]")


def enclose(code: str, line: int) -> str:
    """Return the code, which begins at this line of the template, between marks."""
    return f"{_BEGIN.format(line=line)}{code}{_END}"


def find_blocks(text: str) -> Iterator[int]:
    """Yield the offsets of the blocks: those of the first marks, and of last ones without any."""
    is_open = False
    for mark in _MARK.finditer(text):
        if mark["end"] is None or not is_open:
            yield mark.start()
        is_open = mark["end"] is None
