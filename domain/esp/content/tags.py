"""The tags of dialects in text that users have written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from ..dialects import DIALECTS, Esp
from ..recognition import recognize_dialects

_BRACES = {"{{": "}}", "{%": "%}"}
_LIQUID = {**_BRACES, "{% raw %}": "{% endraw %}"}
_BRACES_WITH_COMMENTS = {**_BRACES, "{#": "#}"}
_HUBL = {**_BRACES_WITH_COMMENTS, "{% raw %}": "{% endraw %}"}
_DJANGO = {**_BRACES_WITH_COMMENTS, "{% verbatim %}": "{% endverbatim %}"}
_HANDLEBARS = {"{{": "}}"}
_AMPSCRIPT = {"%%[": "]%%", "%%=": "=%%"}
_SALESFORCE = {**_AMPSCRIPT, "%%": "%%"}
_MERGE_TAGS = {"*|": "|*"}

_TAGS: Mapping[Esp, Mapping[str, str]] = {
    Esp.SALESFORCE: _SALESFORCE,
    Esp.MAILCHIMP: _MERGE_TAGS,
    Esp.KLAVIYO: _DJANGO,
    Esp.BRAZE: _LIQUID,
    Esp.CUSTOMER_IO: _LIQUID,
    Esp.HUBSPOT: _HUBL,
    Esp.SENDGRID: _HANDLEBARS,
    Esp.ITERABLE: _HANDLEBARS,
    Esp.BREVO: _DJANGO,
    Esp.ACTIVECAMPAIGN: {"%IF ": "%", "%ELSEIF ": "%"},
}
"""The delimiters of the tags of each dialect, and of the parts in which it reads no code."""
_ALL_TAGS = {**_BRACES, **_AMPSCRIPT, **_MERGE_TAGS}

_MAX_EXAMINED_TAGS = 1_000
"""The number of tags in which other dialects are searched: this takes 10 μs per tag."""
_MAX_TAG_LENGTH = 1_000
"""The number of characters in a tag that is recognized as code of another dialect."""
_VARIABLE = re.compile(r"\{\{\s*\w+(?P<path>\.[\w.]+)?\s*\}\}")
_HANDLEBARS_ESPS = frozenset((Esp.SENDGRID, Esp.ITERABLE))


class Tag(NamedTuple):
    """A tag, from `start` to `end`. If it is not closed, it extends to the end of the text."""

    start: int
    end: int
    opening: str


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
    variable = _VARIABLE.fullmatch(code.strip()) if "{{" in _TAGS[esp] else None
    if variable is None:
        return True
    return variable["path"] is not None and not _HANDLEBARS_ESPS.issuperset(
        recognize_dialects(code)
    )


def titles(esps: tuple[Esp, ...]) -> str:
    """Return the names of the ESPs: `SendGrid or Iterable`."""
    return " or ".join(DIALECTS[esp].title for esp in esps)


def _find(delimiters: Mapping[str, str], text: str) -> Iterator[Tag]:
    """Yield the tags. A missing closing delimiter is searched once only, in linear time."""
    opening = re.compile("|".join(map(re.escape, sorted(delimiters, key=len, reverse=True))))
    offset, unclosed = 0, set[str]()
    while (match := opening.search(text, offset)) is not None:
        closing = delimiters[match[0]]
        end = -1 if closing in unclosed else text.find(closing, match.end())
        offset = match.end() if end < 0 else end + len(closing)
        if end >= 0:
            yield Tag(match.start(), offset, match[0])
        elif closing not in unclosed:
            unclosed.add(closing)
            yield Tag(match.start(), len(text), match[0])
