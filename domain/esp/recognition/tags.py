"""The tags in a text: each ESP reads them in its own languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from heapq import merge
from itertools import islice
from operator import attrgetter

from attrs import define

from ...arguments import require_type
from ..languages.blocks import Certainty, Language, Tag, find_places, scan
from ..languages.tree import Output, Path
from ..names import Esp
from ..profiles import BUILT_IN, Profiles
from ..profiles.profile import Profile, Syntax
from .judging import Fit, Reading, TextTag, has_braces

__all__ = ["recognize_dialects"]

_CLARITY = {Syntax.AMPSCRIPT: 0, Syntax.MERGE_TAGS: 1, Syntax.HANDLEBARS: 4, Syntax.PERCENT_TAGS: 5}
"""The order in which the signs of languages are clear. Those with filters are in the middle."""


def _clarity(profile: Profile) -> int:
    """Return the place of a dialect in that order. `${…}` is a clear sign, and any name is none."""
    vocabulary = profile.vocabulary
    if vocabulary.any_name:
        return _CLARITY[Syntax.HANDLEBARS]
    return 2 if "$" in vocabulary.fields else _CLARITY.get(vocabulary.syntax, 3)


_ENDS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_MAX_TAGS = 10
"""The number of tags of an insertion code that are read."""
_REMEMBERED = 1_024
"""The number of insertion codes whose dialects are remembered: lists of fields ask repeatedly."""
_DELIMITER = re.compile(r"\{\{|\{%|%%\[|%%=|\*\||\[\[(?=\w)|%(?:ELSE)?IF\s|\}\}|%\}|\]%%|=%%|\|\*")
_PAIRS = (("{", "}"), ("[", "]"), ("%%=", "=%%"))
_VARIABLE = re.compile(r"\{\{\s*\w+(?P<path>\.[\w.]+)?\s*\}\}")


@cache
def _by_clarity(profiles: Profiles) -> tuple[Profile, ...]:
    """Return the profiles, those first whose tags have the clearest signs."""
    return tuple(sorted(profiles, key=_clarity))


@cache
def _languages(profiles: Profiles) -> tuple[Language, ...]:
    """Return the languages of all ESPs."""
    languages = (language for each in _by_clarity(profiles) for language in each.languages)
    return tuple(dict.fromkeys(languages))


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


def read_own_starts(text: str, profile: Profile, profiles: Profiles) -> Iterator[Start]:
    """Yield the places at which tags of the ESP begin, in order."""
    for tag in profile.find_tags(text):
        yield Start(tag.start, {profile.esp: Reading(profile, tag, profiles)})


def read_starts(text: str, profiles: Profiles) -> Iterator[Start]:
    """Yield the places at which tags of any ESP begin, in order. Each language reads once."""
    for offset, tags in find_places(text, (*_languages(profiles), read_sender_tags)):
        readings = {
            each.esp: Reading(each, tag, profiles)
            for each in _by_clarity(profiles)
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
    text: str,
    profiles: Profiles,
    target: Esp | None = None,
    starts: Iterable[Start] | None = None,
) -> Iterator[TextTag]:
    """Yield the tags of all dialects, without those in another tag.

    `target` is the ESP for which the text is written: its tags end where it reads their end. A tag
    that no ESP reads, and that has no end, is text. `starts` are those of the text, if it is read.
    """
    offset = 0
    for start in read_starts(text, profiles) if starts is None else starts:
        end = _end(text, start, target) if start.offset >= offset else None
        if end is not None:
            offset = end
            code = text[start.offset : end]
            yield TextTag(start.offset, end, code, start.readings, profiles)


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


def recognize_dialects(insertion_code: str, profiles: Profiles = BUILT_IN) -> tuple[Esp, ...]:
    """Return the ESPs in whose dialects the code can be written, the most likely first.

    The first delimiter selects the group of dialects: braces, percent signs, or Mailchimp's `*|`.
    Some tags belong to several dialects: `{{tier}}` is valid for SendGrid and for Iterable. Only
    the first tags are read.
    """
    require_type(str, insertion_code=insertion_code)
    require_type(Profiles, profiles=profiles)
    return _recognize_dialects(insertion_code, profiles)


@lru_cache(maxsize=_REMEMBERED)
def _recognize_dialects(insertion_code: str, profiles: Profiles) -> tuple[Esp, ...]:
    found = (tag for tag in find_text_tags(insertion_code, profiles) if tag.readings)
    tags = list(islice(found, _MAX_TAGS))
    fits = (
        (profile.esp, [_fit(profile, tag) for tag in tags if tag.text[0] == tags[0].text[0]])
        for profile in _by_clarity(profiles)
    )
    return tuple(esp for esp, each in fits if each and min(each) > Fit.NONE and Fit.SIGN in each)


def _fit(profile: Profile, tag: TextTag) -> Fit:
    return tag.readings[profile.esp].fit if profile.esp in tag.readings else Fit.NONE


@lru_cache(maxsize=_REMEMBERED)
def find_unmatched(code: str, profiles: Profiles) -> str | None:
    """Return the first delimiter in the code that is no part of a tag of any ESP, or None."""
    offset = 0
    for tag in find_text_tags(code, profiles):
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


def find_unclosed(code: str, profiles: Profiles) -> str | None:
    """Return the first unmatched delimiter if it begins a tag, or None: `{{` in `{{ x`."""
    delimiter = find_unmatched(code, profiles)
    is_closing = delimiter is not None and delimiter.startswith(("}", "%}", "]", "=", "|"))
    return None if is_closing else delimiter


def is_foreign(profiles: Profiles, profile: Profile, code: str) -> bool:
    """Return whether the code can be written in other dialects, but not in that of the ESP."""
    dialects = recognize_dialects(code, profiles)
    return bool(dialects) and profile.esp not in dialects


def is_certainly_foreign(profiles: Profiles, profile: Profile, code: str) -> bool:
    """Return whether the code is foreign, and is not a variable that the dialect could have.

    Most dialects write variables as `{{name}}`.
    """
    if not is_foreign(profiles, profile, code):
        return False
    own = profile.vocabulary
    others = [profiles[each].vocabulary for each in recognize_dialects(code, profiles)]
    if not own.any_name and any(each.any_name and each.syntax is own.syntax for each in others):
        return False
    variable = _VARIABLE.fullmatch(code.strip()) if has_braces(profile) else None
    if variable is None:
        return True
    return variable["path"] is not None and not all(each.any_name for each in others)


# Tags of senders that are no ESP here

_SENDER_TAG = re.compile(
    r"""
      (?<![{$])\{
        (?P<braces>[!$]?[A-Za-z_][\w.]{2,99}(?:=[\w.]{1,100}(?:\|[^{}\n|]{0,100})?)?)
      \}(?!\})
    | \[(?P<brackets>[A-Za-z_]\w{0,99}),\s{0,9}fallback=[^\[\]\n]{0,100}\]
    | \[\[(?:data|var):(?P<data>\w{1,100})(?::"[^"\n]{0,100}")?\]\]
    | %recipient\.(?P<percent>\w{1,100})%
    """,
    re.ASCII | re.VERBOSE,
)
"""Mautic: https://docs.mautic.org/en/channels/variables, Campaign Monitor:
https://help.campaignmonitor.com/personalize-emails, Account Engagement (Pardot): `{!Field}`,
MailerLite: `{$name}`, Mailgun: https://documentation.mailgun.com/docs/mailgun/user-manual,
Mailjet's data: `[[data:name:"text"]]`."""


def read_sender_tags(text: str) -> Iterator[Tag]:
    """Yield the tags of senders that are no ESP here, in order. All of them can be text."""
    return scan(text, _SENDER_TAG, _read_sender_tag)


def _read_sender_tag(tag: re.Match[str]) -> Tag:
    start, end = tag.span()
    name = Path((tag[tag.lastgroup or 0],))
    return Tag(start, end, (Output(start, end, name),), Certainty.POSSIBLE)
