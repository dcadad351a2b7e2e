"""Insertion codes that users have written: whether they are in the dialect of an ESP."""

from __future__ import annotations

import re

from ..profiles import Profiles
from ..profiles.profile import Profile
from .judging import has_braces
from .recognizing import recognize_dialects

_VARIABLE = re.compile(r"\{\{\s*\w+(?P<path>\.[\w.]+)?\s*\}\}")


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


def is_foreign(profiles: Profiles, profile: Profile, code: str) -> bool:
    """Return whether the code can be written in other dialects, but not in that of the ESP."""
    dialects = recognize_dialects(code, profiles)
    return bool(dialects) and profile.esp not in dialects


def is_certainly_foreign(profiles: Profiles, profile: Profile, code: str) -> bool:
    """Return whether the code is foreign, and is not a variable that the dialect could have.

    Most dialects write variables as `{{name}}`.
    """
    if not is_foreign(profiles, profile, code):
        return False
    variable = _VARIABLE.fullmatch(code.strip()) if has_braces(profile) else None
    if variable is None:
        return True
    return variable["path"] is not None and not all(
        profiles[each].vocabulary.any_name for each in recognize_dialects(code, profiles)
    )
