"""The tags of the ESP that content contains, in which most code does not work."""

from __future__ import annotations

from bisect import bisect_right

from ...content import Content
from ..profiles.profile import Profile
from ..tags import Tag, find_tags


class NativeTags:
    """The tags in which content is written in the language of the ESP."""

    def __init__(self, profile: Profile, content: Content) -> None:
        self._title, self._lines = profile.title, content.lines
        self.tags = tuple(find_tags(profile, content.masked))
        self._starts = [tag.start for tag in self.tags]

    def find(self, offset: int) -> Tag | None:
        """Return the tag in which the offset is, or None."""
        index = bisect_right(self._starts, offset) - 1
        return self.tags[index] if index >= 0 and offset < self.tags[index].end else None

    def has_end(self, offset: int) -> bool:
        """Return whether a tag ends at this offset."""
        tag = self.find(offset - 1)
        return tag is not None and tag.end == offset

    def explain(self, tag: Tag, key: str) -> str:
        """Return why a reference with this key, or a block, can't be in the tag."""
        if not tag.is_read:
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
        position, opening = self._lines.position(tag.start), " ".join(tag.opening.split())
        return f"`{opening}` in line {position.line}, column {position.column}"
