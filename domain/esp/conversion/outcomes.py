"""What a conversion does with each tag of a template."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from ...conditions import TextPosition


class Outcome(Enum):
    """What a conversion did with a tag. The values are the names in documents."""

    CONVERTED = "converted"
    """It shows the same text."""
    CAVEAT = "caveat"
    """It shows the same text, except for the values that the caveats name."""
    DROPPED = "dropped"
    """It had a meaning only in the editor, the archive or the campaigns of the source."""
    BY_HAND = "by_hand"
    """It stays as it is."""
    CONSEQUENCE = "consequence"
    """It stays as it is, because it is in a block that is by hand."""


@frozen(kw_only=True)
class ConvertedTag:
    """A tag of the source, its place in it, and what the conversion did with it.

    `reasons` are the caveats, or why the tag is by hand, and what to do.
    """

    position: TextPosition
    text: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()


class ByHand(Exception):
    """Code that is not converted. The message is a sentence that says why, and what to do."""
