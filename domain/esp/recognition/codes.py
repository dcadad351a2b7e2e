"""Insertion codes that users have written: whether they are in the dialect of an ESP."""

from __future__ import annotations

import re

_ENDS = {
    r"\{\{[^{}]*\$\{": r"\}[^{}]*\}\}",  # The name in `{{${name}}}` has its own end.
    r"%%\[": r"\]%%",
    "%%=": "=%%",
    r"\{%": r"%\}",
    r"\{\#": r"\#\}",
    r"\{\{\{": r"\}\}\}",
    r"\{\{": r"\}\}",
    r"\*\|(?=\w)": r"\|\*",
    r"\[\[(?=\w)": r"\]\]",
    r"%(?:ELSE)?IF\s": "%",
}
_OPENING = re.compile("|".join(f"({each})" for each in _ENDS))


def find_unclosed(code: str) -> str | None:
    """Return the first opening delimiter without a closing one, or None: `{{` in `{{ x`."""
    offset, ends = 0, tuple(_ENDS.values())
    while (opening := _OPENING.search(code, offset)) is not None:
        closing = re.compile(ends[(opening.lastindex or 0) - 1]).search(code, opening.end())
        if closing is None:
            return opening[0]
        offset = closing.end()
    return None
