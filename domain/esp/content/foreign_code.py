"""The warnings about text in content that looks like code, and that the ESP may not read.

Without an ESP, content must have a meaning at each of them, so no tag is code of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice

from attrs import frozen

from ...content import Content
from ...content.resolution import FieldResolver
from ...content.system_values import SystemValue
from ...content.warning_codes import WarningCode, WarningKind
from ...errors import Rule
from ..conversion.outcomes import find_blocks
from ..languages.blocks import Tag, build_tree
from ..languages.tree import Filtered, Opaque, Output, Path, Unread, find_unread
from ..names import Esp
from ..profiles import Profiles
from ..profiles.profile import Profile, SystemCode
from ..recognition.judging import Finding, Reading, Reason, TextTag
from ..recognition.tags import (
    Start,
    find_text_tags,
    join_starts,
    leave_out,
    read_own_starts,
    read_starts,
)
from ..recognition.words import Words, find_shown
from .report import Report

MAX_TAG_LENGTH = 10_000
"""The number of characters of a tag in braces. Blocks of AMPscript have no limit."""
MAX_TAGS = 1_250
_MAX_CHARACTERS = 65_536
"""The number of tags, and of characters in them, after which no tag is examined."""
_MAX_OPENINGS = 10_000
"""The number of openings of tags after which no text is examined. Most tags have no end then."""
_OPENING = re.compile(r"\{[{%#]|%%|\*\||\[\[")
_LONG_BLOCK = re.compile(rf"%%\[(?:(?!\]%%|%%\[)[\s\S]){{{_MAX_CHARACTERS}}}")
"""A block of AMPscript that is too long to be examined: languages read a whole block."""
_MAX_NAMES = 5
"""The names in a tag that are compared with the fields. A tag of another dialect has a few."""
_BRACES = re.compile(r"\{[{%]")
_ENDS = {"{{": "}}", "{%": "%}"}
_HALF = re.compile(r"%%\[|\]%%")
_LITERAL = "If this text must stay as it is, add it to the literals."
_BY_HAND = "This block is by hand: write it {form}, and delete the marks around it."
_NO_TAG = "`{half}` belongs to no tag. Delete it, or write the whole tag."
_IN_TEMPLATE = "The recipient's client reads the code in this template."
_KEEPING = "Write it so that the ESP keeps it, such as between `{% raw %}` and `{% endraw %}`."
_NOT_EXAMINED = "The tags from here on are not examined for code of other ESPs."
_TOO_LONG = (
    f"A tag in braces has at most {MAX_TAG_LENGTH:,} characters. End it earlier, or write several."
    f" {_LITERAL}"
)


@frozen
class _Meaning:
    """What a tag shows in its dialects: a system value, or fields.

    `keys` are what may be their keys, and `has_field` whether there is a field with any key.
    `is_condition` is whether the tag begins or divides a condition.
    """

    value: SystemValue | None
    keys: tuple[str, ...]
    has_field: bool
    is_condition: bool
    is_output: bool


@frozen(kw_only=True)
class _Examined:
    """The tags of content for one ESP with what is wrong with them, and those without a block."""

    tags: tuple[tuple[TextTag, Finding | None], ...]
    local_names: Collection[str]
    blocks: tuple[Unread, ...]
    end: int | None
    """The first place that is not examined, if there is one."""


@frozen
class _Starts:
    """The places at which tags begin, and the first one that is not examined, or None."""

    starts: tuple[Start, ...]
    end: int | None

    @classmethod
    def of(cls, starts: Iterable[Start]) -> _Starts:
        """Return the first ones, up to the limits."""
        found: list[Start] = []
        characters = 0
        for start in starts:
            if len(found) >= MAX_TAGS or characters > _MAX_CHARACTERS:
                return cls(tuple(found), start.offset)
            found.append(start)
            characters += start.length
        return cls(tuple(found), None)


class ContentTags:
    """The tags in content that stay as they are, and what they mean in other dialects.

    The exports of one content for several targets read each tag once.
    """

    def __init__(self, content: Content, literals: Collection[str], profiles: Profiles) -> None:
        self._content, self._profiles = content, profiles
        self._kept = _without_literals(content.masked, literals)
        self._too_long = tuple(_find_too_long(self._kept))
        for start, end in self._too_long:
            self._kept = self._kept[:start] + " " * (end - start) + self._kept[end:]
        self._examined: dict[Esp | None, _Examined] = {}
        self._read: dict[str, _Starts] = {}
        self._meanings: dict[tuple[int, tuple[Esp, ...]], _Meaning] = {}

    def warn(self, esp: Esp | None, resolver: FieldResolver | None, report: Report) -> None:
        """Warn of text that looks like code of others than the ESP, apart from the literals.

        The warnings say which references to the fields of the resolver are meant. Without one, the
        text is code of the ESP only, and there are no references.
        Up to 1,250 tags are examined. A warning is at the first other one. Refuse tags in braces
        that are too long.
        """
        lookalikes = set[int]()
        for warning in self._content.warnings:
            offset = self._content.lines.offset_of(warning.position)
            if self._kept[offset] == self._content.masked[offset]:
                lookalikes.add(offset)
                report.warn(offset, warning.code, warning.message)
        if esp not in self._examined:
            self._examined[esp] = self._examine(esp)
        examined = self._examined[esp]
        for offset, _ in self._too_long:
            report.refuse(offset, _TOO_LONG, rule=Rule.TOO_LONG)
        if examined.end is not None:
            report.warn(examined.end, WarningCode.POSSIBLY_FOREIGN_CODE, _NOT_EXAMINED)
        self._warn_of_blocks(esp, report)
        for offset, half in _find_halves(self._kept, examined):
            message = f"{_NO_TAG.format(half=half)} {_LITERAL}"
            report.warn(offset, *self._at(esp, offset, WarningCode.UNREADABLE_CODE, message))
        is_complete = not self._too_long and examined.end is None
        for tag, finding in examined.tags:
            found = self._find_warning(esp, tag, finding, examined.local_names, resolver)
            is_mistake = found is not None and found[0].kind is WarningKind.MISTAKE
            own = None if esp is None else tag.readings.get(esp)
            is_unread = own is not None and own.tag.unread is not None
            if tag.start in lookalikes or is_mistake or is_unread:
                is_complete = False
            if found is not None and tag.start not in lookalikes:
                report.warn(tag.start, *found)
        if is_complete:
            for each in examined.blocks:
                finding = Finding(Reason.SYNTAX, each.reason, is_mistake=True)
                report.warn(each.start, *self._warning(esp, each.start, finding))

    def _warn_of_blocks(self, esp: Esp | None, report: Report) -> None:
        """Warn of the blocks that a conversion has left to a person."""
        title = None if esp is None else self._profiles[esp].title
        form = "as portable content" if title is None else f"for {title}"
        for offset in find_blocks(self._kept):
            report.warn(offset, WarningCode.FOREIGN_CODE, _BY_HAND.format(form=form))

    def _examine(self, esp: Esp | None) -> _Examined:
        """Return the tags with what is wrong with them at the ESP.

        Its languages read them. The others read only the rest, which several ESPs can share.
        """
        text = self._kept[: find_examined_end(self._kept)]
        profiles = self._profiles
        own = _Starts.of(() if esp is None else read_own_starts(text, profiles[esp], profiles))
        rest = leave_out(text[: own.end], own.starts)
        if rest not in self._read:
            self._read[rest] = _Starts.of(read_starts(rest, profiles))
        starts = _Starts.of(join_starts(own.starts, self._read[rest].starts))
        ends = (own.end, self._read[rest].end, starts.end, len(text))
        end = min(each for each in ends if each is not None)
        until = (each for each in starts.starts if each.offset < end)
        tags = tuple(find_text_tags(self._kept, profiles, esp, until))
        own_tags = [tag for tag in tags if esp in tag.readings]
        local_names = {
            name for tag in own_tags for each in _setters(tag, esp) for name in each.words.sets
        }
        nodes = build_tree(
            each.tag
            for tag in own_tags
            for each in tag.readings.values()
            if each.profile.esp == esp
        )
        return _Examined(
            tags=tuple((tag, self._judge(esp, tag, local_names)) for tag in tags),
            local_names=local_names,
            blocks=tuple(each for each in find_unread(nodes) if each.is_alone),
            end=end if end < len(self._kept) else None,
        )

    def _find_warning(
        self,
        esp: Esp | None,
        tag: TextTag,
        finding: Finding | None,
        local_names: Collection[str],
        resolver: FieldResolver | None,
    ) -> tuple[WarningCode, str] | None:
        """Return the warning that the tag needs, or None."""
        profile = None if esp is None else self._profiles[esp]
        if resolver is not None:
            warning = _lookalike(profile, tag, finding, resolver, local_names)
            if warning is not None:
                return self._at(esp, tag.start, *warning)
        is_for_client = tag.text.startswith("{{") and self._content.html.is_in_template(tag.start)
        if finding is None or (is_for_client and esp is not None and esp not in tag.readings):
            return None  # The ESP does not read what the recipient's client reads.
        form = "" if resolver is None else self._own_form(tag, finding, resolver)
        return self._warning(esp, tag.start, finding, form)

    def _warning(
        self, esp: Esp | None, offset: int, finding: Finding, form: str = ""
    ) -> tuple[WarningCode, str]:
        message = " ".join(filter(None, (self._describe(esp, finding), form)))
        return self._at(esp, offset, _code(finding), message)

    def _at(
        self, esp: Esp | None, offset: int, code: WarningCode, message: str
    ) -> tuple[WarningCode, str]:
        """Return the warning, which is a caveat at a place where any code can be meant."""
        html = self._content.html
        if not html.is_literal(offset):
            return code, message
        advice = _LITERAL
        if self._content.source[offset] == "{" and html.is_in_template(offset):
            keeping = _KEEPING if esp is None else self._profiles[esp].keeping
            advice = f"{_IN_TEMPLATE} {keeping}" if keeping else _LITERAL
        return WarningCode.POSSIBLY_FOREIGN_CODE, f"{message} {advice}"

    def _judge(self, esp: Esp | None, tag: TextTag, local_names: Collection[str]) -> Finding | None:
        own = None if esp is None else tag.readings.get(esp)
        if own is not None and own.tag.unread is not None:
            place = slice(own.tag.start, own.tag.end)
            if self._content.source[place] != self._content.masked[place]:
                return None  # A tag with a reference is code of both languages.
        return tag.judge(esp, local_names)

    def _describe(self, esp: Esp | None, finding: Finding) -> str:
        others = " or ".join(map(self._profiles.title, finding.dialects))
        if finding.reason is Reason.POSSIBLY_FOREIGN and not finding.dialects:
            return f"`{finding.word}` may be a tag of another sender."
        if finding.reason is Reason.POSSIBLY_FOREIGN:
            return f"`{finding.word}` may be code of {others}."
        if esp is None:
            if others:
                return f"This is code of {others}. Other ESPs do not read it."
            return f"Content has no tag like this in `{finding.word}`. {_LITERAL}"
        title = self._profiles[esp].title
        if finding.reason is Reason.SYNTAX:
            if not finding.is_mistake:
                return f"{finding.word} No source establishes that {title} does."
            code = f"this code of {others}" if others else "this"
            return f"{title} does not read {code}. {finding.word}"
        if finding.reason is Reason.DELIMITER:
            if others:
                return f"{title} does not read this code of {others}."
            return f"{title} has no tags in `{finding.word}`. {_LITERAL}"
        if finding.reason is Reason.WORD:
            return f"{title} does not read `{finding.word}`, which is code of {others}."
        return (
            f"{title} shows nothing for `{finding.word}`, unless your account or other code sets"
            " it."
        )

    def _own_form(self, tag: TextTag, finding: Finding, resolver: FieldResolver) -> str:
        """Return how content refers to what the tag shows, or an empty text."""
        if not finding.dialects:
            return ""
        place = tag.start, finding.dialects
        if place not in self._meanings:
            self._meanings[place] = _find_meaning(tag, finding.dialects)
        meaning = self._meanings[place]
        if meaning.value is not None:
            return f"Write `{meaning.value}`."
        keys = filter(None, map(resolver.find_key, meaning.keys))
        key = next(keys, "KEY" if meaning.has_field else None)
        if key is None:
            return ""
        if meaning.is_condition:
            return f"Write conditions as `{{{{#if recipient.{key} …}}}}…{{{{/if}}}}`."
        return f"Write `{{{{recipient.{key}}}}}`." if meaning.is_output else ""


def _without_literals(text: str, literals: Collection[str]) -> str:
    """Return the text with spaces instead of each literal."""
    for literal in literals:
        text = text.replace(literal, " " * len(literal))
    return text


def _setters(tag: TextTag, esp: Esp | None) -> Iterator[Reading]:
    """Yield the readings in which a tag of the ESP sets names.

    A statement that the ESP does not have, or does not read, is read as others do.
    """
    is_statement = tag.text.startswith("{%")
    for reading in tag.readings.values():
        if reading.profile.esp == esp or is_statement:
            yield reading
        if reading.profile.esp == esp and is_statement and reading.finding is not None:
            dialects = (tag.profiles[each] for each in reading.finding.dialects)
            others = map(tag.read_as, dialects)
            yield from (each for each in others if each is not None)


def _find_too_long(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of tags in braces that are too long."""
    offset, unclosed = 0, set[str]()
    while len(unclosed) < len(_ENDS) and (opening := _BRACES.search(text, offset)) is not None:
        offset, last = opening.end(), _ENDS[opening[0]]
        end = -1 if last in unclosed else text.find(last, offset)
        if end < 0:
            unclosed.add(last)
            continue
        offset = end + len(last) + text.startswith("}", end + len(last))  # the last one of `}}}`
        if offset - opening.start() > MAX_TAG_LENGTH:
            yield opening.start(), offset


