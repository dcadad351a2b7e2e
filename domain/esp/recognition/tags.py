"""The tags in a text: each ESP reads them in its own languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from heapq import merge
from itertools import islice
from operator import attrgetter

from attrs import define, frozen

from ...arguments import require_type
from ..esps import Esp
from ..languages.blocks import Tag, find_places
from ..languages.sender_tags import read_sender_tags
from ..profiles import BUILT_IN, PROFILES
from ..profiles.profile import Profile, Syntax
from .judging import WITH_BRACES, Fit, Reading, TextTag
from .words import Shown, TagRole

__all__ = ["RecognizedTag", "recognize", "recognize_dialects"]

_CLARITY = {Syntax.AMPSCRIPT: 0, Syntax.MERGE_TAGS: 1, Syntax.HANDLEBARS: 4, Syntax.PERCENT_TAGS: 5}
"""The order in which the signs of languages are clear. Those with filters are in the middle."""


def _clarity(profile: Profile) -> int:
    """Return the place of a dialect in that order. `${…}` is a clear sign."""
    vocabulary = profile.vocabulary
    return 2 if "$" in vocabulary.fields else _CLARITY.get(vocabulary.syntax, 3)


LIKELY = tuple(sorted(BUILT_IN, key=_clarity))
"""The profiles, those first whose tags have the clearest signs."""
_LANGUAGES = tuple(dict.fromkeys(language for each in LIKELY for language in each.languages))
_ENDS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_MAX_TAGS = 10
"""The number of tags of an insertion code that are read."""
_REMEMBERED = 1_024
"""The number of insertion codes whose dialects are remembered: lists of fields ask repeatedly."""
_DELIMITER = re.compile(r"\{\{|\{%|%%\[|%%=|\*\||\[\[(?=\w)|%(?:ELSE)?IF\s|\}\}|%\}|\]%%|=%%|\|\*")
_PAIRS = (("{", "}"), ("[", "]"), ("%%=", "=%%"))
_VARIABLE = re.compile(r"\{\{\s*\w+(?P<path>\.[\w.]+)?\s*\}\}")


@define(eq=False)
class Start:
    """A place at which tags begin: those that the ESPs read, the most likely first."""

    offset: int
    readings: Mapping[Esp, Reading]
    other: Tag | None = None
    """The tag of a sender that is no ESP here."""

    @property
    def length(self) -> int:
        """The number of characters of the shortest tag."""
        return min((each.tag.end for each in self.readings.values()), default=self.offset) - (
            self.offset
        )


def read_own_starts(text: str, profile: Profile) -> Iterator[Start]:
    """Yield the places at which tags of the ESP begin, in order."""
    for tag in profile.find_tags(text):
        yield Start(tag.start, {profile.esp: Reading(profile, tag)})


def read_starts(text: str) -> Iterator[Start]:
    """Yield the places at which tags of any ESP begin, in order. Each language reads once."""
    for offset, tags in find_places(text, (*_LANGUAGES, read_sender_tags)):
        readings = {
            each.esp: Reading(each, tag)
            for each in LIKELY
            if (tag := each.choose(tags)) is not None
        }
        yield Start(offset, readings, tags.get(read_sender_tags))


def leave_out(text: str, starts: Iterable[Start]) -> str:
    """Return the text with spaces instead of the tags that the ESP of the starts reads."""
    parts: list[str] = []
    offset = 0
    for start in starts:
        for reading in start.readings.values():
            if reading.is_read:
                end = reading.tag.end
                parts += (text[offset : start.offset], " " * (end - start.offset))
                offset = end
    return "".join((*parts, text[offset:]))


def join_starts(own: Iterable[Start], others: Iterable[Start]) -> Iterator[Start]:
    """Yield the tags that an ESP reads, and what all ESPs read in the rest, in order."""
    read = (start for start in own if all(each.is_read for each in start.readings.values()))
    return merge(read, others, key=attrgetter("offset"))


def find_text_tags(
    text: str, target: Esp | None = None, starts: Iterable[Start] | None = None
) -> Iterator[TextTag]:
    """Yield the tags of all dialects, without those in another tag.

    `target` is the ESP for which the text is written: its tags end where it reads their end. A tag
    that no ESP reads, and that has no end, is text. `starts` are those of the text, if it is read.
    """
    offset = 0
    for start in read_starts(text) if starts is None else starts:
        end = _end(text, start, target) if start.offset >= offset else None
        if end is not None:
            offset = end
            yield TextTag(start.offset, end, text[start.offset : end], start.readings)


def _end(text: str, start: Start, target: Esp | None) -> int | None:
    readings = start.readings
    if not readings:
        return None if start.other is None else start.other.end
    own = readings.get(target) if target is not None else None
    ends = [each.tag.end for each in readings.values() if each.tag.unread is None]
    if own is not None and (own.is_read or not ends):
        return own.tag.end
    if not ends:
        last = _ENDS.get(text[start.offset : start.offset + 2], "%")
        found = (each.tag.end for each in readings.values())
        ends = [end for end in found if text.endswith(last, 0, end)]
    return min(ends, default=None)


@frozen
class RecognizedTag:
    """A tag in a text.

    `dialects` are the ESPs that can read it, the most likely first. `role`, `names` and
    `system_names` are what the first of them reads. `start` and `end` are offsets.
    """

    start: int
    end: int
    text: str
    dialects: tuple[Esp, ...]
    role: TagRole
    names: tuple[str, ...] = ()
    system_names: tuple[str, ...] = ()


def recognize(text: str, esp: Esp | None = None) -> Iterator[RecognizedTag]:
    """Yield the tags of all dialects in the text, in order.

    If `esp` is given, each tag is read as the ESP reads it, if it can. The time is proportional to
    the length of the text.
    """
    require_type(str, text=text)
    require_type(Esp | None, esp=esp)
    for tag in find_text_tags(text, esp):
        if tag.readings:
            own = None if esp is None else tag.readings.get(esp)
            dialects = tag.dialects
            if own is None or not own.is_read:
                own = next((tag.readings[each] for each in dialects), None)
            shown = Shown(TagRole.NONE) if own is None else own.shown
            yield RecognizedTag(
                tag.start,
                tag.end,
                tag.text,
                dialects,
                shown.role,
                shown.names,
                shown.system_names,
            )


def recognize_dialects(insertion_code: str) -> tuple[Esp, ...]:
    """Return the ESPs in whose dialects the code can be written, the most likely first.

    The first delimiter selects the group of dialects: braces, percent signs, or Mailchimp's `*|`.
    Some tags belong to several dialects: `{{tier}}` is valid for SendGrid and for Iterable. Only
    the first tags are read.
    """
    require_type(str, insertion_code=insertion_code)
    return _recognize_dialects(insertion_code)


@lru_cache(maxsize=_REMEMBERED)
def _recognize_dialects(insertion_code: str) -> tuple[Esp, ...]:
    found = (tag for tag in find_text_tags(insertion_code) if tag.readings)
    tags = list(islice(found, _MAX_TAGS))
    fits = (
        (profile.esp, [_fit(profile, tag) for tag in tags if tag.text[0] == tags[0].text[0]])
        for profile in LIKELY
    )
    return tuple(esp for esp, each in fits if each and min(each) > Fit.NONE and Fit.SIGN in each)


def _fit(profile: Profile, tag: TextTag) -> Fit:
    return tag.readings[profile.esp].fit if profile.esp in tag.readings else Fit.NONE


@lru_cache(maxsize=_REMEMBERED)
def find_unmatched(code: str) -> str | None:
    """Return the first delimiter in the code that is no part of a tag of any ESP, or None."""
    offset = 0
    for tag in find_text_tags(code):
        unmatched = _DELIMITER.search(code, offset, tag.start)
        if unmatched is not None:
            return unmatched[0]
        if not any(each.is_read for each in tag.readings.values()):
            for opening, closing in _PAIRS:
                if tag.text.count(opening) != tag.text.count(closing):
                    return tag.text[:2]
        offset = tag.end
    unmatched = _DELIMITER.search(code, offset)
    return None if unmatched is None else unmatched[0]


def find_unclosed(code: str) -> str | None:
    """Return the first unmatched delimiter if it begins a tag, or None: `{{` in `{{ x`."""
    delimiter = find_unmatched(code)
    is_closing = delimiter is not None and delimiter.startswith(("}", "%}", "]", "=", "|"))
    return None if is_closing else delimiter


def is_foreign(esp: Esp, code: str) -> bool:
    """Return whether the code can be written in other dialects, but not in that of the ESP."""
    dialects = recognize_dialects(code)
    return bool(dialects) and esp not in dialects


def is_certainly_foreign(esp: Esp, code: str) -> bool:
    """Return whether the code is foreign, and is not a variable that the dialect could have.

    Most dialects write variables as `{{name}}`.
    """
    if not is_foreign(esp, code):
        return False
    variable = _VARIABLE.fullmatch(code.strip()) if PROFILES[esp] in WITH_BRACES else None
    if variable is None:
        return True
    return variable["path"] is not None and not all(
        PROFILES[each].vocabulary.any_name for each in recognize_dialects(code)
    )
