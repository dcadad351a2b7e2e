"""Rules for every message to a user, and texts that several messages share."""

from __future__ import annotations

import re

DOCTOR = ". `recipient-fields doctor` checks the storage and says what to do."
"""The end of a message of a command whose storage has failed."""

_CAPITALS = re.compile(r"\b[A-Z]{2,}\W+[A-Z]{2,}")


def are_sentences(text: str) -> bool:
    """Return whether each sentence has a capital letter and a period, and none is in capitals."""
    begun = all(sentence[:1].isupper() for sentence in text.split(". "))
    return begun and text.endswith(".") and _CAPITALS.search(text) is None
