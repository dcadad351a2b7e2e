"""The wording that messages and pages share: numbers with their nouns, and excerpts of lines."""

from __future__ import annotations

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