def _find_halves(text: str, examined: _Examined) -> Iterator[tuple[int, str]]:
    """Yield the delimiters of blocks of AMPscript that are in no tag, with their offsets."""
    offset = 0
    end = len(text) if examined.end is None else examined.end
    for start, last in (*((tag.start, tag.end) for tag, _ in examined.tags), (end, end)):
        for half in _HALF.finditer(text, offset, start):
            yield half.start(), half[0]
        offset = last


def find_examined_end(text: str) -> int | None:
    """Return the first place in the text that is not examined, or None."""
    openings = (each.start() for each in _OPENING.finditer(text))
    end = next(islice(openings, _MAX_OPENINGS, None), None)
    block = _LONG_BLOCK.search(text[:end])
    return end if block is None else block.start()


def _code(finding: Finding) -> WarningCode:
    if finding.is_mistake:
        is_foreign = finding.reason is not Reason.SYNTAX or finding.dialects
        return WarningCode.FOREIGN_CODE if is_foreign else WarningCode.UNREADABLE_CODE
    is_unknown = finding.reason is Reason.UNKNOWN
    return WarningCode.UNKNOWN_WORD if is_unknown else WarningCode.POSSIBLY_FOREIGN_CODE


def _lookalike(
    profile: Profile | None,
    tag: TextTag,
    finding: Finding | None,
    resolver: FieldResolver,
    local_names: Collection[str],
) -> tuple[WarningCode, str] | None:
    """Return the warning about a tag that is only the key of a field, such as `{{tier}}`."""
    name = _only_name(tag)
    if name is None or name in local_names:
        return None
    key = resolver.find_key(name)
    if key is None or (profile is not None and name in profile.vocabulary.roots):
        return None
    code, reason = WarningCode.REFERENCE_LOOKALIKE, "This is no reference to a field."
    if profile is not None and profile.vocabulary.any_name and finding is None:
        code = WarningCode.POSSIBLY_FOREIGN_CODE
        reason = f"{profile.title} reads a value of its own here."
    return code, f"{reason} Did you mean `{{{{recipient.{key}}}}}`?"


