"""Numbers with their nouns, in messages and on pages."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun: `1 field`, `1,000 fields`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
