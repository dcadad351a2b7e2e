"""Look-alikes: text that looks like a reference or a block, but is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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
        "Content has no loops, so this stays in the email as text. Write the loop in the language"
        " of the ESP, with `{{recipient.KEY | expression}}`."
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
