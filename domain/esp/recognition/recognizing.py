"""Recognition of tags: their dialects, what they show, and the names in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from attrs import frozen

from ...arguments import require_type
from ..esps import Esp
from ..profiles import BUILT_IN, PROFILES
from ..profiles.profile import Delimiter, Profile, Syntax
from .delimiters import CODE_IN_BRACES, RawTag, find_raw_tags
from .foreign import Finding, Reason, judge_tag
from .reading import has_delimiter, parse, read_tag
from .roles import Reading, TagRole

__all__ = ["RecognizedTag", "recognize", "recognize_dialects"]

_CLARITY = {Syntax.AMPSCRIPT: 0, Syntax.MERGE_TAGS: 1, Syntax.HANDLEBARS: 4, Syntax.PERCENT_TAGS: 5}
"""The order in which the signs of languages are clear. Those with filters are in the middle."""


def _clarity(profile: Profile) -> int:
    vocabulary = profile.vocabulary
    return 2 if vocabulary.has_interpolation else _CLARITY.get(vocabulary.syntax, 3)


_LIKELY = tuple(each.esp for each in sorted(BUILT_IN, key=_clarity))
"""The dialects, those first whose tags have the clearest signs."""
_MAX_TAGS = 10
_MAX_CHARACTERS = 200
"""The number of tags of an insertion code that are read, and of characters in braces."""
_REMEMBERED = 1_024
"""The number of insertion codes whose dialects are remembered: lists of fields ask repeatedly."""
_MEANINGFUL = {TagRole.FIELD, TagRole.SYSTEM, TagRole.EVENT, TagRole.NESTED}


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
    for tag in find_raw_tags(text, esp):
        dialects = _dialects(tag)
        reader = esp if esp is not None and has_delimiter(esp, tag) else next(iter(dialects), None)
        reading = None if reader is None else read_tag(reader, tag)
        reading = reading or Reading(TagRole.NONE)
        yield RecognizedTag(
            tag.start,
            tag.end,
            tag.text,
            dialects,
            reading.role,
            reading.names,
            reading.system_names,
        )


def recognize_dialects(insertion_code: str) -> tuple[Esp, ...]:
    """Return the ESPs in whose dialects the code can be written, the most likely first.

    The first delimiter selects the group of dialects: braces, percent signs, or Mailchimp's `*|`.
    Some tags belong to several dialects: `{{tier}}` is valid for SendGrid and for Iterable. Only
    the first tags are read, and no tag in braces of over 200 characters.
    """
    require_type(str, insertion_code=insertion_code)
    read: list[tuple[Delimiter, str]] = []
    characters = 0
    first = ""
    for tag in islice(find_raw_tags(insertion_code), _MAX_TAGS):
        has_words = tag.delimiter in CODE_IN_BRACES
        characters += len(tag.text) if has_words else 0
        first = first or tag.text[0]
        if characters > _MAX_CHARACTERS:
            break
        if tag.text[0] == first:
            read.append((tag.delimiter, tag.text if has_words else ""))
    return _dialects_of(tuple(read))


@lru_cache(maxsize=_REMEMBERED)
def _dialects_of(tags: tuple[tuple[Delimiter, str], ...]) -> tuple[Esp, ...]:
    """Return the ESPs that can write these tags. Only those in braces have a text."""
    raw = [RawTag(delimiter, 0, len(text), text) for delimiter, text in tags]
    return tuple(esp for esp in _LIKELY if _is_dialect(esp, raw))


def _is_dialect(esp: Esp, tags: Iterable[RawTag]) -> bool:
    """Return whether the ESP can read all tags, and one has a sign of its dialect."""
    has_sign = False
    for tag in tags:
        if not has_delimiter(esp, tag):
            return False
        finding = judge_tag(esp, tag)
        if finding is not None and finding.is_mistake:
            return False
        has_sign = has_sign or _has_sign(esp, tag, finding)
    return has_sign


def _dialects(tag: RawTag) -> tuple[Esp, ...]:
    findings = [(esp, judge_tag(esp, tag)) for esp in _LIKELY if has_delimiter(esp, tag)]
    signs = [esp for esp, finding in findings if _has_sign(esp, tag, finding)]
    others = [esp for esp, finding in findings if finding is None]
    readers = tuple(dict.fromkeys((*signs, *others)))
    return readers or tuple(
        esp for esp, finding in findings if finding is None or not finding.is_mistake
    )


def _has_sign(esp: Esp, tag: RawTag, finding: Finding | None) -> bool:
    """Return whether the tag has a word of the dialect, and none that is rather of another one.

    `finding` is what is wrong with the tag at the ESP, which has its delimiters.
    """
    vocabulary = PROFILES[esp].vocabulary
    permitted = {Reason.UNKNOWN}
    if vocabulary.has_field_paths:
        permitted.add(Reason.POSSIBLY_FOREIGN)
    if finding is not None and (finding.is_mistake or finding.reason not in permitted):
        return False
    if vocabulary.syntax in {Syntax.AMPSCRIPT, Syntax.MERGE_TAGS, Syntax.PERCENT_TAGS}:
        return True
    if tag.delimiter in vocabulary.delimiters:
        return True
    expression = parse(vocabulary.syntax, tag)
    reading = read_tag(esp, tag)
    is_meaningful = reading is not None and reading.role in _MEANINGFUL
    if vocabulary.syntax is Syntax.HANDLEBARS:
        is_one_value = len(expression.paths) <= 1 and not expression.filters
        if not vocabulary.tags.issuperset(expression.helpers):
            return False
        if not (is_one_value or expression.helpers):
            return False
        is_path = reading is not None and reading.role is TagRole.NESTED
        return bool(expression.helpers) or (
            is_meaningful and (vocabulary.has_field_paths or not is_path)
        )
    return is_meaningful or (
        bool(expression.word)
        and not any(
            expression.word in other.vocabulary.tags for other in BUILT_IN if other.esp is not esp
        )
    )