def _only_name(tag: TextTag) -> str | None:
    """Return the name if the tag is only a name in braces or brackets, such as `{{tier}}`."""
    for reading in tag.readings.values() if tag.text.startswith(("{{", "[[")) else ():
        match reading.tag.parts:
            case [Output(value=Path([str() as name] | ["[[]]", str() as name]))]:
                return None if tag.text.startswith("{{[") else name
    return None


def _find_meaning(tag: TextTag, dialects: Iterable[Esp]) -> _Meaning:
    """Return what the tag shows in these dialects."""
    profiles = map(tag.profiles.__getitem__, dialects)
    found = {each: reading for each in profiles if (reading := tag.read_as(each))}
    keys: dict[str, None] = {}
    for profile, reading in found.items():
        # The address of the recipient is a system name of Salesforce.
        names = reading.shown.names[:_MAX_NAMES]
        for name in (*names, *reading.shown.system_names[:_MAX_NAMES]):
            standard = _standard_keys(profile).get(name.casefold())
            if standard is not None:
                keys[standard] = None
        keys.update(dict.fromkeys(names))
    is_output = any(isinstance(part, Output) for each in found.values() for part in each.tag.parts)
    return _Meaning(
        value=_find_system_value(found),
        keys=tuple(keys),
        has_field=any(each.shown.names for each in found.values()),
        is_condition=any(each.words.is_condition for each in found.values()),
        is_output=is_output,
    )


