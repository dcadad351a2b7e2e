"""The tags of dialects in text that users have written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from .dialects import DIALECTS, Esp
from .recognition import recognize_dialects


class _Delimiters(NamedTuple):
    """The patterns of the delimiters of a tag, or of a part in which the ESP reads no code."""

    opening: str
    closing: str
    is_read: bool = True


def _unread(name: str) -> _Delimiters:
    """Return the delimiters of `{% NAME %}…{% endNAME %}`, also with `-` and a text after NAME."""
    opening, closing = (rf"\{{%[-+]?\s*+{word}\b[^{{}}%]*+%\}}" for word in (name, f"end{name}"))
    return _Delimiters(opening, closing, is_read=False)


_BRACES = (_Delimiters(r"\{\{", r"\}\}"), _Delimiters(r"\{%", r"%\}"))
_COMMENT = _Delimiters(r"\{#", r"#\}", is_read=False)
_LIQUID = (_unread("raw"), _unread("comment"), *_BRACES)
_HUBL = (_unread("raw"), *_BRACES, _COMMENT)
_DJANGO = (_unread("verbatim"), _unread("comment"), *_BRACES, _COMMENT)
_HANDLEBARS = (
    _Delimiters(r"\{\{~?!--", r"--~?\}\}", is_read=False),
    _Delimiters(r"\{\{~?!", r"\}\}", is_read=False),
    _Delimiters(r"\{\{", r"\}\}"),
)
_AMPSCRIPT = (_Delimiters(r"%%\[", r"\]%%"), _Delimiters("%%=", "=%%"))
_SALESFORCE = (*_AMPSCRIPT, _Delimiters("%%", "%%"))
_MERGE_TAGS = (_Delimiters(r"\*\|", r"\|\*"),)

_TAGS: Mapping[Esp, tuple[_Delimiters, ...]] = {
    Esp.SALESFORCE: _SALESFORCE,
    Esp.MAILCHIMP: _MERGE_TAGS,
    Esp.KLAVIYO: _DJANGO,
    Esp.BRAZE: _LIQUID,
    Esp.CUSTOMER_IO: _LIQUID,
    Esp.HUBSPOT: _HUBL,
    Esp.SENDGRID: _HANDLEBARS,
    Esp.ITERABLE: _HANDLEBARS,
    Esp.BREVO: _DJANGO,
    Esp.ACTIVECAMPAIGN: (_Delimiters("%(?:ELSE)?IF ", "%"),),
}
"""The delimiters of each dialect. If several begin at the same place, the first one counts."""
_ALL_TAGS = (*_BRACES, *_AMPSCRIPT, *_MERGE_TAGS)

_MAX_EXAMINED_TAGS = 1_000
"""The number of tags in which other dialects are searched: this takes 10 μs per tag."""
_MAX_TAG_LENGTH = 1_000
"""The number of characters in a tag that is recognized as code of another dialect."""
_VARIABLE = re.compile(r"\{\{\s*\w+(?P<path>\.[\w.]+)?\s*\}\}")
_HANDLEBARS_ESPS = frozenset((Esp.SENDGRID, Esp.ITERABLE))


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


def find_foreign_tags(esp: Esp, text: str) -> Iterator[tuple[Tag, tuple[Esp, ...]]]:
    """Yield the tags that are certainly not in the ESP's dialect, and the ESPs that read them.

    Only the first 1,000 tags of up to 1,000 characters are examined.
    """
    for tag in islice(_find(_ALL_TAGS, text), _MAX_EXAMINED_TAGS):
        code = text[tag.start : tag.end]
        if len(code) <= _MAX_TAG_LENGTH and is_certainly_foreign(esp, code):
            yield tag, recognize_dialects(code)


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
    variable = _VARIABLE.fullmatch(code.strip()) if _BRACES[0] in _TAGS[esp] else None
    if variable is None:
        return True
    return variable["path"] is not None and not _HANDLEBARS_ESPS.issuperset(
        recognize_dialects(code)
    )


def titles(esps: tuple[Esp, ...]) -> str:
    """Return the names of the ESPs: `SendGrid or Iterable`."""
    return " or ".join(DIALECTS[esp].title for esp in esps)


def _find(delimiters: tuple[_Delimiters, ...], text: str) -> Iterator[Tag]:
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
