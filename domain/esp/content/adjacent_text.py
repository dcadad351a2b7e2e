"""Text next to code: characters that the ESP would read as part of the code."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from ..dialects import Esp


@frozen
class _Rules:
    """The rules of one dialect.

    Text that matches `refused_before` can't be before code. `separator` is code that the ESP
    renders to nothing. It separates code from a closing brace, and if `strips_lines` is true, from
    line breaks: such engines remove lines that contain only the tag of a block. In a block, the
    meaning of text after a match of `established` is not documented.
    """

    refused_before: re.Pattern[str] | None = None
    established: re.Pattern[str] | None = None
    separator: str = ""
    strips_lines: bool = False


_BRACE = re.compile(r"\{\Z")
_BRACE_OR_BACKSLASH = re.compile(r"[{\\]\Z")
"""In Handlebars, a backslash before a tag makes it text."""
_PERCENT = re.compile(r"(?<![%A-Z0-9_/])[A-Z0-9_/]*%[A-Z0-9_/]*\Z")
"""In ActiveCampaign, `%TAG%` can be directly before code, but no other percent sign."""
_COMPLETE_TAGS = re.compile(r"(?>(?:[^%]++|%(?:[A-Z0-9_/]++|(?:ELSE)?IF [^%]++)%)*)")
_DJANGO = _Rules(_BRACE, separator="{# #}")
_LIQUID = _Rules(_BRACE, separator="{% if true %}{% endif %}")
_HANDLEBARS = _Rules(_BRACE_OR_BACKSLASH, separator="{{! }}", strips_lines=True)

_RULES: Mapping[Esp, _Rules] = {
    Esp.SALESFORCE: _Rules(re.compile(r"(?<!%)(?:%%)*%\Z")),
    Esp.MAILCHIMP: _Rules(),
    Esp.KLAVIYO: _DJANGO,
    Esp.BRAZE: _LIQUID,
    Esp.CUSTOMER_IO: _LIQUID,
    Esp.HUBSPOT: _DJANGO,
    Esp.SENDGRID: _HANDLEBARS,
    Esp.ITERABLE: _HANDLEBARS,
    Esp.BREVO: _DJANGO,
    Esp.ACTIVECAMPAIGN: _Rules(_PERCENT, _COMPLETE_TAGS),
}
_MAX_TAG_LENGTH = 64
"""The number of characters before code that are examined."""


def find_refused_end(esp: Esp, text: str) -> int | None:
    """Return the offset of the characters that can't be directly before code, or None."""
    pattern = _RULES[esp].refused_before
    end = text[-_MAX_TAG_LENGTH:]
    match = None if pattern is None else pattern.search(end)
    return None if match is None else len(text) - len(end) + match.start()


def find_unestablished(esp: Esp, text: str) -> int | None:
    """Return the offset of the first character whose meaning in a block is unknown, or None."""
    pattern = _RULES[esp].established
    match = None if pattern is None else pattern.match(text)
    return None if match is None or match.end() == len(text) else match.end()


def separate_start(esp: Esp, text: str, *, is_start_of_block: bool) -> str:
    """Return the text as it must be written directly after code."""
    rules = _RULES[esp]
    white_space = text[: len(text) - len(text.lstrip())]
    is_stripped = is_start_of_block and rules.strips_lines and "\n" in white_space
    return rules.separator + text if text.startswith("}") or is_stripped else text


def separate_end_of_block(esp: Esp, text: str) -> str:
    """Return the text as it must be written directly before the next tag of its block."""
    rules = _RULES[esp]
    white_space = text[len(text.rstrip()) :]
    return text + rules.separator if rules.strips_lines and "\n" in white_space else text
