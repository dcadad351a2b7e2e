"""Emails without a link to unsubscribe, for ESPs that require one or add one."""

from __future__ import annotations

import re

from ...content import Content, SystemValue
from ...content.literal_places import find_literal_places
from ..profiles.profile import Profile, SystemCode

_LINK_WORDS = ("unsub", "can_spam", "email_footer")
"""What the codes of all dialects for this link contain, and the modules of HubSpot with one."""
_DOCUMENT = re.compile(r"<!doctype\b|</?(?:html|body)[\s>]", re.IGNORECASE)
"""What only a whole email contains: a part of one can get its link from the rest."""


def find_missing_link(profile: Profile, content: Content) -> str | None:
    """Return what the ESP does with this email in HTML without a link to unsubscribe, or None.

    It is None if the content has code of the ESP for such a link, or is only a part of an email.
    """
    rule = profile.link_rule
    if rule is None or not _is_whole_email(content) or _has_link(profile, content):
        return None
    return f"{rule.message} Write `{SystemValue.UNSUBSCRIBE}` where the link is."


def _is_whole_email(content: Content) -> bool:
    literal_places = find_literal_places(content.masked)
    tags = _DOCUMENT.finditer(content.masked)
    return any(not literal_places.contain(tag.start()) for tag in tags)


def _has_link(profile: Profile, content: Content) -> bool:
    codes = (profile.find_system_code(each.value) for each in content.system_references())
    if any(isinstance(code, SystemCode) and _names_link(code.code) for code in codes):
        return True
    return _names_link(content.masked) and any(
        _names_link(content.masked[tag.start : tag.end])
        for tag in profile.find_tags(content.masked)
        if tag.is_code
    )


def _names_link(text: str) -> bool:
    folded = text.casefold()
    return any(word in folded for word in _LINK_WORDS)
