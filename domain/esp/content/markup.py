"""The quotes around places in HTML: those of attributes, and the double quotes of CSS."""

from __future__ import annotations

import re
from bisect import bisect_right

_MARKUP = re.compile(r"<!--|<style\b|<(?=[a-z])", re.IGNORECASE)
_QUOTE_OR_END = re.compile(r"""=\s*(?P<quote>["'])|>""")
_STYLE_END = re.compile(r"</style", re.IGNORECASE)

_MAX_URL = 2_000
"""The number of characters before a reference in which the beginning of its link is searched."""
_BREAKS = "\"'<>\n"
_LINK = re.compile(r"""\b(?:href|src|action)\s{0,9}=\s{0,9}["']\Z""", re.IGNORECASE)
_MAX_LINK_START = 26
"""The number of characters that `_LINK` can match."""


def is_in_query(text: str, offset: int) -> bool:
    """Return whether the offset is in the query of a link, in an attribute or in plain text."""
    first = max(offset - _MAX_URL, 0)
    start = max(first, *(text.rfind(each, first, offset) + 1 for each in _BREAKS))
    link = text[start:offset]
    if "?" not in link:
        return False
    word = "" if link[-1].isspace() else link.rsplit(maxsplit=1)[-1]
    is_url = "://" in word.partition("?")[0] and "?" in word
    return is_url or _LINK.search(text, max(first, start - _MAX_LINK_START), start) is not None


class Markup:
    """The places in an HTML text in which one type of quotes has a meaning."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = [0]
        self._quotes: list[str] = [""]
        self._text = text
        offset = 0
        while 0 <= offset < len(text) and (match := _MARKUP.search(text, offset)) is not None:
            if match[0] == "<!--":
                offset = text.find("-->", match.end())
                continue
            offset = self._add_tag(match.end())
            is_style = match[0] != "<"
            if is_style and offset >= 0:  # Double quotes enclose strings in the CSS that follows.
                end = _STYLE_END.search(text, offset)
                self._add(offset, '"')
                offset = -1 if end is None else end.start()
                self._add(offset, "")

    def quote_at(self, offset: int) -> str:
        """Return the quote that ends the attribute or the CSS string here, or an empty text."""
        return self._quotes[bisect_right(self._starts, offset) - 1]

    def _add_tag(self, offset: int) -> int:
        """Add the attributes of a tag. Return the offset after it, or -1 if it is not closed."""
        self._add(offset, '"')
        while (match := _QUOTE_OR_END.search(self._text, offset)) is not None:
            offset = match.end()
            quote = match["quote"]
            if quote is None:
                self._add(offset, "")
                return offset
            self._add(offset, quote)
            offset = self._text.find(quote, offset) + 1
            if offset == 0:
                return -1
            self._add(offset, '"')
        return -1

    def _add(self, offset: int, quote: str) -> None:
        if offset >= 0:
            self._starts.append(offset)
            self._quotes.append(quote)
