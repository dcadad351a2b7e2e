"""The warnings about text in content that looks like code, and that the ESP may not read.

Without an ESP, content must have a meaning at each of them, so no tag is code of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import NamedTuple

from ...content import Content
from ...content.literal_places import find_literal_places
from ...content.resolution import FieldResolver
from ...content.system_values import SystemValue
from ...content.warning_codes import WarningCode
from ..dialects import DIALECTS, Esp
from ..names.conventions import CONVENTIONS
from ..recognition.delimiters import Delimiter, RawTag, find_raw_tags
from ..recognition.foreign import Finding, Reason, judge_tag, names_set_by
from ..recognition.reading import read_tag
from ..recognition.vocabularies import VOCABULARIES
from ..system_codes import SYSTEM_CODES, SystemCode
from ..tags import titles
from .report import Report

_MAX_TAGS = 2_000
_MAX_CHARACTERS = 262_144
"""The number of tags, and of characters in them, that are examined: this takes about 1 s."""
_NAME = re.compile(r"(?:\{\{\{?|\[\[)[~-]?\s*+(\w++)\s*+[~-]?(?:\}\}\}?|\]\])")
_STATEMENT = re.compile(r"\{%[+-]?\s*+(\w++)")
_CONDITION = re.compile(r"\W*+(?:(?:else\s*+)?if|elif|elsif|unless)\b", re.IGNORECASE)
_LITERAL = "If this text must stay as it is, add it to the literals."


class TagWarning(NamedTuple):
    """A warning about the tag at this offset."""

    offset: int
    code: WarningCode
    message: str


def warn_of_tags(
    esp: Esp | None,
    content: Content,
    literals: Collection[str],
    resolver: FieldResolver,
    report: Report,
) -> None:
    """Warn of text that stays although it looks like code, apart from the literals."""
    kept = _without_literals(content.masked, literals)
    lookalikes = set()
    for warning in content.warnings:
        offset = content.lines.offset_of(warning.position)
        if kept[offset] == content.masked[offset]:
            lookalikes.add(offset)
            report.warn(offset, warning.code, warning.message)
    for found in find_foreign_code(esp, kept, content.masked, resolver.find_key):
        if found.offset not in lookalikes:
            report.warn(*found)


def find_foreign_code(
    esp: Esp | None, kept: str, text: str, find_key: Callable[[str], str | None]
) -> Iterator[TagWarning]:
    """Yield the warnings about tags that are not code of the ESP.

    `kept` is the text without its literals. `find_key` returns the key of the field with a name in
    another dialect, or None. Up to 2,000 tags are examined; a warning says so.
    """
    tags = list(islice(find_raw_tags(kept, esp), _MAX_TAGS + 1))
    local_names = set[str]()
    if esp is not None:
        local_names.update(name for tag in tags for name in names_set_by(esp, tag))
    places = find_literal_places(text)
    characters = 0
    for index, tag in enumerate(tags):
        characters += len(tag.text)
        if index >= _MAX_TAGS or characters > _MAX_CHARACTERS:
            message = "The tags from here on are not examined for code of other ESPs."
            yield TagWarning(tag.start, WarningCode.POSSIBLY_FOREIGN_CODE, message)
            return
        finding = judge_tag(esp, tag, local_names)
        warning = _lookalike(esp, tag, finding, find_key, local_names)
        if warning is None and finding is not None:
            warning = _warning(esp, tag, finding, find_key)
        if warning is not None and places.contain(tag.start):
            message = f"{warning.message} {_LITERAL}"
            warning = TagWarning(tag.start, WarningCode.POSSIBLY_FOREIGN_CODE, message)
        if warning is not None:
            yield warning


def _without_literals(text: str, literals: Collection[str]) -> str:
    """Return the text with spaces instead of each literal."""
    for literal in literals:
        text = text.replace(literal, " " * len(literal))
    return text


def _warning(
    esp: Esp | None, tag: RawTag, finding: Finding, find_key: Callable[[str], str | None]
) -> TagWarning:
    code = WarningCode.POSSIBLY_FOREIGN_CODE
    if finding.is_mistake:
        code = WarningCode.FOREIGN_CODE
    elif finding.reason is Reason.UNKNOWN:
        code = WarningCode.UNKNOWN_WORD
    parts = (_describe(esp, finding), _own_form(tag, finding, find_key))
    return TagWarning(tag.start, code, " ".join(filter(None, parts)))


def _lookalike(
    esp: Esp | None,
    tag: RawTag,
    finding: Finding | None,
    find_key: Callable[[str], str | None],
    local_names: Collection[str],
) -> TagWarning | None:
    """Return the warning about a tag that is only the key of a field, such as `{{tier}}`."""
    name = _NAME.fullmatch(tag.text)
    if name is None or name[1] in local_names:
        return None
    key = find_key(name[1])
    if key is None or (esp is not None and name[1] in VOCABULARIES[esp].roots):
        return None
    code, reason = WarningCode.REFERENCE_LOOKALIKE, "This is no reference to a field."
    if esp is not None and VOCABULARIES[esp].any_name and finding is None:
        code = WarningCode.POSSIBLY_FOREIGN_CODE
        reason = f"{DIALECTS[esp].title} reads a value of its own here."
    return TagWarning(tag.start, code, f"{reason} Did you mean `{{{{recipient.{key}}}}}`?")


def _describe(esp: Esp | None, finding: Finding) -> str:
    others = titles(finding.dialects)
    if finding.reason is Reason.POSSIBLY_FOREIGN:
        return f"`{finding.word}` may be code of {others}."
    if esp is None:
        if others:
            return f"This is code of {others}. Other ESPs do not read it."
        return f"Content has no tag like this in `{finding.word}`. {_LITERAL}"
    title = DIALECTS[esp].title
    if finding.reason is Reason.DELIMITER:
        if others:
            return f"{title} does not read this code of {others}."
        return f"{title} has no tags in `{finding.word}`. {_LITERAL}"
    if finding.reason is Reason.WORD:
        return f"{title} does not read `{finding.word}`, which is code of {others}."
    return f"{title} shows nothing for `{finding.word}`, unless your account or other code sets it."


def _own_form(tag: RawTag, finding: Finding, find_key: Callable[[str], str | None]) -> str:
    """Return how content refers to what the tag shows, or an empty text."""
    if not finding.dialects:
        return ""
    value = _find_system_value(tag, finding.dialects)
    if value is not None:
        return f"Write `{value}`."
    key = _find_field(tag, finding.dialects, find_key)
    if key is None:
        return ""
    if _CONDITION.match(tag.text) is not None:
        return f"Write conditions as `{{{{#if recipient.{key} …}}}}…{{{{/if}}}}`."
    if tag.delimiter in {Delimiter.STATEMENT, Delimiter.AMPSCRIPT_BLOCK, Delimiter.BLOCK}:
        return ""
    return f"Write `{{{{recipient.{key}}}}}`."


def _find_field(
    tag: RawTag, dialects: Collection[Esp], find_key: Callable[[str], str | None]
) -> str | None:
    """Return the key of the first field in the tag, `KEY` if it is unknown, or None without one."""
    has_field = False
    for esp in dialects:
        reading = read_tag(esp, tag)
        if reading is None:
            continue
        has_field = has_field or bool(reading.names)
        # The address of the recipient is a system name of Salesforce.
        standard = [
            _standard_keys(esp).get(name.casefold())
            for name in (*reading.names, *reading.system_names)
        ]
        for name in filter(None, (*standard, *reading.names)):
            key = find_key(name)
            if key is not None:
                return key
    return "KEY" if has_field else None


@cache
def _standard_keys(esp: Esp) -> Mapping[str, str]:
    """Return the keys that mean the ESP's own fields, by their names in small letters."""
    return {name.casefold(): key for key, name in CONVENTIONS[esp].standard_fields.items()}


def _find_system_value(tag: RawTag, dialects: Collection[Esp]) -> SystemValue | None:
    """Return what the tag shows by itself in one of the dialects, or None."""
    if _CONDITION.match(tag.text) is not None:
        return None
    statement = _STATEMENT.match(tag.text)
    for esp in dialects:
        reading = read_tag(esp, tag)
        for name in () if reading is None else reading.system_names:
            if statement is None or statement[1] == name:
                value = _values_by_name(esp).get(name.casefold())
                if value is not None:
                    return value
    return None


@cache
def _values_by_name(esp: Esp) -> Mapping[str, SystemValue]:
    """Return the system values by their names in the dialect, in small letters."""
    values: dict[str, SystemValue] = {}
    for value, code in SYSTEM_CODES[esp].items():
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
