"""The tags in a text that each ESP reads in its own language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from heapq import merge
from itertools import groupby
from typing import TypeAlias

from attrs import frozen

from ..esps import Esp
from ..languages.blocks import Tag
from ..languages.sender_tags import read_sender_tags
from ..profiles import Profiles
from ..profiles.profile import Profile, Syntax

_CLARITY = {Syntax.AMPSCRIPT: 0, Syntax.MERGE_TAGS: 1, Syntax.HANDLEBARS: 4, Syntax.PERCENT_TAGS: 5}
"""The order in which the signs of languages are clear. Those with filters are in the middle."""


def _clarity(profile: Profile) -> int:
    """Return the place of a dialect in that order. `${…}` is a clear sign."""
    vocabulary = profile.vocabulary
    return 2 if "$" in vocabulary.fields else _CLARITY.get(vocabulary.syntax, 3)


@cache
def by_clarity(profiles: Profiles) -> tuple[Profile, ...]:
    """Return the dialects, those first whose tags have the clearest signs."""
    return tuple(sorted(profiles, key=_clarity))


_ENDS = {"{{": "}}", "{%": "%}", "{#": "#}"}


@frozen
class TextTag:
    """What looks like a tag in a text, from `start` to `end`.

    `readings` are the tags that the ESPs read from there on, the most likely first. If there are
    none, this looks like a tag of another sender.
    """

    start: int
    end: int
    text: str
    readings: Mapping[Esp, Tag]


@frozen
class Start:
    """A place at which tags begin: those that the ESPs read, the most likely first."""

    offset: int
    readings: Mapping[Esp, Tag]
    other: Tag | None = None
    """The tag of a sender that is no ESP here."""


def read_starts(text: str, profiles: Profiles) -> Iterator[Start]:
    """Yield the places at which tags begin, in order. Each ESP reads the text once."""
    found = merge(
        *(_tags(text, each) for each in by_clarity(profiles)), _other_tags(text), key=_offset
    )
    for start, group in groupby(found, key=_offset):
        readings: dict[Esp, Tag] = {}
        other = None
        for _, esp, tag in group:  # `merge` keeps the order of the dialects.
            if esp is None:
                other = tag
            else:
                readings[esp] = tag
        yield Start(start, readings, other)


def find_text_tags(text: str, starts: Iterable[Start], target: Esp | None) -> Iterator[TextTag]:
    """Yield the tags of all dialects that begin at these places, without those in another tag.

    `target` is the ESP for which the text is written: its tags end where it reads their end. A tag
    that no ESP reads, and that has no end, is text.
    """
    offset = 0
    for start in starts:
        end = _end(text, start, target) if start.offset >= offset else None
        if end is not None:
            offset = end
            yield TextTag(start.offset, end, text[start.offset : end], start.readings)


_Found: TypeAlias = tuple[int, Esp | None, Tag]


def _tags(text: str, profile: Profile) -> Iterator[_Found]:
    for tag in profile.find_tags(text):
        yield tag.start, profile.esp, tag


def _other_tags(text: str) -> Iterator[_Found]:
    for tag in read_sender_tags(text):
        yield tag.start, None, tag


def _offset(found: _Found) -> int:
    return found[0]


def _end(text: str, start: Start, target: Esp | None) -> int | None:
    readings = start.readings
    if not readings:
        return None if start.other is None else start.other.end
    own = readings.get(target) if target is not None else None
    if own is not None and own.unread is None:
        return own.end
    ends = [tag.end for tag in readings.values() if tag.unread is None]
    if not ends and own is not None:
        return own.end
    if not ends:
        last = _ENDS.get(text[start.offset : start.offset + 2], "%")
        ends = [tag.end for tag in readings.values() if text.endswith(last, 0, tag.end)]
    return min(ends, default=None)
