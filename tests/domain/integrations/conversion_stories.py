"""What the stories of conversions say is compared with what a conversion returns."""

from __future__ import annotations

import re
from typing import Any

from recipient_fields.domain.integrations import Conversion, ConversionOptions, Outcome, convert

from ...support.stories import Story, matches

MARK = re.compile(r"\[BY HAND: line \d+\]|\[END BY HAND\]")
OF_KLAVIYO = ("a number that is stored as text", "can be shown as the word None")
"""Caveats about each comparison of a number, and about each value without a default."""


def told(story: Story, **options: Any) -> Conversion:
    """Convert the template of a story `READ to WRITE`, or `READ` for portable content, as told.

    - `=> CONTENT`: what the template becomes. Without it, a template with tags by hand stays.
    - `by hand COLUMN: REASON`, for all tags by hand in their order.
    - `caveat COLUMN: REASON`, for the first tag, or for that in the column.
    - `without: TEXT`: no tag has a reason with this text.
    """
    read, _, write = story.esp.partition(" to ")
    chosen = ConversionOptions(**story.options | options)
    converted = convert(story.source, read=read, write=write or "portable", options=chosen)
    if story.result is not None:
        assert converted.content == story.result
    elif story.of("by hand"):
        assert MARK.sub("", converted.content) == story.source
    found = by_hand(converted)
    assert len(found) == len(story.of("by hand")), found
    for (place, reason), (column, text) in zip(found, story.of("by hand"), strict=True):
        assert column in ("", str(place))
        assert matches(text, reason), reason
    for column, text in story.of("caveat"):
        tag = next(t for t in converted.tags if column in ("", str(t.position.column)))
        assert tag.outcome is Outcome.CAVEAT
        assert any(matches(text, each) for each in tag.reasons), tag.reasons
    reasons = [reason for tag in converted.tags for reason in tag.reasons]
    assert not [each for each in reasons if any(text in each for _, text in story.of("without"))]
    return converted


def by_hand(converted: Conversion) -> list[tuple[int, str]]:
    """Return the columns and reasons of the tags by hand."""
    kept = [each for each in converted.tags if each.outcome is Outcome.BY_HAND]
    return [(each.position.column, " ".join(each.reasons)) for each in kept]


def other_reasons(converted: Conversion) -> list[str]:
    """Return the caveats and reasons of the tags, without those of each template of Klaviyo."""
    reasons = [reason for tag in converted.tags for reason in tag.reasons]
    return [each for each in reasons if not any(known in each for known in OF_KLAVIYO)]


def braze(source: str, **options: Any) -> Conversion:
    """Convert a template of Klaviyo for Braze."""
    return convert(source, read="klaviyo", write="braze", options=ConversionOptions(**options))
