"""Stories: templates in a text without quotes, each with its result and what is said about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import Factory, define

HEAD = re.compile(r"([\w ]+)((?:, [^:]+)?): (.*)")
EXPECTATION = re.compile(
    r"  (?:=> )?(?:(by hand|caveat|without|refused)(?: (\d+))?: |(?<==> ))(.*)"
)


@define
class Story:
    """A template, its result, and by their kind the other expectations with their columns."""

    title: str
    esp: str
    options: dict[str, Any]
    source: str
    result: str | None = None
    expected: dict[str, list[tuple[str, str]]] = Factory(dict)

    def of(self, kind: str) -> list[tuple[str, str]]:
        """Return the columns, which can be empty, and texts of the expectations of this kind."""
        return self.expected.get(kind, [])


def stories(text: str) -> pytest.MarkDecorator:
    """Parametrize a test with the stories in the text.

    A line `# TITLE` begins a group, and `ESP, OPTION=VALUE, NAME means KEY: TEMPLATE` a story.
    Lines with two spaces are expectations, `=> RESULT` or `KIND COLUMN: TEXT`, in which the column
    can be absent. The first can stand behind a short template. What stands below a title is
    expected of each story in the group. A line with four spaces continues the one before.
    """
    found: list[Story] = []
    story = group = Story("", "", {}, "")
    lines = re.sub(r"(?<=\S) => ", "\n  => ", re.sub(r"\n {4}", "", text.strip()))
    for line in lines.splitlines():
        if line.startswith("# "):
            story = group = Story(line[2:], "", {}, "")
        elif line.startswith("  "):
            kind, column, expected = _groups(EXPECTATION, line)
            if kind:
                story.expected.setdefault(kind, []).append((column, expected))
            else:
                story.result = expected
        else:
            esp, options, source = _groups(HEAD, line)
            of_all = {kind: [*texts] for kind, texts in group.expected.items()}
            story = Story(group.title, esp, _options(options), source, group.result, of_all)
            found.append(story)
    ids = [f"{each.title}: {each.esp}: {each.source}" for each in found]
    return pytest.mark.parametrize("story", found, ids=ids)


def _groups(pattern: re.Pattern[str], line: str) -> Sequence[str]:
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


def matches(text: str, found: str) -> bool:
    """Return whether the texts are equal. `…` in the first one is any text."""
    return re.fullmatch(".*".join(map(re.escape, text.split("…"))), found) is not None
