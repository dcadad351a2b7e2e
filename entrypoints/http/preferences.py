"""The header `Prefer` (RFC 7240), of which the API knows `return=minimal`."""

from __future__ import annotations

import re

import falcon

MINIMAL = "return=minimal"
"""The preference, and what `Preference-Applied` contains if the response follows it."""

# Possessive, so that no header takes more than linear time.
_PLAIN = r'[^\s",;=]++'
_WORD = rf'(?:"(?>(?:[^"\\]++|\\.)*)"|{_PLAIN})'
_PREFERENCE = re.compile(
    rf"\s*+(?P<name>{_PLAIN})\s*+(?>(?:=\s*+(?P<value>{_WORD}))?)"
    rf"\s*+(?>(?:;\s*+{_PLAIN}\s*+(?>(?:=\s*+{_WORD})?)\s*+)*)(?:,|$)"
)


def prefers_minimal(req: falcon.Request) -> bool:
    """Return whether the first preference `return` of the request is `minimal`.

    A malformed header has no effect, and neither have other preferences: a server may ignore them.
    """
    header, position = req.get_header("Prefer") or "", 0
    while position < len(header):
        match = _PREFERENCE.match(header, position)
        if match is None:
            return False
        if match["name"].lower() == "return":
            return (match["value"] or "").strip('"') == "minimal"
        position = match.end()
    return False
