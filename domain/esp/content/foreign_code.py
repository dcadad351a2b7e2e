"""The warnings about text in content that looks like code, and that the ESP may not read.

Without an ESP, content must have a meaning at each of them, so no tag is code of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice

from attrs import frozen

from ...content import Content
from ...content.literal_places import find_literal_places
from ...content.resolution import FieldResolver
from ...content.system_values import SystemValue
from ...content.warning_codes import WarningCode, WarningKind
from ...errors import Rule
from ...spans import Spans
from ..esps import Esp
from ..languages.tree import Unread, find_unread
from ..profiles import PROFILES
from ..profiles.profile import Delimiter, SystemCode
from ..recognition.delimiters import CODE_IN_BRACES, RawTag, find_raw_tags
from ..recognition.foreign import Finding, Reason, judge_tag, names_set_by
from ..recognition.reading import has_delimiter, read_tag
from ..recognition.roles import Reading
from ..tags import titles
from .report import Report

MAX_TAG_LENGTH = 10_000
"""The number of characters of a tag in braces. Blocks of AMPscript have no limit."""
_MAX_TAGS = 2_000
_MAX_CHARACTERS = 65_536
"""The number of tags, and of characters in them, after which no tag is examined."""
_MAX_OPENINGS = 10_000
"""The number of openings of tags after which no text is examined. Most tags have no end then."""
_OPENING = re.compile(r"\{[{%#]|%%|%[A-Z]|\*\||\[\[")
_MAX_NAMES = 5
"""The names in a tag that are compared with the fields. A tag of another dialect has a few."""
_NAME = re.compile(r"(?:\{\{\{?|\[\[)[~-]?\s*+(\w++)\s*+[~-]?(?:\}\}\}?|\]\])")
_STATEMENT = re.compile(r"\{%[+-]?\s*+(\w++)")
_CONDITION = re.compile(r"\W*+(?:(?:else\s*+)?if|elif|elsif|unless)\b", re.IGNORECASE)
_LITERAL = "If this text must stay as it is, add it to the literals."
_NOT_EXAMINED = "The tags from here on are not examined for code of other ESPs."
_TOO_LONG = (
    f"A tag in braces has at most {MAX_TAG_LENGTH:,} characters. End it earlier, or write several."
    f" {_LITERAL}"
)


@frozen
class _Meaning:
    """What a tag shows in its dialects: a system value, or fields.

    `keys` are what may be their keys, and `has_field` whether there is a field with any key.
    """

    value: SystemValue | None
    keys: tuple[str, ...]
    has_field: bool


@frozen(kw_only=True)
class _Examined:
    """The tags of content for one ESP with what is wrong with them, and what it does not read.

    `too_long` are the offsets of tags that are too long, and `rest` is that of the first tag or
    text that is not examined.
    """

    tags: tuple[tuple[RawTag, Finding | None], ...]
    local_names: Collection[str]
    unread: tuple[Unread, ...]
    too_long: tuple[int, ...]
    rest: int | None


class ContentTags:
    """The tags in content that stay as they are, and what they mean in other dialects.

    The exports of one content for several targets read each tag once.
    """

    def __init__(self, content: Content, literals: Collection[str]) -> None:
        self._content = content
        self._kept = _without_literals(content.masked, literals)
        openings = (each.start() for each in _OPENING.finditer(self._kept))
        self._end = next(islice(openings, _MAX_OPENINGS, None), len(self._kept))
        self._literal_places = find_literal_places(content.masked)
        self._examined: dict[Esp | None, _Examined] = {}
        self._foreign: dict[tuple[Delimiter, str], Finding | None] = {}
        self._meanings: dict[tuple[str, tuple[Esp, ...]], _Meaning] = {}

    def warn(self, esp: Esp | None, resolver: FieldResolver, report: Report) -> None:
        """Warn of text that looks like code of others than the ESP, apart from the literals.

        Up to 2,000 tags are examined. A warning is at the first other one. Refuse tags in braces
        that are too long.
        """
        lookalikes, wrong = set(), list[tuple[int, int]]()
        for warning in self._content.warnings:
            offset = self._content.lines.offset_of(warning.position)
            if self._kept[offset] == self._content.masked[offset]:
                lookalikes.add(offset)
                report.warn(offset, warning.code, warning.message)
        if esp not in self._examined:
            self._examined[esp] = self._examine(esp)
        examined = self._examined[esp]
        for offset in examined.too_long:
            report.refuse(offset, _TOO_LONG, rule=Rule.TOO_LONG)
        if examined.rest is not None:
            report.warn(examined.rest, WarningCode.POSSIBLY_FOREIGN_CODE, _NOT_EXAMINED)
        unread_places = {each.start for each in examined.unread if not each.is_alone}
        for tag, finding in examined.tags:
            found = self._find_warning(esp, tag, finding, examined.local_names, resolver)
            is_mistake = found is not None and found[0].kind is WarningKind.MISTAKE
            if tag.start in lookalikes or is_mistake:
                wrong.append((tag.start, tag.end))
            is_unread = tag.start in unread_places and not is_mistake
            if found is not None and tag.start not in lookalikes and not is_unread:
                report.warn(tag.start, *found)
        if esp is not None:
            is_complete = not (wrong or examined.too_long) and examined.rest is None
            self._warn_of_syntax(
                esp, examined.unread, Spans(wrong), report, is_complete=is_complete
            )

    def _warn_of_syntax(
        self,
        esp: Esp,
        found: Sequence[Unread],
        wrong: Spans,
        report: Report,
        *,
        is_complete: bool,
    ) -> None:
        """Warn of code that the language of the ESP does not read, apart from the wrong tags.

        A tag with a reference is code of both languages. If a tag is not read, those of its block
        are not examined.
        """
        is_complete = is_complete and all(each.is_alone for each in found)
        for each in found:
            place = slice(each.start, each.end)
            has_reference = self._content.source[place] != self._content.masked[place]
            is_known = has_reference or wrong.contain(each.start)
            if not is_known and (is_complete or not each.is_alone):
                self._warn_of_unread(esp, each, report)

    def _warn_of_unread(self, esp: Esp, unread: Unread, report: Report) -> None:
        profile = PROFILES[esp]
        is_caveat = unread.reason in profile.unestablished
        message = f"{profile.title} does not read this. {unread.reason}"
        if is_caveat:
            message = f"{unread.reason} No source establishes that {profile.title} does."
        if self._literal_places.contain(unread.start):
            is_caveat, message = True, f"{message} {_LITERAL}"
        code = WarningCode.POSSIBLY_FOREIGN_CODE if is_caveat else WarningCode.UNREADABLE_CODE
        report.warn(unread.start, code, message)

    def _examine(self, esp: Esp | None) -> _Examined:
        """Return the tags that are examined, with what is wrong with them."""
        tags: list[RawTag] = []
        too_long: list[int] = []
        text, characters = self._kept[: self._end], 0
        rest = self._end if self._end < len(self._kept) else None
        for tag in find_raw_tags(text, esp):
            if tag.delimiter in CODE_IN_BRACES and len(tag.text) > MAX_TAG_LENGTH:
                too_long.append(tag.start)
                text = text[: tag.start] + " " * len(tag.text) + text[tag.end :]
                continue
            is_own = esp is not None and has_delimiter(esp, tag)
            before, characters = characters, characters + len(tag.text)
            if len(tags) >= _MAX_TAGS or (characters if is_own else before) > _MAX_CHARACTERS:
                rest, text = tag.start, text[: tag.start]
                break
            tags.append(tag)
        local_names = set[str]()
        if esp is not None:
            local_names.update(name for tag in tags for name in names_set_by(esp, tag))
        return _Examined(
            tags=tuple((tag, self._judge(esp, tag, local_names)) for tag in tags),
            local_names=local_names,
            unread=() if esp is None else tuple(find_unread(PROFILES[esp].read(text))),
            too_long=tuple(too_long),
            rest=rest,
        )

    def _find_warning(
        self,
        esp: Esp | None,
        tag: RawTag,
        finding: Finding | None,
        local_names: Collection[str],
        resolver: FieldResolver,
    ) -> tuple[WarningCode, str] | None:
        """Return the warning that the words of the tag need, or None."""
        warning = _lookalike(esp, tag, finding, resolver, local_names)
        if warning is None and finding is not None:
            form = self._own_form(tag, finding, resolver)
            message = " ".join(filter(None, (_describe(esp, finding), form)))
            warning = _code(finding), message
        if warning is not None and self._literal_places.contain(tag.start):
            return WarningCode.POSSIBLY_FOREIGN_CODE, f"{warning[1]} {_LITERAL}"
        return warning

    def _judge(self, esp: Esp | None, tag: RawTag, local_names: Collection[str]) -> Finding | None:
        if esp is not None and has_delimiter(esp, tag):
            return judge_tag(esp, tag, local_names)
        key = tag.delimiter, tag.text
        if key not in self._foreign:
            self._foreign[key] = judge_tag(None, tag)
        return self._foreign[key]

    def _own_form(self, tag: RawTag, finding: Finding, resolver: FieldResolver) -> str:
        """Return how content refers to what the tag shows, or an empty text."""
        place = tag.text, finding.dialects
        if place not in self._meanings:
            self._meanings[place] = _find_meaning(tag, finding.dialects)
        meaning = self._meanings[place]
        if meaning.value is not None:
            return f"Write `{meaning.value}`."
        keys = filter(None, map(resolver.find_key, meaning.keys))
        key = next(keys, "KEY" if meaning.has_field else None)
        if key is None:
            return ""
        if _CONDITION.match(tag.text) is not None:
            return f"Write conditions as `{{{{#if recipient.{key} …}}}}…{{{{/if}}}}`."
        if tag.delimiter in {Delimiter.STATEMENT, Delimiter.AMPSCRIPT_BLOCK, Delimiter.BLOCK}:
            return ""
        return f"Write `{{{{recipient.{key}}}}}`."


def _without_literals(text: str, literals: Collection[str]) -> str:
    """Return the text with spaces instead of each literal."""
    for literal in literals:
        text = text.replace(literal, " " * len(literal))
    return text


def _code(finding: Finding) -> WarningCode:
    if finding.is_mistake:
        return WarningCode.FOREIGN_CODE
    is_unknown = finding.reason is Reason.UNKNOWN
    return WarningCode.UNKNOWN_WORD if is_unknown else WarningCode.POSSIBLY_FOREIGN_CODE


def _lookalike(
    esp: Esp | None,
    tag: RawTag,
    finding: Finding | None,
    resolver: FieldResolver,
    local_names: Collection[str],
) -> tuple[WarningCode, str] | None:
    """Return the warning about a tag that is only the key of a field, such as `{{tier}}`."""
    name = _NAME.fullmatch(tag.text)
    if name is None or name[1] in local_names:
        return None
    key = resolver.find_key(name[1])
    if key is None or (esp is not None and name[1] in PROFILES[esp].vocabulary.roots):
        return None
    code, reason = WarningCode.REFERENCE_LOOKALIKE, "This is no reference to a field."
    if esp is not None and PROFILES[esp].vocabulary.any_name and finding is None:
        code = WarningCode.POSSIBLY_FOREIGN_CODE
        reason = f"{PROFILES[esp].title} reads a value of its own here."
    return code, f"{reason} Did you mean `{{{{recipient.{key}}}}}`?"


def _describe(esp: Esp | None, finding: Finding) -> str:
    others = titles(finding.dialects)
    if finding.reason is Reason.POSSIBLY_FOREIGN:
        return f"`{finding.word}` may be code of {others}."
    if esp is None:
        if others:
            return f"This is code of {others}. Other ESPs do not read it."
        return f"Content has no tag like this in `{finding.word}`. {_LITERAL}"
    title = PROFILES[esp].title
    if finding.reason is Reason.DELIMITER:
        if others:
            return f"{title} does not read this code of {others}."
        return f"{title} has no tags in `{finding.word}`. {_LITERAL}"
    if finding.reason is Reason.WORD:
        return f"{title} does not read `{finding.word}`, which is code of {others}."
    return f"{title} shows nothing for `{finding.word}`, unless your account or other code sets it."


def _find_meaning(tag: RawTag, dialects: Iterable[Esp]) -> _Meaning:
    """Return what the tag shows in these dialects."""
    read = [(esp, read_tag(esp, tag)) for esp in dialects]
    readings = [(esp, reading) for esp, reading in read if reading is not None]
    keys: dict[str, None] = {}
    for esp, reading in readings:
        # The address of the recipient is a system name of Salesforce.
        names = reading.names[:_MAX_NAMES]
        for name in (*names, *reading.system_names[:_MAX_NAMES]):
            standard = _standard_keys(esp).get(name.casefold())
            if standard is not None:
                keys[standard] = None
        keys.update(dict.fromkeys(names))
    return _Meaning(
        value=_find_system_value(tag, readings),
        keys=tuple(keys),
        has_field=any(reading.names for _, reading in readings),
    )


@cache
def _standard_keys(esp: Esp) -> Mapping[str, str]:
    """Return the keys that mean the ESP's own fields, by their names in small letters."""
    return {name.casefold(): key for key, name in PROFILES[esp].names.standard_fields.items()}


