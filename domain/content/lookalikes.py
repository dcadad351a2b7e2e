"""Look-alikes: text that looks like a reference, a block or a system value, but is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..spans import Spans
from ..suggestions import closest_match
from .html import Html
from .system_values import SYSTEM_VALUES
from .warning_codes import WarningCode

_BRACE = r"(?:[{\uff5b]|%7B|&\#0*123;|&\#x0*7B;|&lbrace;|&lcub;)"
_CLOSING_BRACE = r"(?:[}\uff5d]|%7D|&\#0*125;|&\#x0*7D;|&rbrace;|&rcub;)"
_NOISE = r"(?>(?:[\s~\#\u200b-\u200d\u2060\ufeff]|%20|&nbsp;|&\#160;|</?[A-Z][^<>]{0,200}>){0,20})"
"""What editors insert between the characters of a reference."""

_WORD = re.compile("recipient", re.IGNORECASE)
_REFERENCE = re.compile(
    rf"""
      (?>(?:{_BRACE}{_NOISE}){{2,4}}) recipients?+ (?!\w)
    | {_BRACE}{_NOISE} recipients?+ {_NOISE} (?:\.|%2E)
    | \{{[{{%#] [^{{}}]{{0,200}}? (?<![\w.])recipients?+\.\w
    | (?<![\w.])recipients?+\.\w{{1,63}}+ {_NOISE} {_CLOSING_BRACE}{{2}}
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""All quantifiers have limits, so that the search takes linear time."""
_BEFORE, _AFTER = 500, 200
"""The number of characters around the word `recipient` in which a look-alike is searched."""
_BLOCK = re.compile(r"\{\{#if\s[^{}()]{0,200}?(?:[=<>]|\bis\s|\scontains\s)")

_CONDITION_TAG = re.compile(r"\{\{~?\s*+(?:\#|if\b)|\{%[+-]?\s*+(?:(?:el(?:se?)?)?if|unless)\b")
"""The beginning of a condition in other languages, such as `{{#ifEq` or `{% if`."""

MESSAGES: Mapping[WarningCode, str] = {
    WarningCode.REFERENCE_LOOKALIKE: (
        "This looks like a reference, but it stays in the email as text. Write it as"
        " `{{recipient.KEY}}`."
    ),
    WarningCode.CONDITION_LOOKALIKE: (
        "This looks like a condition, but it stays in the email as text. Write conditions as"
        " `{{#if recipient.KEY …}}…{{/if}}`."
    ),
    WarningCode.UNLESS_LOOKALIKE: (
        "Content has no `{{#unless}}`, so this stays in the email as text. Write"
        " `{{#if not recipient.KEY}}…{{/if}}`."
    ),
    WarningCode.LOOP_LOOKALIKE: (
        "A loop reads a list of event data, not a field. Write `{{#each event.NAME as item}}"
        "…{{/each}}`."
    ),
    WarningCode.CONDITION_MISSING: ("This tag has no condition. Write `{{#if recipient.KEY …}}`."),
    WarningCode.OUTER_BRACES: (
        "The outer braces of `{{{…}}}` stay in the email. Write two braces."
    ),
}
"""The messages of the warnings that the parser reports."""


def find_lookalikes(text: str) -> Iterator[tuple[int, WarningCode]]:
    """Yield the offset of each look-alike in a text without references, and its code."""
    for start, end in _places(text):
        for match in _REFERENCE.finditer(text, start, end):
            code = WarningCode.REFERENCE_LOOKALIKE
            if _CONDITION_TAG.match(match[0]) is not None:
                code = WarningCode.CONDITION_LOOKALIKE
            yield match.start(), code
    for match in _BLOCK.finditer(text):
        yield match.start(), WarningCode.CONDITION_LOOKALIKE


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of the text that contain the word `recipient`. They don't overlap."""
    start = end = 0
    for word in _WORD.finditer(text):
        if word.start() - _BEFORE > end:
            yield start, end
            start = word.start() - _BEFORE
        end = word.end() + _AFTER
    yield start, end


# Names of links, the sender and the year

_SYSTEM_REFERENCE = re.compile(
    r"\{\{\{?[~-]?\s*+(?P<path>(?P<root>link|today)\.[\w.-]++)(?=[^{}]{0,500}\}\})", re.IGNORECASE
)
_SYSTEM_BLOCK = re.compile(r"\{\{~?#(?:if|unless)\s(?P<condition>[^{}]{0,500})")
_SENDER = "|".join(name.removeprefix("sender.") for name in SYSTEM_VALUES if "sender." in name)
_SYSTEM_PATH = re.compile(
    rf"""
      "[^"]*" | '[^']*'
    | (?<![\w.]) (?P<path> (?P<root>link|today)\.[\w.-]+ | sender\.(?:{_SENDER})(?![\w.-]) )
    """,
    re.VERBOSE,
)
# The languages of ESPs say this, too. But the names of a content are those of this project or of an
# ESP before an ESP is known, and this room imports no language.
_SET_VARIABLE = re.compile(
    r"""
    (?: \{%[+-]?\s{0,9}for\s(?:(?!\bin\s)[\w\s,]){0,99}?
      | \{%[+-]?\s{0,9}(?:assign|capture|set)\s[^{}%=]{0,500}?
      | \{%[+-]?\s{0,9}macro\s(?:[^{}%]|%(?!\})){0,500}?
      | \{%[+-]?\s{0,9}(?P<with>with)\s(?:[^{}%]|%(?!\})){0,500}?
      | \{%[+-]?\s{0,9}connected_content\s(?:[^{}%]|%(?!\})){0,500}?:save\s{1,9}
      | \{\{~?\#[^{}]{0,500}?\bas\s\|[\w\s]{0,99}?
      | \{\{~?\#assign\s["']
    )
    \b(?<!\.)(?P<name>event|link|today)\b(?!\.) (?(with)\s{0,9}=)
    """,
    re.VERBOSE,
)
"""A tag in which a language of ESPs sets a variable. All quantifiers have limits."""


def find_system_lookalikes(
    text: str, raw_parts: Spans
) -> Iterator[tuple[int, tuple[WarningCode, str]]]:
    """Yield the offset of each tag with such a name, its code, and what to write instead.

    The text has no valid references. Names that begin with `link.` or `today.` are ours, except in
    `raw_parts` and scripts, and unless the text sets such a variable.
    """
    variables = find_variables(text)
    html = Html(text)

    def is_literal(tag: re.Match[str]) -> bool:
        return raw_parts.contain(tag.start()) or html.is_literal(tag.start())

    for tag in _SYSTEM_REFERENCE.finditer(text):
        is_ours = tag["root"].islower() or tag["path"].lower() in SYSTEM_VALUES
        if is_ours and tag["root"] not in variables and not is_literal(tag):
            yield tag.start(), (WarningCode.REFERENCE_LOOKALIKE, _describe_reference(tag["path"]))
    for tag in _SYSTEM_BLOCK.finditer(text):
        path = find_system_path(tag["condition"])
        if path is not None and path["root"] not in variables and not is_literal(tag):
            message = describe_system_path(path["path"])
            yield tag.start(), (WarningCode.CONDITION_LOOKALIKE, message)


def find_variables(text: str) -> set[str]:
    """Return which of the roots `event`, `link` and `today` the code of an ESP sets in the text."""
    return {found["name"] for found in _SET_VARIABLE.finditer(text)}


def find_system_path(condition: str) -> re.Match[str] | None:
    """Return the first name of a system value in a condition, outside of texts. It has no field."""
    return next((found for found in _SYSTEM_PATH.finditer(condition) if found["path"]), None)


def describe_system_path(path: str) -> str:
    """Return what to do with this name in a condition."""
    return f"Conditions compare fields only, and `{path}` is none. Remove this condition."


def _describe_reference(path: str) -> str:
    """Return what is wrong with a tag with this name, which would be shown or removed."""
    if path in SYSTEM_VALUES:
        return f"Write only the name between the braces: `{SYSTEM_VALUES[path]}`."
    suggestion = closest_match(path, SYSTEM_VALUES)
    if suggestion is not None:
        return f"Content has no `{path}`. Did you mean `{SYSTEM_VALUES[suggestion]}`?"
    return f"Content has no `{path}`. It has {', '.join(SYSTEM_VALUES)}."
