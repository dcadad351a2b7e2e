"""What a conversion does with each tag of a template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from attrs import frozen

from ...conditions import TextPosition


class Outcome(Enum):
    """What a conversion did with a tag. The values are the names in documents."""

    CONVERTED = "converted"
    """It shows the same text."""
    CAVEAT = "caveat"
    """It shows the same text, except for the values that the caveats name."""
    DROPPED = "dropped"
    """It had a meaning only in the editor, the archive or the campaigns of the source."""
    BY_HAND = "by_hand"
    """It stays as it is."""
    CONSEQUENCE = "consequence"
    """It stays as it is, because it is in a block that is by hand."""


@frozen(kw_only=True)
class ConvertedTag:
    """A tag of the source, its place in it, and what the conversion did with it.

    `reasons` are the caveats, or why the tag is by hand, and what to do.
    """

    position: TextPosition
    text: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()


class ByHand(Exception):
    """Code that is not converted. The message is a sentence that says why, and what to do."""


# The marks around a block that a conversion leaves to a person, so that nobody sends it

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
