"""Emails without a link to unsubscribe, for ESPs that require one or add one."""

from __future__ import annotations

from ...content import Content, SystemValue
from ..dialects import Esp
from ..recognition.delimiters import find_raw_tags
from ..recognition.reading import has_delimiter
from ..system_codes import LINK_RULES, SystemCode, find_system_code

_LINK_WORDS = ("unsub", "can_spam", "email_footer")
"""What the codes of all dialects for this link contain, and the modules of HubSpot with one."""


def find_missing_link(esp: Esp, content: Content) -> str | None:
    """Return what the ESP does with this content of HTML without a link to unsubscribe, or None.

    It is None if the content has code of the ESP for such a link.
    """
    rule = LINK_RULES.get(esp)
    if rule is None or _has_link(esp, content):
        return None
    return f"{rule.message} Write `{SystemValue.UNSUBSCRIBE}` where the link is."


def _has_link(esp: Esp, content: Content) -> bool:
    codes = (find_system_code(esp, each.value) for each in content.system_references())
    if any(isinstance(code, SystemCode) and _names_link(code.code) for code in codes):
        return True
    return _names_link(content.masked) and any(
        _names_link(tag.text)
        for tag in find_raw_tags(content.masked, esp)
        if has_delimiter(esp, tag)
    )


def _names_link(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _LINK_WORDS)
