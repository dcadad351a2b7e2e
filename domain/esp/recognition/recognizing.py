"""Recognition of tags: their dialects, what they show, and the names in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from attrs import frozen

from ...arguments import require_type
from ..esps import Esp
from ..profiles import BUILT_IN, Profiles
from ..profiles.profile import Profile
from .judging import has_sign, judge_tag
from .roles import Reading, TagRole, read_tag
from .tags import TextTag, by_clarity, find_text_tags, read_starts

__all__ = ["RecognizedTag", "recognize", "recognize_dialects"]

_MAX_TAGS = 10
"""The number of tags of an insertion code that are read."""
_REMEMBERED = 1_024
"""The number of insertion codes whose dialects are remembered: lists of fields ask repeatedly."""


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


def recognize(
    text: str, esp: Esp | None = None, profiles: Profiles = BUILT_IN
) -> Iterator[RecognizedTag]:
    """Yield the tags of all dialects in the text, in order.

    If `esp` is given, each tag is read as the ESP reads it, if it can. The time is proportional to
    the length of the text.
    """
    require_type(str, text=text)
    require_type(Esp | None, esp=esp)
    require_type(Profiles, profiles=profiles)
    for tag in find_text_tags(text, read_starts(text, profiles), esp):
        if not tag.readings:
            continue
        dialects = _dialects(profiles, tag)
        own = None if esp is None else tag.readings.get(esp)
        is_read = own is not None and (own.unread is None or own.unread.meant is not None)
        reader = esp if is_read else next(iter(dialects), None)
        reading = Reading(TagRole.NONE)
        if reader is not None:
            reading = read_tag(tag.readings[reader], profiles[reader].vocabulary)
        yield RecognizedTag(
            tag.start,
            tag.end,
            tag.text,
            dialects,
            reading.role,
            reading.names,
            reading.system_names,
        )


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
    starts = read_starts(insertion_code, profiles)
    found = (tag for tag in find_text_tags(insertion_code, starts, None) if tag.readings)
    tags = list(islice(found, _MAX_TAGS))
    tags = [tag for tag in tags if tag.text[0] == tags[0].text[0]]
    return tuple(each.esp for each in by_clarity(profiles) if _is_dialect(profiles, each, tags))


def _is_dialect(profiles: Profiles, profile: Profile, tags: list[TextTag]) -> bool:
    """Return whether the ESP can read all tags, and one has a sign of its dialect."""
    is_signed = False
    for each in tags:
        tag = each.readings.get(profile.esp)
        if tag is None:
            return False
        finding = judge_tag(profiles, profile, tag)
        if finding is not None and finding.is_mistake:
            return False
        is_signed = is_signed or has_sign(profiles, profile, tag)
    return is_signed


def _dialects(profiles: Profiles, tag: TextTag) -> tuple[Esp, ...]:
    findings = {esp: judge_tag(profiles, profiles[esp], each) for esp, each in tag.readings.items()}
    signs = [esp for esp, each in tag.readings.items() if has_sign(profiles, profiles[esp], each)]
    others = [esp for esp, finding in findings.items() if finding is None]
    return tuple(dict.fromkeys((*signs, *others))) or tuple(
        esp for esp, finding in findings.items() if finding is None or not finding.is_mistake
    )
