"""Names of links, the sender and the year at places at which content does not read them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..spans import Spans
from ..suggestions import closest_match
from .html import Html
from .system_values import SYSTEM_VALUES
from .warning_codes import WarningCode

_REFERENCE = re.compile(
    r"\{\{\{?[~-]?\s*+(?P<path>(?P<root>link|today)\.[\w.-]++)(?=[^{}]{0,500}\}\})", re.IGNORECASE
)
_BLOCK = re.compile(r"\{\{~?#(?:if|unless)\s(?P<condition>[^{}]{0,500})")
_SENDER = "|".join(name.removeprefix("sender.") for name in SYSTEM_VALUES if "sender." in name)
_PATH = re.compile(
    rf"""
      "[^"]*" | '[^']*'
    | (?<![\w.]) (?P<path> (?P<root>link|today)\.[\w.-]+ | sender\.(?:{_SENDER})(?![\w.-]) )
    """,
    re.VERBOSE,
)
_VARIABLE = re.compile(
    r"""
    (?: \{%[+-]?\s{0,9}for\s[\w\s,]{0,99}?
      | \{%[+-]?\s{0,9}(?:assign|capture|connected_content|macro|set|with)
        \s(?:[^{}%]|%(?!\})){0,500}?
      | \{\{~?\#[^{}]{0,500}?\bas\s\|[\w\s]{0,99}?
      | \{\{~?\#assign\s["']
    )
    \b(?<!\.)(?P<name>event|link|today)\b(?!\.)
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

    for tag in _REFERENCE.finditer(text):
        is_ours = tag["root"].islower() or tag["path"].lower() in SYSTEM_VALUES
        if is_ours and tag["root"] not in variables and not is_literal(tag):
            yield tag.start(), (WarningCode.REFERENCE_LOOKALIKE, _describe(tag["path"]))
    for tag in _BLOCK.finditer(text):
        path = find_system_path(tag["condition"])
        if path is not None and path["root"] not in variables and not is_literal(tag):
            message = describe_system_path(path["path"])
            yield tag.start(), (WarningCode.CONDITION_LOOKALIKE, message)


def find_variables(text: str) -> set[str]:
    """Return which of the roots `event`, `link` and `today` the code of an ESP sets in the text."""
    return {found["name"] for found in _VARIABLE.finditer(text)}


def find_system_path(condition: str) -> re.Match[str] | None:
    """Return the first name of a system value in a condition, outside of texts. It has no field."""
    return next((found for found in _PATH.finditer(condition) if found["path"]), None)


def describe_system_path(path: str) -> str:
    """Return what to do with this name in a condition."""
    return f"Conditions compare fields only, and `{path}` is none. Remove this condition."


def _describe(path: str) -> str:
    """Return what is wrong with a tag with this name, which would be shown or removed."""
    if path in SYSTEM_VALUES:
        return f"Write only the name between the braces: `{SYSTEM_VALUES[path]}`."
    suggestion = closest_match(path, SYSTEM_VALUES)
    if suggestion is not None:
        return f"Content has no `{path}`. Did you mean `{SYSTEM_VALUES[suggestion]}`?"
    return f"Content has no `{path}`. It has {', '.join(SYSTEM_VALUES)}."
