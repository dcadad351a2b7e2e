"""What every text for people is made of."""

from __future__ import annotations

import re

_SHOUTED = re.compile(r"\b[A-Z]{2,}\W+[A-Z]{2,}")


def are_sentences(text: str) -> bool:
    """Does each begin with a capital letter and end with a stop, and is none of them shouted?"""
    begun = all(sentence[:1].isupper() for sentence in text.split(". "))
    return begun and text.endswith(".") and _SHOUTED.search(text) is None
