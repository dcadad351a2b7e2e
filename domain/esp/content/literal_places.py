"""The places in HTML whose text is not shown as such: scripts, styles, templates and comments."""

from __future__ import annotations

import re
from bisect import bisect_right

_OPENING = re.compile(r"<(?P<element>script|style|template)\b|<!--(?!\[if\b|-?>)", re.IGNORECASE)
"""Conditional comments are left out: Outlook shows their content as HTML."""
_ENDS = {
    element: re.compile(end, re.IGNORECASE)
    for element, end in {
        "script": "</script",
        "style": "</style",
        "template": "</template",
        "": "-->",
    }.items()
}


class LiteralPlaces:
    """The places in a text at which code of any language can be meant as it is."""

    def __init__(self, text: str) -> None:
        self._spans: list[tuple[int, int]] = []
        offset = 0
        while (opening := _OPENING.search(text, offset)) is not None:
            end = _ENDS[(opening["element"] or "").lower()].search(text, opening.end())
            offset = len(text) if end is None else end.start()
            self._spans.append((opening.end(), offset))

    def contain(self, offset: int) -> bool:
        """Return whether the offset is in such a place."""
        index = bisect_right(self._spans, (offset, offset)) - 1
        candidates = self._spans[max(index, 0) : index + 2]
        return any(start <= offset < end for start, end in candidates)
