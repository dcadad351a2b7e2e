"""Parts of a text, between two offsets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Spans:
    """Parts of a text that do not overlap, as pairs of their start and end, in order."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = tuple(spans)
        self._starts = [start for start, _ in self._spans]

    def contain(self, offset: int) -> bool:
        """Return whether the character at this offset is in one of the parts."""
        index = bisect_right(self._starts, offset) - 1
        return index >= 0 and offset < self._spans[index][1]
