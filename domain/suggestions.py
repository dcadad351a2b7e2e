"""What somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 64
_NEAR = 0.75


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The known word that the text is a slip of; None where none is near."""
    if len(text) > _LONGEST:
        return None
    return next(iter(get_close_matches(text.lower(), list(known), n=1, cutoff=_NEAR)), None)
