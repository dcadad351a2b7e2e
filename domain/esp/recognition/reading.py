"""What a tag shows for one dialect, and the names in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ..esps import Esp
from ..profiles import PROFILES
from ..profiles.profile import Delimiter, Syntax, Vocabulary
from .ampscript import read_ampscript
from .delimiters import DELIMITERS, RawTag
from .expressions import Expression, Path, parse_handlebars, parse_piped
from .roles import Reading, TagRole, reading_of

_TOKEN_FUNCTION = re.compile(r"""personalization_token\(\s*+["']contact\.(\w++)["']""")
_MERGE_CONDITIONS = {"ELSEIF", "IF", "IFNOT", "UNLESS"}
_MERGE_NAME = re.compile(r"\s*+([\w:]++)")
_PERCENT_NAME = re.compile(r"\$([A-Z0-9_-]++)")
_WORD = re.compile(r"\w++")
_LOOPS = {"break", "continue", "cycle", "each", "endfor", "endtablerow", "for", "tablerow"}
_LOOP_STATES = {"forloop", "loop", "tablerowloop"}


def has_delimiter(esp: Esp, tag: RawTag) -> bool:
    """Return whether the dialect of the ESP has tags with these delimiters."""
    vocabulary = PROFILES[esp].vocabulary
    if vocabulary.syntax is Syntax.AMPSCRIPT and tag.delimiter is Delimiter.EXPRESSION:
        expression = parse_piped(tag)
        return any(path[0] in vocabulary.events and len(path) > 1 for path in expression.paths)
    return tag.delimiter in DELIMITERS[vocabulary.syntax] or tag.delimiter in vocabulary.delimiters


def read_tag(esp: Esp, tag: RawTag) -> Reading | None:
    """Return what the tag shows for the ESP, or None if the dialect has no such delimiters."""
    return (
        _READERS[PROFILES[esp].vocabulary.syntax](tag, PROFILES[esp].vocabulary)
        if has_delimiter(esp, tag)
        else None
    )


def parse(syntax: Syntax, tag: RawTag) -> Expression:
    """Return the expression in a tag with braces, in one of the languages with braces."""
    return parse_handlebars(tag) if syntax is Syntax.HANDLEBARS else parse_piped(tag)


def _read_ampscript(tag: RawTag, vocabulary: Vocabulary) -> Reading:
    if tag.delimiter is Delimiter.EXPRESSION:
        return Reading(TagRole.EVENT)
    return read_ampscript(tag, vocabulary)


def _read_merge_tag(tag: RawTag, vocabulary: Vocabulary) -> Reading:
    name = tag.text[2:-2].strip()
    word, _, rest = name.partition(":")
    if word.upper() in vocabulary.tags:
        shown = _MERGE_NAME.match(rest) if word.upper() in _MERGE_CONDITIONS else None
        if shown is None:
            return Reading(TagRole.NONE)
        name = shown[1]
    elif not _is_merge_name(name, vocabulary) and rest and word.upper() in vocabulary.filters:
        name = rest.strip()
    role = TagRole.FIELD
    if vocabulary.is_system(name.upper()):
        role = TagRole.SYSTEM
    elif vocabulary.is_event(name.upper()):
        role = TagRole.EVENT
    return reading_of([(role, name)], TagRole.NONE)


def _is_merge_name(name: str, vocabulary: Vocabulary) -> bool:
    return vocabulary.is_system(name.upper()) or vocabulary.is_event(name.upper())


def _read_percent_tag(tag: RawTag, vocabulary: Vocabulary) -> Reading:
    if tag.delimiter is Delimiter.PERCENT_CONDITION:
        names = [match[1] for match in _PERCENT_NAME.finditer(tag.text)]
    else:
        names = [tag.text[1:-1].partition("|")[0]]
    return reading_of([(_percent_role(name, vocabulary), name) for name in names], TagRole.NONE)


def _percent_role(name: str, vocabulary: Vocabulary) -> TagRole:
    if vocabulary.is_system(name):
        return TagRole.SYSTEM
    return TagRole.EVENT if vocabulary.is_event(name) else TagRole.FIELD


def _read_piped(tag: RawTag, vocabulary: Vocabulary) -> Reading:
    expression = parse_piped(tag)
    found = [*_interpolated(expression, vocabulary), *_piped(expression, vocabulary)]
    if "personalization_token" in expression.calls and vocabulary.syntax is Syntax.HUBL:
        found += [(TagRole.FIELD, match[1]) for match in _TOKEN_FUNCTION.finditer(tag.text)]
    if expression.word in vocabulary.system_tags:
        found.append((TagRole.SYSTEM, expression.word))
    is_loop = expression.word in _LOOPS
    otherwise = TagRole.NONE
    if any(path[0] in _LOOP_STATES for path in expression.paths):
        otherwise = TagRole.LOOP
    elif expression.paths or expression.sets:
        otherwise = TagRole.ASSIGNED
    return reading_of(found, otherwise, only=TagRole.LOOP if is_loop else None)


def _interpolated(expression: Expression, vocabulary: Vocabulary) -> Iterator[tuple[TagRole, str]]:
    """Yield the values of Braze: `${NAME}` and `NAMESPACE.${NAME}`."""
    for value in expression.interpolations:
        name = f"{value.namespace}.{value.name}" if value.namespace else value.name
        if vocabulary.is_system(name):
            yield TagRole.SYSTEM, name
        elif value.namespace in vocabulary.events:
            yield TagRole.EVENT, name
        elif value.namespace in vocabulary.fields or not value.namespace:
            yield TagRole.NESTED if value.has_tail else TagRole.FIELD, value.name


def _piped(expression: Expression, vocabulary: Vocabulary) -> Iterator[tuple[TagRole, str]]:
    for path in dict.fromkeys(expression.paths):
        root, name = path[0], ".".join(path)
        if root in expression.sets:
            continue
        if root in vocabulary.fields and len(path) > 1:
            if re.fullmatch(vocabulary.field_pattern, path[1]):
                yield (TagRole.FIELD, path[1]) if len(path) == 2 else (TagRole.NESTED, name)
        elif root in vocabulary.bare_fields and len(path) == 1:
            yield TagRole.FIELD, root
        elif vocabulary.is_system(name):
            yield TagRole.SYSTEM, name
        elif root in vocabulary.events:
            yield TagRole.EVENT, name
        elif root in vocabulary.nested:
            yield TagRole.NESTED, name


def _read_handlebars(tag: RawTag, vocabulary: Vocabulary) -> Reading:
    if tag.delimiter in {Delimiter.SUBSTITUTION, Delimiter.LEGACY_TAG}:
        role = TagRole.FIELD if tag.text.startswith("[%") else TagRole.SYSTEM
        return reading_of([(role, _WORD.findall(tag.text)[0])], TagRole.NONE)
    expression = parse_handlebars(tag)
    if tag.delimiter is Delimiter.FEED:
        is_nested = any(len(path) > 1 and path[0] != "this" for path in expression.paths)
        return Reading(TagRole.NESTED if is_nested else TagRole.NONE)
    found = [_handlebars(path, vocabulary) for path in dict.fromkeys(expression.paths)]
    is_loop = expression.word in _LOOPS
    return reading_of(
        [(role, name) for role, name in found if role is not TagRole.NONE],
        TagRole.NONE,
        only=TagRole.LOOP if is_loop else None,
    )


def _handlebars(path: Path, vocabulary: Vocabulary) -> tuple[TagRole, str]:
    root, name = path[0], ".".join(path)
    if root in vocabulary.local:
        return TagRole.NONE, name
    if root in vocabulary.fields and len(path) == 2:
        return TagRole.FIELD, path[1]
    if vocabulary.is_system(name):
        return TagRole.SYSTEM, name
    if root in vocabulary.events:
        return TagRole.EVENT, name
    if len(path) > 1:
        return TagRole.NESTED, name
    is_field = re.fullmatch(vocabulary.field_pattern, root, re.ASCII) is not None
    return (TagRole.FIELD if is_field else TagRole.NONE), name


_READERS: Mapping[Syntax, Callable[[RawTag, Vocabulary], Reading]] = {
    Syntax.AMPSCRIPT: _read_ampscript,
    Syntax.MERGE_TAGS: _read_merge_tag,
    Syntax.PERCENT_TAGS: _read_percent_tag,
    Syntax.LIQUID: _read_piped,
    Syntax.DJANGO: _read_piped,
    Syntax.HUBL: _read_piped,
    Syntax.HANDLEBARS: _read_handlebars,
}
