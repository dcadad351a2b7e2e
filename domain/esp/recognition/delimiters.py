"""The delimiters of all dialects, and the search for tags between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from attrs import field, frozen

from ...spans import Spans
from ..esps import Esp
from ..profiles import PROFILES
from ..profiles.profile import Delimiter, Delimiters, Syntax
from ..tags import Openings, unread_parts

DELIMITERS: Mapping[Syntax, frozenset[Delimiter]] = {
    Syntax.AMPSCRIPT: frozenset(
        {
            Delimiter.AMPSCRIPT_BLOCK,
            Delimiter.AMPSCRIPT_INLINE,
            Delimiter.PERSONALIZATION_STRING,
        }
    ),
    Syntax.MERGE_TAGS: frozenset({Delimiter.MERGE_TAG}),
    Syntax.PERCENT_TAGS: frozenset({Delimiter.PERCENT_TAG, Delimiter.PERCENT_CONDITION}),
    Syntax.LIQUID: frozenset({Delimiter.EXPRESSION, Delimiter.STATEMENT}),
    Syntax.DJANGO: frozenset({Delimiter.EXPRESSION, Delimiter.STATEMENT, Delimiter.COMMENT}),
    Syntax.HUBL: frozenset({Delimiter.EXPRESSION, Delimiter.STATEMENT, Delimiter.COMMENT}),
    Syntax.HANDLEBARS: frozenset({Delimiter.EXPRESSION, Delimiter.RAW_EXPRESSION, Delimiter.BLOCK}),
}
"""The delimiters of each language. A dialect can have others beside them."""


@frozen
class RawTag:
    """A tag in a text, from `start` to `end`, and its type.

    `expressions` are those that parsers have read in it. Ten dialects read each tag.
    """

    delimiter: Delimiter
    start: int
    end: int
    text: str
    expressions: dict[object, Any] = field(factory=dict, init=False, eq=False, repr=False)


ENCLOSED: Mapping[Delimiter, Delimiters] = {
    Delimiter.AMPSCRIPT_BLOCK: Delimiters(r"%%\[", r"\]%%"),
    Delimiter.AMPSCRIPT_INLINE: Delimiters("%%=", "=%%"),
    Delimiter.STATEMENT: Delimiters(r"\{%", r"%\}"),
    Delimiter.COMMENT: Delimiters(r"\{\#", r"\#\}"),
    Delimiter.RAW_EXPRESSION: Delimiters(r"\{\{\{", r"\}\}\}"),
    Delimiter.BLOCK: Delimiters(r"\{\{~?\s*+(?:[\#/^>!]|else(?=[\s~}]))", r"\}\}"),
    Delimiter.EXPRESSION: Delimiters(r"\{\{", r"\}\}"),
}
"""Tags whose contents are code of any length."""
CODE_IN_BRACES = frozenset(
    {Delimiter.STATEMENT, Delimiter.RAW_EXPRESSION, Delimiter.BLOCK, Delimiter.EXPRESSION}
)
_WHOLE: Mapping[Delimiter, str] = {
    Delimiter.PERSONALIZATION_STRING: r"%%[A-Za-z_]\w{0,127}+(?>(?:[ .:-]\w{1,128}+){0,10})%%",
    Delimiter.MERGE_TAG: r"\*\|[^|*\n]{1,300}+\|\*",
    Delimiter.PERCENT_CONDITION: r"%(?:(?:ELSE)?IF\s[^%\n]{1,500}+|ELSE|ENDIF|/IF)%",
    Delimiter.PERCENT_TAG: r"%[A-Z0-9_][A-Z0-9_-]{0,99}+(?:[|*:+][^%\n<>\"]{0,100}+)?%",
    Delimiter.SUBSTITUTION: r"<%=?\s{0,9}+asm_\w{1,60}+\s{0,9}+%>",
    Delimiter.LEGACY_TAG: (
        r"\[(?i:unsubscribe(?:_preferences)?|weblink|sender_[a-z]{3,7})\](?![(:\[])"
        r"|\[%[A-Za-z_]\w{0,99}+(?:\s{0,9}+\|[^%\]\n]{0,100}+)?%\]"
    ),
    Delimiter.FEED: (
        r"\[\[\{?+(?>(?:[^\[\]{}\n]|\{\{[^{}\n]{0,100}+\}\}|\[[^\[\]\n]{0,100}+\]){1,300})\}?+\]\]"
    ),
}
"""Tags that one pattern matches. All quantifiers have limits, so that the search is linear."""
_FEED_PATH = re.compile(
    r"\[\[\{?\s*+(?!\d)(?:[\#/^]\w[^\n]*+|(?>(?:[\w@$]++|\[[^\[\]]*+\]|\{\{[^{}]*+\}\}|[./])+)\s*+\}?\]\])"
)
_IN_URL = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]{1,20}+://[^\s"'<>]*+  # an URL
    | (?>(?:%[0-9A-F]{2}[\w.~+-]*+){2,})(?P<tag>%?)  # percent-encoded text, if no % follows
    """,
    re.VERBOSE | re.ASCII,
)
"""The parts of a text in which a percent sign begins no tag."""
_PERCENT = {Delimiter.PERCENT_TAG, Delimiter.PERCENT_CONDITION}


def find_raw_tags(text: str, target: Esp | None = None) -> Iterator[RawTag]:
    """Yield the tags of all dialects, in linear time, without those in another tag.

    `target` is the ESP for which the text is written: the parts that it does not read are left out.
    A tag without its closing delimiter is none.
    """
    openings, types = _openings(target)
    offset, unclosed = 0, set[str]()
    urls: Spans | None = None  # searched for the first percent sign
    while (found := openings.search(text, offset)) is not None:
        index, opening = found
        delimiter, closing = types[index]
        start, offset = opening.span()
        if closing is not None:
            end = None if closing in unclosed else re.compile(closing).search(text, offset)
            if end is None:
                unclosed.add(closing)
                continue
            offset = end.end()
        if delimiter is None:  # The ESP does not read this part.
            continue
        if delimiter is Delimiter.FEED and _FEED_PATH.match(opening[0]) is None:
            offset = start + 2
            continue
        if delimiter in _PERCENT:
            if urls is None:
                urls = _find_urls(text)
            if urls.contain(start):
                offset = start + 1
                continue
        code = text[start:offset]
        if delimiter is Delimiter.EXPRESSION and _is_cut(code) and text.startswith("}", offset):
            offset += 1
            code += "}"
        yield RawTag(delimiter, start, offset, code)


def _is_cut(code: str) -> bool:
    """Return whether the last brace of `{{${name}}}` is missing."""
    return code.count("${") > code.count("}") - 2


def _find_urls(text: str) -> Spans:
    return Spans(each.span() for each in _IN_URL.finditer(text) if not each["tag"])


@cache
def _openings(
    target: Esp | None,
) -> tuple[Openings, tuple[tuple[Delimiter | None, str | None], ...]]:
    """Return the openings of all tags, and per opening the type of the tag and its closing."""
    unread = () if target is None else unread_parts(PROFILES[target])
    openings = [each.opening for each in unread]
    types: list[tuple[Delimiter | None, str | None]] = [(None, each.closing) for each in unread]
    for delimiter in Delimiter:
        if delimiter in _WHOLE:
            openings.append(_WHOLE[delimiter])
            types.append((delimiter, None))
        else:
            openings.append(ENCLOSED[delimiter].opening)
            types.append((delimiter, ENCLOSED[delimiter].closing))
    return Openings(openings, re.ASCII), tuple(types)
