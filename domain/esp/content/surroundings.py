"""What surrounds code in content: tags of the ESP, in which most code does not work, and text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ...content import Content
from ..languages.blocks import Tag
from ..profiles.profile import Profile

_SHOWN = 24
"""The characters of a tag that a message shows."""


class NativeTags:
    """The tags in which content is written in the language of the ESP. They are read as needed."""

    def __init__(self, profile: Profile, content: Content) -> None:
        self._title, self._content = profile.title, content
        self._rest = profile.find_tags(content.masked)
        self._tags: list[Tag] = []
        self._starts: list[int] = []

    def starts(self) -> Sequence[int]:
        """Return the offsets of all tags."""
        self._read_to(len(self._content.masked))
        return self._starts

    def find(self, offset: int) -> Tag | None:
        """Return the tag in which the offset is, or None."""
        self._read_to(offset)
        index = bisect_right(self._starts, offset) - 1
        return self._tags[index] if index >= 0 and offset < self._tags[index].end else None

    def _read_to(self, offset: int) -> None:
        while not self._starts or self._starts[-1] <= offset:
            tag = next(self._rest, None)
            if tag is None:
                break
            self._tags.append(tag)
            self._starts.append(tag.start)

    def has_end(self, offset: int) -> bool:
        """Return whether a tag ends at this offset."""
        tag = self.find(offset - 1)
        return tag is not None and tag.end == offset

    def explain(self, tag: Tag, key: str) -> str:
        """Return why a reference with this key, or a block, can't be in the tag."""
        if not tag.is_code:
            return (
                f"{self._title} does not read code after {self._place(tag)}. Move this out of that"
                " part."
            )
        return (
            f"This is inside a tag of {self._title}: {self._place(tag)}. Write conditions as"
            f' `{{{{#if recipient.{key} = "gold"}}}}…{{{{/if}}}}`, or insert the value'
            f" expression with `{{{{recipient.{key} | expression}}}}`."
        )

    def explain_system_value(self, tag: Tag) -> str:
        """Return why the code of a link, the sender or the year can't be in the tag."""
        return f"This is inside code of {self._title}: {self._place(tag)}. Move it out."

    def _place(self, tag: Tag) -> str:
        position = self._content.lines.position(tag.start)
        beginning = self._content.source[tag.start : tag.start + _SHOWN]
        shown = " ".join(beginning.split()) + "…" * (tag.end - tag.start > _SHOWN)
        return f"`{shown}` in line {position.line}, column {position.column}"


# Characters next to code that the ESP would read as a part of it

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
    white_space = text[: len(text) - len(text.lstrip())]
    is_separated = is_start_of_block and _is_stripped(profile, white_space)
    return profile.adjacent_text.separator * (text.startswith("}") or is_separated) + text


def separate_end(profile: Profile, text: str, *, is_end_of_block: bool) -> str:
    """Return the text as it must be written directly before code."""
    rules = profile.adjacent_text
    escape = rules.escape * text.endswith(rules.escape)
    is_separated = is_end_of_block and _is_stripped(profile, text[len(text.rstrip()) :])
    return text + escape + rules.separator * is_separated


def _is_stripped(profile: Profile, white_space: str) -> bool:
    """Return whether the engine does not show all of the white space beside the tag of a block."""
    return profile.adjacent_text.find_stripped is not None and "\n" in white_space
