"""Stories of conversions: a template, what it becomes, and what the report says about its tags."""

from __future__ import annotations

import re
from typing import Any

import pytest
from attrs import Factory, define

from recipient_fields.domain.integrations import Conversion, ConversionOptions, Outcome, convert

HEAD = re.compile(r"(\w+)(?: to (\w+))?((?:, [^:]+)?): (.*)")
EXPECTATION = re.compile(r" *(?:=> )?(?:(by hand|caveat|without)(?: (\d+))?: )?(.*)")
MARK = re.compile(r"\[BY HAND: line \d+\]|\[END BY HAND\]")
OF_KLAVIYO = ("a number that is stored as text", "can be shown as the word None")
"""Caveats about each comparison of a number, and about each value without a default."""


@define
class Story:
    """A template and what is expected, as `stories` describes it."""

    title: str
    read: str
    write: str
    options: dict[str, Any]
    source: str
    content: str | None = None
    by_hand: list[tuple[str, str]] = Factory(list)
    caveats: list[tuple[str, str]] = Factory(list)
    absent: list[str] = Factory(list)

    def converted(self, **options: Any) -> Conversion:
        """Convert the template, and compare all that is expected."""
        options = self.options | options
        converted = convert(
            self.source, read=self.read, write=self.write, options=ConversionOptions(**options)
        )
        if self.content is not None:
            assert converted.content == self.content
        elif self.by_hand:
            assert MARK.sub("", converted.content) == self.source
        found = by_hand(converted)
        assert len(found) == len(self.by_hand), found
        for (place, reason), (column, text) in zip(found, self.by_hand, strict=True):
            assert column in ("", str(place))
            assert matches(text, reason), reason
        for column, text in self.caveats:
            tag = next(t for t in converted.tags if column in ("", str(t.position.column)))
            assert tag.outcome is Outcome.CAVEAT
            assert any(matches(text, each) for each in tag.reasons), tag.reasons
        reasons = [reason for tag in converted.tags for reason in tag.reasons]
        assert not [each for each in reasons if any(text in each for text in self.absent)]
        return converted


def stories(text: str) -> pytest.MarkDecorator:
    """Parametrize a test with stories.

    A line `# TITLE` begins a group, and `READ to WRITE, OPTION=VALUE, NAME means KEY: TEMPLATE` a
    story, without `to WRITE` one of portable content. Lines with two spaces are expectations:

    - `=> CONTENT`: what the template becomes. Without it, a template with tags by hand stays.
    - `by hand COLUMN: REASON`, for all tags by hand in their order.
    - `caveat COLUMN: REASON`, for the first tag, or for that in the column.
    - `without: TEXT`: no tag has a reason with this text.

    The first expectation can stand behind a short template. A line with four spaces continues the
    one before. `…` in a reason is any text.
    """
    found: list[Story] = []
    title = ""
    lines = re.sub(r"(?<=\S) => ", "\n  => ", re.sub(r"\n {4}", "", text.strip()))
    for line in lines.splitlines():
        if line.startswith("# "):
            title = line[2:]
        elif line.startswith("  "):
            _expect(found[-1], *_groups(EXPECTATION, line))
        else:
            read, write, options, source = _groups(HEAD, line)
            found.append(Story(title, read, write or "portable", _options(options), source))
    ids = [f"{each.title}: {each.read}: {each.source}" for each in found]
    return pytest.mark.parametrize("story", found, ids=ids)


def _groups(pattern: re.Pattern[str], line: str) -> tuple[str, ...]:
    match = pattern.fullmatch(line)
    assert match is not None, line
    return match.groups(default="")


def _options(text: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for option in text.split(", ")[1:]:
        name, is_name, key = option.partition(" means ")
        if is_name:
            options.setdefault("names", {})[name] = key
        else:
            name, _, value = option.partition("=")
            options[name] = value or True
    return options


def _expect(story: Story, kind: str, column: str, text: str) -> None:
    if kind == "by hand":
        story.by_hand.append((column, text))
    elif kind == "caveat":
        story.caveats.append((column, text))
    elif kind == "without":
        story.absent.append(text)
    else:
        story.content = text


def matches(text: str, reason: str) -> bool:
    """Return whether the reason is the text, in which `…` is any text."""
    return re.fullmatch(".*".join(map(re.escape, text.split("…"))), reason) is not None


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