def _find_system_value(tag: RawTag, readings: Sequence[tuple[Esp, Reading]]) -> SystemValue | None:
    """Return what the tag shows by itself in one of the dialects, or None."""
    if _CONDITION.match(tag.text) is not None:
        return None
    statement = _STATEMENT.match(tag.text)
    for esp, reading in readings:
        for name in reading.system_names:
            if statement is None or statement[1] == name:
                value = _values_by_name(esp).get(name.casefold())
                if value is not None:
                    return value
    return None


@cache
def _values_by_name(esp: Esp) -> Mapping[str, SystemValue]:
    """Return the system values by their names in the dialect, in small letters."""
    values: dict[str, SystemValue] = {}
    for value, code in PROFILES[esp].system_codes.items():
        if isinstance(code, SystemCode):
            # `{{ local_dt|format_datetime('yyyy') }}` shows only a part of what the name means.
            tags = (each for each in find_raw_tags(code.code) if not _has_filter(each))
            readings = (read_tag(esp, tag) for tag in tags)
            names = (name for each in readings if each is not None for name in each.system_names)
            for name in (*names, *code.also):
                values.setdefault(name.casefold(), value)
    return values


def _has_filter(tag: RawTag) -> bool:
    return tag.delimiter is Delimiter.EXPRESSION and "|" in tag.text
