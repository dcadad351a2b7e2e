"""The wording that messages and pages share: numbers with their nouns, excerpts, and places."""

from __future__ import annotations

from collections.abc import Sequence

from recipient_fields.domain.conditions import TextPosition

_SHOWN_PLACES = 10
_BEFORE, _AFTER = 40, 60
"""Characters of a long line that are shown before and after the column."""


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: `1 field`, `1,000 fields`."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def excerpt(line: str, column: int) -> str:
    """Return the line, or the part around the column if the line is long."""
    start, end = max(0, column - 1 - _BEFORE), column - 1 + _AFTER
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return f"{before}{line[start:end]}{after}"


def other_places(places: Sequence[TextPosition]) -> str:
    """Return a sentence with the first ten places of a caveat after the one that is shown."""
    shown = [f"line {each.line}, column {each.column}" for each in places[:_SHOWN_PLACES]]
    if len(places) > len(shown):
        shown.append(counted(len(places) - len(shown), "other place"))
    return f"Also: {'; '.join(shown)}."
