"""Places of literal text in HTML, and the statements of template languages around such text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..spans import Spans

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


def find_literal_places(text: str) -> Spans:
    """Return the places in a text at which code of any language can be meant as it is."""
    return Spans(_literal_places(text))


def statement(name: str) -> str:
    """Return the pattern of `{% NAME %}`, also with `-` and with a text after the name."""
    return rf"\{{%[+-]?\s*+{name}\b[^{{}}%]*+%\}}"


def _literal_places(text: str) -> Iterator[tuple[int, int]]:
    offset = 0
    while (opening := _OPENING.search(text, offset)) is not None:
        end = _ENDS[(opening["element"] or "").lower()].search(text, opening.end())
        offset = len(text) if end is None else end.start()
        yield opening.end(), offset
