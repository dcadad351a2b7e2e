"""The values in AMPscript, which Salesforce Marketing Cloud reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..profiles.profile import Delimiter, Vocabulary
from .delimiters import RawTag
from .roles import Reading, TagRole, reading_of

_TOKEN = re.compile(
    r"""
      /\*.*?\*/ | (?P<unclosed>/\*.*+)
    | (?P<attribute>\bAttributeValue\s*+\(\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)')\s*+\))
    | "[^"]*+" | '[^']*+'
    | (?P<variable>@@?\w++)
    | \[(?P<field>[^\[\]"'@]*+)\]
    | (?P<word>[^\W\d]\w*+)(?P<call>\s*+\()?
    | (?P<mark>[()])
    | \d[\w.]*+
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_TRANSPARENT = {"v", "output", "outputline"}
"""Functions whose argument is what they show."""


def read_ampscript(tag: RawTag, vocabulary: Vocabulary) -> Reading:
    """Return what a tag of Salesforce shows."""
    if tag.delimiter is Delimiter.PERSONALIZATION_STRING:
        name = tag.text[2:-2]
        role = TagRole.SYSTEM if vocabulary.is_system(name.lower()) else TagRole.FIELD
        return reading_of([(role, name)], TagRole.NONE)
    code = tag.text[3:-3]
    values = list(_values(code, vocabulary))
    first = re.match(r"\s*+(\w++)", code)
    word = "" if first is None else first[1].lower()
    if word in {"for", "next"}:
        return reading_of(values, TagRole.LOOP, only=TagRole.LOOP)
    return reading_of(values, TagRole.ASSIGNED if "@" in code else TagRole.NONE)


def _values(code: str, vocabulary: Vocabulary) -> Iterator[tuple[TagRole, str]]:
    """Yield the fields, and the system values that are not only an argument of a function."""
    calls: list[bool] = []
    hidden = 0
    """The number of calls around a token whose arguments are not shown."""
    for token in _TOKEN.finditer(code):
        if token["attribute"] is not None:
            name = token["double"] if token["double"] is not None else token["single"]
            yield _role(name, vocabulary), name
        elif token["field"] is not None and re.search("[^\\W\\d]", token["field"]):
            yield TagRole.FIELD, token["field"].strip()
        elif token["call"] is not None:
            calls.append(token["word"].lower() not in _TRANSPARENT)
            hidden += calls[-1]
        elif token["mark"] == "(":
            calls.append(False)
        elif token["mark"] == ")" and calls:
            hidden -= calls.pop()
        elif token["word"] is not None and token["word"].lower() not in vocabulary.local:
            role = _role(token["word"], vocabulary)
            if role is TagRole.FIELD or not hidden:
                yield role, token["word"]


def _role(name: str, vocabulary: Vocabulary) -> TagRole:
    return TagRole.SYSTEM if vocabulary.is_system(name.lower()) else TagRole.FIELD
