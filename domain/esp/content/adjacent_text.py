"""Text next to code: characters that the ESP would read as part of the code."""

from __future__ import annotations

from ..profiles.profile import Profile

_MAX_TAG_LENGTH = 64
"""The number of characters before code that are examined."""


def find_refused_end(profile: Profile, text: str) -> int | None:
    """Return the offset of the characters that can't be directly before code, or None."""
    pattern = profile.adjacent_text.refused_before
    end = text[-_MAX_TAG_LENGTH:]
    match = None if pattern is None else pattern.search(end)
    return None if match is None else len(text) - len(end) + match.start()


def find_unestablished(profile: Profile, text: str) -> int | None:
    """Return the offset of the first character whose meaning in a block is unknown, or None."""
    pattern = profile.adjacent_text.established
    match = None if pattern is None else pattern.match(text)
    return None if match is None or match.end() == len(text) else match.end()


def separate_start(profile: Profile, text: str, *, is_start_of_block: bool) -> str:
    """Return the text as it must be written directly after code."""
    rules = profile.adjacent_text
    white_space = text[: len(text) - len(text.lstrip())]
    is_stripped = is_start_of_block and rules.strips_lines and "\n" in white_space
    return rules.separator + text if text.startswith("}") or is_stripped else text


def separate_end_of_block(profile: Profile, text: str) -> str:
    """Return the text as it must be written directly before the next tag of its block."""
    rules = profile.adjacent_text
    white_space = text[len(text.rstrip()) :]
    return text + rules.separator if rules.strips_lines and "\n" in white_space else text
