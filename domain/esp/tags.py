"""The tags of dialects in text that users have written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from .profiles.profile import Profile


class Openings:
    """The patterns of opening delimiters. If several match at the same place, the first counts."""

    def __init__(self, patterns: Iterable[str], flags: re.RegexFlag = re.NOFLAG) -> None:
        patterns = tuple(patterns)
        # `re` skips other text quickly only if each alternative begins with a character.
        self._any = re.compile("|".join(patterns), flags)
        self._groups = re.compile("|".join(f"({each})" for each in patterns), flags)

    def search(self, text: str, offset: int) -> tuple[int, re.Match[str]] | None:
        """Return the index of the pattern that matches first from the offset on, and its match."""
        found = self._any.search(text, offset)
        match = None if found is None else self._groups.match(text, found.start())
        return None if match is None else ((match.lastindex or 0) - 1, match)


class Tag(NamedTuple):
    """A tag, from `start` to `end`. If it is not closed, it extends to the end of the text.

    If `is_read` is false, this is a comment, or a part in which the ESP reads no code.
    """

    start: int
    end: int
    opening: str
    is_read: bool


def find_tags(profile: Profile, text: str) -> Iterator[Tag]:
    """Yield the tags of the ESP's dialect, in order. An unclosed one is the last."""
    for tag in _find(profile, text):
        yield tag
        if tag.end == len(text):
            return


def _find(profile: Profile, text: str) -> Iterator[Tag]:
    """Yield the tags. A missing closing delimiter is searched once only, in linear time."""
    openings = _openings(profile)
    offset, unclosed = 0, set[str]()
    while (found := openings.search(text, offset)) is not None:
        index, opening = found
        _, closing, is_read = profile.tags[index]
        end = None if closing in unclosed else re.compile(closing).search(text, opening.end())
        offset = opening.end() if end is None else end.end()
        if end is not None:
            yield Tag(opening.start(), offset, opening[0], is_read)
        elif closing not in unclosed:
            unclosed.add(closing)
            yield Tag(opening.start(), len(text), opening[0], is_read)


@cache
def _openings(profile: Profile) -> Openings:
    return Openings(each.opening for each in profile.tags)
