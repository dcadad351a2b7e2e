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
        return self.start_of(offset) is not None

    def start_of(self, offset: int) -> int | None:
        """Return the start of the part in which the character at this offset is, or None."""
        index = bisect_right(self._starts, offset) - 1
        is_inside = index >= 0 and offset < self._spans[index][1]
        return self._starts[index] if is_inside else None
