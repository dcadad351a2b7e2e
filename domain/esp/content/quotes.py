"""The quotes in code that is inside quotes."""

from __future__ import annotations

import re

from ..profiles.profile import Profile, Quoting

_LITERALS = re.compile(r"""(?>(?:[^"']++|(?:"[^"]*+"|'[^']*+')(?!["']))*)""")
"""Code in which string literals don't contain doubled quotes."""
_LITERAL = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)""", re.DOTALL)


def with_other_quotes(profile: Profile, code: str, quote: str) -> str | None:
    """Return the code without this type of quotes, or None if the dialect has no such form."""
    if quote not in code:
        return code
    if profile.insertion.quoting is Quoting.NONE or _LITERALS.fullmatch(code) is None:
        return None
    other_quote = {'"': "'", "'": '"'}[quote]

    def in_other_quotes(literal: re.Match[str]) -> str:
        text = literal["text"]
        has_quotes = quote in text or other_quote in text
        return literal[0] if has_quotes else f"{other_quote}{text}{other_quote}"

    changed = _LITERAL.sub(in_other_quotes, code)
    return None if quote in changed else changed
