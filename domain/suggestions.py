"""Suggestions for misspelled words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_LENGTH = 64
"""The search takes quadratic time in the length of the word."""
_MIN_SIMILARITY = 0.75


def closest_match(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar to this one, or None if none is similar.

    Words of more than 64 characters have no match.
    """
    if len(word) > _MAX_LENGTH:
        return None
    matches = get_close_matches(word.lower(), list(known), n=1, cutoff=_MIN_SIMILARITY)
    return next(iter(matches), None)
