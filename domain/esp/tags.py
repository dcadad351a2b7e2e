"""The tags of dialects in text that users have written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..content.syntax import statement
from .dialects import DIALECTS, Esp


class Delimiters(NamedTuple):
    """The patterns of the delimiters of a tag, or of a part in which the ESP reads no code."""

    opening: str
    closing: str
    is_read: bool = True


def _unread(name: str) -> Delimiters:
    """Return the delimiters of `{% NAME %}…{% endNAME %}`."""
    return Delimiters(statement(name), statement(f"end{name}"), is_read=False)


_BRACES = (Delimiters(r"\{\{", r"\}\}"), Delimiters(r"\{%", r"%\}"))
_COMMENT = Delimiters(r"\{#", r"#\}", is_read=False)
_LIQUID = (_unread("raw"), _unread("comment"), *_BRACES)
_HUBL = (_unread("raw"), *_BRACES, _COMMENT)
_DJANGO = (_unread("verbatim"), _unread("comment"), *_BRACES, _COMMENT)
_HANDLEBARS = (
    Delimiters(r"\{\{~?!--", r"--~?\}\}", is_read=False),
    Delimiters(r"\{\{~?!", r"\}\}", is_read=False),
    Delimiters(r"\{\{", r"\}\}"),
)
_AMPSCRIPT = (Delimiters(r"%%\[", r"\]%%"), Delimiters("%%=", "=%%"))
_SALESFORCE = (*_AMPSCRIPT, Delimiters("%%", "%%"))
_MERGE_TAGS = (Delimiters(r"\*\|", r"\|\*"),)

_TAGS: Mapping[Esp, tuple[Delimiters, ...]] = {
    Esp.SALESFORCE: _SALESFORCE,
    Esp.MAILCHIMP: _MERGE_TAGS,
    Esp.KLAVIYO: _DJANGO,
    Esp.BRAZE: _LIQUID,
    Esp.CUSTOMER_IO: _LIQUID,
    Esp.HUBSPOT: _HUBL,
    Esp.SENDGRID: _HANDLEBARS,
    Esp.ITERABLE: _HANDLEBARS,
    Esp.BREVO: _DJANGO,
    Esp.ACTIVECAMPAIGN: (Delimiters("%(?:ELSE)?IF ", "%"),),
}
"""The delimiters of each dialect. If several begin at the same place, the first one counts."""


class Tag(NamedTuple):
    """A tag, from `start` to `end`. If it is not closed, it extends to the end of the text.

    If `is_read` is false, this is a comment, or a part in which the ESP reads no code.
    """

    start: int
    end: int
    opening: str
    is_read: bool


def find_tags(esp: Esp, text: str) -> Iterator[Tag]:
    """Yield the tags of the ESP's dialect, in order. An unclosed one is the last."""
    for tag in _find(_TAGS[esp], text):
        yield tag
        if tag.end == len(text):
            return


def unread_parts(esp: Esp) -> tuple[Delimiters, ...]:
    """Return the delimiters of the parts in which the ESP reads no code."""
    return tuple(each for each in _TAGS[esp] if not each.is_read)


def titles(esps: tuple[Esp, ...]) -> str:
    """Return the names of the ESPs: `SendGrid or Iterable`."""
    return " or ".join(DIALECTS[esp].title for esp in esps)


def _find(delimiters: tuple[Delimiters, ...], text: str) -> Iterator[Tag]:
    """Yield the tags. A missing closing delimiter is searched once only, in linear time."""
    opening = re.compile("|".join(f"({each.opening})" for each in delimiters))
    offset, unclosed = 0, set[str]()
    while (match := opening.search(text, offset)) is not None:
        _, closing, is_read = delimiters[(match.lastindex or 0) - 1]
        end = None if closing in unclosed else re.compile(closing).search(text, match.end())
        offset = match.end() if end is None else end.end()
        if end is not None:
            yield Tag(match.start(), offset, match[0], is_read)
        elif closing not in unclosed:
            unclosed.add(closing)
            yield Tag(match.start(), len(text), match[0], is_read)
