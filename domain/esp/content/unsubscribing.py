"""Emails without a link to unsubscribe, for ESPs that require one or add one."""

from __future__ import annotations

import re

from ...content import Content, SystemValue
from ...content.literal_places import find_literal_places
from ..dialects import Esp
from ..recognition.delimiters import find_raw_tags
from ..recognition.reading import has_delimiter
from ..system_codes import LINK_RULES, SystemCode, find_system_code

_LINK = re.compile(r"unsub|can_spam|email_footer", re.IGNORECASE)
"""What the codes of all dialects for this link contain, and the modules of HubSpot with one."""
_DOCUMENT = re.compile(r"<!doctype\b|</?(?:html|body)[\s>]", re.IGNORECASE)
"""What only a whole email contains: a part of one can get its link from the rest."""


def find_missing_link(esp: Esp, content: Content) -> str | None:
    """Return what the ESP does with this email in HTML without a link to unsubscribe, or None.

    It is None if the content has code of the ESP for such a link, or is only a part of an email.
    """
    rule = LINK_RULES.get(esp)
    if rule is None or not _is_whole_email(content) or _has_link(esp, content):
        return None
    return f"{rule.message} Write `{SystemValue.UNSUBSCRIBE}` where the link is."


def _is_whole_email(content: Content) -> bool:
    literal_places = find_literal_places(content.masked)
    tags = _DOCUMENT.finditer(content.masked)
    return any(not literal_places.contain(tag.start()) for tag in tags)


def _has_link(esp: Esp, content: Content) -> bool:
    codes = (find_system_code(esp, each.value) for each in content.system_references())
    if any(isinstance(code, SystemCode) and _LINK.search(code.code) for code in codes):
        return True
    return _LINK.search(content.masked) is not None and any(
        _LINK.search(tag.text)
        for tag in find_raw_tags(content.masked, esp)
        if has_delimiter(esp, tag)
    )