@cache
def _standard_keys(profile: Profile) -> Mapping[str, str]:
    """Return the keys that mean the ESP's own fields, by their names in small letters."""
    return {name.casefold(): key for key, name in profile.names.standard_fields.items()}


def _find_system_value(readings: Mapping[Profile, Reading]) -> SystemValue | None:
    """Return what the tag shows by itself in one of the dialects, or None."""
    for profile, reading in readings.items():
        names: tuple[str, ...] = ()
        match reading.tag.parts:
            case [Output()]:
                names = reading.shown.system_names
            case [Opaque(name=name)]:
                names = (name,)
        values = _values_by_name(profile)
        for name in names:
            if name.casefold() in values:
                return values[name.casefold()]
    return None


@cache
def _values_by_name(profile: Profile) -> Mapping[str, SystemValue]:
    """Return the system values by their names in the dialect, in small letters."""
    values: dict[str, SystemValue] = {}
    for value, code in profile.system_codes.items():
        if isinstance(code, SystemCode):
            # `{{ local_dt|format_datetime('yyyy') }}` shows only a part of what the name means.
            tags = (each for each in profile.find_tags(code.code) if not _has_filter(each))
            shown = (find_shown(Words.of(tag, profile.vocabulary)) for tag in tags)
            names = (name for each in shown for name in each.system_names)
            for name in (*names, *code.also):
                values.setdefault(name.casefold(), value)
    return values


def _has_filter(tag: Tag) -> bool:
    match tag.parts:
        case [Output(value=Filtered())]:
            return True
    return False
