"""The warnings about tags in content that the ESP does not read, or may not read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import NamedTuple

from ...content.literal_places import find_literal_places
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


def find_foreign_code(
    esp: Esp, text: str, literals: Collection[str], find_key: Callable[[str], str | None]
) -> Iterator[TagWarning]:
    """Yield the warnings about tags that are not code of the ESP.

    `literals` are texts in which no tag is searched. `find_key` returns the key of the field with
    a name in another dialect, or None. Up to 2,000 tags are examined; a warning says so.
    """
    found = find_raw_tags(without_literals(text, literals), esp)
    tags = list(islice(found, _MAX_TAGS + 1))
    local_names = {name for tag in tags for name in names_set_by(esp, tag)}
    places = find_literal_places(text)
    characters = 0
    for index, tag in enumerate(tags):
        characters += len(tag.text)
        if index >= _MAX_TAGS or characters > _MAX_CHARACTERS:
            message = "The tags from here on are not examined for code of other ESPs."
            yield TagWarning(tag.start, WarningCode.POSSIBLY_FOREIGN_CODE, message)
            return
        warning = _warning(esp, tag, judge_tag(esp, tag, local_names), find_key, local_names)
        if warning is not None and places.contain(tag.start):
            message = f"{warning.message} {_LITERAL}"
            warning = TagWarning(tag.start, WarningCode.POSSIBLY_FOREIGN_CODE, message)
        if warning is not None:
            yield warning


def without_literals(text: str, literals: Collection[str]) -> str:
    """Return the text with spaces instead of each literal."""
    for literal in literals:
        text = text.replace(literal, " " * len(literal))
    return text


def _warning(
    esp: Esp,
    tag: RawTag,
    finding: Finding | None,
    find_key: Callable[[str], str | None],
    local_names: Collection[str],
) -> TagWarning | None:
    title = DIALECTS[esp].title
    name = _NAME.fullmatch(tag.text)
    key = None if name is None or name[1] in local_names else find_key(name[1])
    vocabulary = VOCABULARIES[esp]
    if key is not None and name is not None and name[1] not in vocabulary.roots:
        if vocabulary.any_name and finding is None:
            code = WarningCode.POSSIBLY_FOREIGN_CODE
            message = (
                f"{title} reads a value of its own here. Did you mean `{{{{recipient.{key}}}}}`?"
            )
        else:
            code = WarningCode.REFERENCE_LOOKALIKE
            message = f"This is no reference to a field. Did you mean `{{{{recipient.{key}}}}}`?"
        return TagWarning(tag.start, code, message)
    if finding is None:
        return None
    code = WarningCode.POSSIBLY_FOREIGN_CODE
    if finding.is_mistake:
        code = WarningCode.FOREIGN_CODE
    elif finding.reason is Reason.UNKNOWN:
        code = WarningCode.UNKNOWN_WORD
    parts = (_describe(title, finding), _own_form(tag, finding, find_key))
    return TagWarning(tag.start, code, " ".join(filter(None, parts)))


def _describe(title: str, finding: Finding) -> str:
    others = titles(finding.dialects)
    if finding.reason is Reason.DELIMITER:
        if others:
            return f"{title} does not read this code of {others}."
        return f"{title} has no tags in `{finding.word}`. {_LITERAL}"
    if finding.reason is Reason.WORD:
        return f"{title} does not read `{finding.word}`, which is code of {others}."
    if finding.reason is Reason.POSSIBLY_FOREIGN:
        return f"`{finding.word}` may be code of {others}."
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
