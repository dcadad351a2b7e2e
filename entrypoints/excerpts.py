"""Excerpts of lines, in messages and on pages."""

from __future__ import annotations

_BEFORE, _AFTER = 40, 60
"""Characters of a long line that are shown before and after the column."""


def excerpt(line: str, column: int) -> str:
    """Return the line, or the part around the column if the line is long."""
    start, end = max(0, column - 1 - _BEFORE), column - 1 + _AFTER
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return f"{before}{line[start:end]}{after}"
