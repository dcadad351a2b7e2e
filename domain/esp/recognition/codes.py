"""Insertion codes that users have written: whether they are in the dialect of an ESP."""

from __future__ import annotations

import re

from ..dialects import Esp
from .recognition import recognize_dialects
from .vocabularies import VOCABULARIES

_VARIABLE = re.compile(r"\{\{\s*\w+(?P<path>\.[\w.]+)?\s*\}\}")
_HANDLEBARS_ESPS = frozenset(esp for esp in Esp if VOCABULARIES[esp].any_name)
_WITH_VARIABLES = frozenset(
    esp for esp in Esp if esp not in {Esp.SALESFORCE, Esp.MAILCHIMP, Esp.ACTIVECAMPAIGN}
)


def is_foreign(esp: Esp, code: str) -> bool:
    """Return whether the code can be written in other dialects, but not in that of the ESP."""
    dialects = recognize_dialects(code)
    return bool(dialects) and esp not in dialects


def is_certainly_foreign(esp: Esp, code: str) -> bool:
    """Return whether the code is foreign, and is not a variable that the dialect could have.

    Most dialects write variables as `{{name}}`.
    """
    if not is_foreign(esp, code):
        return False
    variable = _VARIABLE.fullmatch(code.strip()) if esp in _WITH_VARIABLES else None
    if variable is None:
        return True
    return variable["path"] is not None and not _HANDLEBARS_ESPS.issuperset(
        recognize_dialects(code)
    )
