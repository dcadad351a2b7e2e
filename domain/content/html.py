"""The HTML of content, read once from left to right: what each place in it is.

The reader follows https://html.spec.whatwg.org/multipage/parsing.html#tokenization as far as places
need it, and knows what emails add: comments for Outlook, MJML, and templates of AMP. It reads
around references, tags of blocks, and tags of ESPs, as in `<a href="{{ x > 3 }}">`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any, Self
from urllib.parse import quote as percent_encode

from attrs import Factory, define, evolve, field, frozen

from ..spans import Spans

CODE = "\0"
"""Each character of code in the text that is read. Content contains no U+0000."""


class Kind(Enum):
    """What a place is. The values are for messages."""

    TEXT = "text"
    TAG = "the tag"
    ATTRIBUTE = "the attribute"
    STYLE = "the CSS"
    SCRIPT = "the script"
    COMMENT = "the comment"


class Mjml(Enum):
    """What MJML does with text when it compiles a file."""

    KEEPS = "it keeps the text"
    KEEPS_RAW = "it keeps the text inside `<mj-raw>` only"
    DROPS = "it drops the text, or can't read the file"


@frozen(kw_only=True)
class Place:
    """A part of a text: in the tag of an element, the value of an attribute, or what is around it.

    `start` is that of the value, or of the URL or the string in it. `quote` encloses the value, and
    `string` a string of CSS or of a script: they are empty without quotes.
    """

    kind: Kind
    start: int
    element: str = ""
    attribute: str = ""
    quote: str = ""
    string: str = ""
    is_url: bool = False


_TEXT = Place(kind=Kind.TEXT, start=0)


class DoesNotFit(Exception):
    """A text would end the place in which it is. The message is a part of a sentence."""


_CODE = re.compile(
    r"""
      \{\{ (?>(?: [^{}]++ | \{(?![{%]) | \}(?!\}) ){0,9999}) \}\}
    | \{%  (?>(?: [^{%]++ | \{(?![{%]) | %(?!\}) ){0,9999}) %\}
    | \{\# (?>(?: [^{\#]++ | \{(?!\#) | \#(?!\}) ){0,9999}) \#\}
    | %%\[ (?>(?: [^\]%]++ | \](?!%%) | %(?!%\[) ){0,9999}) \]%%
    | %%=  (?>(?: [^=%]++ | =(?!%%) | %(?!%=) ){0,9999}) =%%
    | \*\| [^|*]*+ \|\*
    | %(?:ELSE)?IF\  [^%]*+ %
    """,
    re.VERBOSE,
)
"""The tags of ESPs. The search for an end stops at the next beginning, so it is linear.

Here and below, groups have limits, because `re` remembers each repetition.
"""
_REST = r"""(?>(?:[^>="']++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["']))|["']){0,999})>?"""
_MARKUP = re.compile(
    rf"""
      <(?P<slash>/?) (?P<element>[a-z][\w:-]*+) (?=[\s\0>]|/\s*+>)
      (?P<rest>{_REST})
    | <!--(?P<comment>(?:\[if\b[^\]<>]*+\]>(?P<for_all>\s*+<!-->|-->)?|-?>)?)
    | <[!?](?P<declaration>[^>]*+>?)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A tag or a part of it, the beginning of a comment, or a declaration."""
_MORE = re.compile(_REST)
_ATTRIBUTE = re.compile(
    r"""
      (?P<name>[^\s\0>/=]++) [\s\0]*+ =\s*+
      (?: "(?P<double>[^"]*+) | '(?P<single>[^']*+) | (?P<bare>[^\s>]*+) ) ["']?+
    | [^\s\0>/=]++
    """,
    re.VERBOSE,
)
"""An attribute with a value, or another word in a tag."""
_BEGUN = re.compile(r"""=\s*+["']""")
_QUOTES = {"double": '"', "single": "'", "bare": ""}
_URL_ATTRIBUTES = {
    *("action", "background", "cite", "data", "formaction", "href", "longdesc", "poster", "src"),
    "url",
}
"""The last words of their names: `src` in `data-src`, `url` in `background-url` of MJML."""
_STRING = r"""(?:"(?>(?:[^"\\\n]++|\\.){0,9999})"?+|'(?>(?:[^'\\\n]++|\\.){0,9999})'?+)"""
_PARTS = {
    Kind.STYLE: re.compile(
        rf"(?P<url>\burl\(\s*+)(?:{_STRING}|[^)\"']*+)|{_STRING}|/\*.*?(?:\*/|\Z)",
        re.DOTALL | re.IGNORECASE,
    ),
    Kind.SCRIPT: re.compile(
        rf"{_STRING}|`(?>(?:[^`\\]++|\\.){{0,9999}})`?+|/\*.*?(?:\*/|\Z)|//[^\n]*+", re.DOTALL
    ),
}
"""Strings, comments and URLs in CSS and scripts. A string without an end reaches to its line's."""
_CONTENTS = {"script": Kind.SCRIPT, "style": Kind.STYLE, "mj-style": Kind.STYLE}
"""The elements whose content is no HTML."""
_ENDS = {
    Kind.TAG: re.compile(">"),
    Kind.COMMENT: re.compile("--!?>"),
    Kind.SCRIPT: re.compile("</script", re.IGNORECASE),
    Kind.STYLE: re.compile("</(?:mj-)?style", re.IGNORECASE),
}
_QUOTE_IN_CSS = re.compile(
    r"""\\.|"(?>(?:[^"\\]++|\\.){0,9999})"|'(?>(?:[^'\\]++|\\.){0,9999})'|["']""", re.DOTALL
)
"""A whole string of CSS, or a quote that begins one without an end."""
_TABLE = {"table", "thead", "tbody", "tfoot", "tr", "td", "th"}
_WITH_RAW = {
    *("mj-body", "mj-wrapper", "mj-section", "mj-group", "mj-column", "mj-hero", "mj-navbar"),
    *("mj-social", "mj-accordion", "mj-accordion-element"),
}
"""The components of MJML that keep `<mj-raw>` at its place among other components."""
_WITHOUT_TEXT = {
    *_WITH_RAW,
    *("", "mjml", "mj-head", "mj-attributes", "mj-html-attributes", "mj-selector", "mj-carousel"),
}
"""The components of MJML that drop text, and the file outside of `<mjml>`, which is the first."""
_URL = re.compile(r"""://[^\s"'<>]*+""")
"""A word with `://`, from there on."""
_MAX_URL = 2_000
"""The number of characters before a place in which the parameter of its URL is searched."""
_IN_URL = re.compile(r"""[\s"'<>`\\^{|}()]""")
"""What can't be in an URL, and what ends `url(…)` of CSS."""
_IN_PARAMETER = re.compile("%(?![0-9A-Fa-f]{2})|[^%]+")
_IN_QUOTES = str.maketrans({'"': "&quot;", "'": "&#39;"})
_WITHOUT_QUOTES = _IN_QUOTES | {ord(each): f"&#{ord(each)};" for each in " \t\n\f\r<=>`"}


class Html:
    """The places in a text. It need not be HTML. It is read when a place is first asked for."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._parts: dict[int, Sequence[tuple[int, Place]]] = {}

    @cached_property
    def _text(self) -> str:
        return _CODE.sub(lambda code: CODE * len(code[0]), self._source)

    @cached_property
    def _found(self) -> _Reader:
        return _Reader(self._text).read()

    @property
    def has_tags(self) -> bool:
        """Whether the text is HTML, also if only code contains it."""
        return self._found.has_tags or _Reader(self._source).read().has_tags

    @property
    def is_document(self) -> bool:
        """Whether the text is a whole email, not a part of one."""
        return self._found.is_document

    @property
    def is_mjml(self) -> bool:
        """Whether the text is a file of MJML, or a part that such a file includes."""
        return len(self._found.components) > 1

    @property
    def root_end(self) -> int | None:
        """The offset after the tag `<mjml>`, or None if the text is no whole file of MJML."""
        return self._found.root_end

    def at(self, offset: int) -> Place:
        """Return the place of the character at this offset."""
        index = _last(self._found.regions, offset)
        region = self._found.regions[index] if index >= 0 else None
        if region is None or offset >= region[1]:
            return _TEXT
        if index not in self._parts:
            self._parts[index] = tuple(_read_region(self._text, *region))
        parts = self._parts[index]
        return parts[_last(parts, offset)][1]

    def is_literal(self, offset: int) -> bool:
        """Return whether code of any language can be meant as it is at this offset."""
        is_hidden = self.at(offset).kind in {Kind.STYLE, Kind.SCRIPT, Kind.COMMENT}
        return is_hidden or self.is_in_template(offset)

    def is_in_template(self, offset: int) -> bool:
        """Return whether the offset is in a template, whose code the client of the reader reads."""
        return self._templates.contain(offset)

    def is_shown(self, offset: int) -> bool:
        """Return whether clients show what is at this offset, others than Outlook too."""
        return not self.is_literal(offset) and not self._outlook.contain(offset)

    def is_between_rows(self, offset: int) -> bool:
        """Return whether the offset is in a table, but in no cell."""
        index = _last(self._found.rows, offset)
        return index >= 0 and self._found.rows[index][1]

    def find_link(self, offset: int) -> tuple[int, int] | None:
        """Return the start and end of the link in whose opening tag the offset is, or None."""
        links = self._found.links
        index = _last(links, offset)
        if index < 0 or index + 1 == len(links):
            return None
        (start, end, is_end), (_, closing, is_closed) = links[index : index + 2]
        return (start, closing) if not is_end and is_closed and offset < end else None

    def is_url_of_link(self, start: int, end: int) -> bool:
        """Return whether this is the whole URL of a link, in quotes: `<a href="…">`."""
        place = self.at(start)
        is_url = place.element == "a" and place.attribute == "href" and place.start == start
        return is_url and place.quote != "" and self._text.startswith(place.quote, end)

    def find_mjml(self, offset: int) -> Mjml:
        """Return what MJML does with code at this offset."""
        if not self.is_mjml:
            return Mjml.KEEPS
        kind = self.at(offset).kind
        component = self._found.components[_last(self._found.components, offset)][1]
        if component not in _WITHOUT_TEXT or kind not in {Kind.TEXT, Kind.TAG}:
            return Mjml.KEEPS
        is_included = self.root_end is None and not component
        is_possible = is_included or component in _WITH_RAW
        return Mjml.KEEPS_RAW if is_possible and kind is Kind.TEXT else Mjml.DROPS

    def is_in_query(self, offset: int) -> bool:
        """Return whether the offset is in the query of an URL."""
        return "?" in self._url_before(offset)

    def fit(self, text: str, offset: int, *, is_html: bool = True) -> str:
        """Return the text as it must be written at this offset: encoded for an URL or an attribute.

        If `is_html` is false, attributes need no encoding.
        Raises: DoesNotFit if the text would end its place nevertheless.
        """
        place = self.at(offset)
        url = self._url_before(offset)
        if url:
            text = _encode_in_url(text, url)
        _require_fit(text, place)
        if place.kind is not Kind.ATTRIBUTE or not is_html:
            return text
        return text.translate(_IN_QUOTES if place.quote else _WITHOUT_QUOTES)

    def _url_before(self, offset: int) -> str:
        """Return what is before the offset in its URL, from `?` on if there is one.

        It is `/` at the start of an URL, and an empty text outside of URLs.
        """
        place = self.at(offset)
        start = place.start if place.is_url else self._urls.start_of(offset)
        if start is None:
            return ""
        before = self._text[max(start, offset - _MAX_URL) : offset]
        has_query = "?" in self._text[start : min(offset, start + _MAX_URL)]
        return "?" * has_query + (before or "/")

    @cached_property
    def _outlook(self) -> Spans:
        return Spans(self._found.outlook)

    @cached_property
    def _templates(self) -> Spans:
        return Spans(self._found.templates)

    @cached_property
    def _urls(self) -> Spans:
        return Spans(each.span() for each in _URL.finditer(self._text))


def _last(items: Sequence[tuple[Any, ...]], offset: int) -> int:
    """Return the index of the last item that begins up to the offset, or -1."""
    return bisect_right(items, offset, key=itemgetter(0)) - 1


def _is_css(place: Place) -> bool:
    return place.kind is Kind.STYLE or place.attribute == "style"


def _encode_in_url(text: str, before: str) -> str:
    """Return the text for an URL that begins with `before`.

    The value of a parameter is encoded completely, apart from what is encoded already. In other
    parts, the text can have delimiters of URLs.
    """
    is_value = "?" in before and "=" in re.split("[?&;#]", before)[-1]
    unsafe = _IN_PARAMETER if is_value else _IN_URL
    return unsafe.sub(lambda found: percent_encode(found[0], safe=""), text)


def _require_fit(text: str, place: Place) -> None:
    if place.string:
        pieces = re.finditer(rf"\\.|[{place.string}\\]", text)
        if (quote := _find_quote(pieces)) is not None:
            raise DoesNotFit(f"`{quote}` would end the string in {place.kind.value}")
    elif _is_css(place) and (quote := _find_quote(_QUOTE_IN_CSS.finditer(text))) is not None:
        raise DoesNotFit(f"`{quote}` would begin a string in {place.kind.value}")
    if place.kind in _ENDS and (end := _ENDS[place.kind].search(text)) is not None:
        raise DoesNotFit(f"`{end[0]}` would end {place.kind.value}")


def _find_quote(pieces: Iterator[re.Match[str]]) -> str | None:
    """Return the first piece of one character. Escapes and whole strings have more."""
    return next((each[0] for each in pieces if len(each[0]) == 1), None)


def _read_region(text: str, start: int, end: int, kind: Kind) -> Iterator[tuple[int, Place]]:
    """Yield the places in a tag, a comment, CSS or a script, with their first offsets."""
    words = _ATTRIBUTE.finditer(text, start, end) if kind is Kind.TAG else iter(())
    element = next(words)[0].strip("<").lower() if kind is Kind.TAG else ""
    region = Place(kind=kind, start=start, element=element)
    yield start, region
    if kind in _PARTS:
        yield from _read_strings(text, start, end, region)
    for found in words:
        if found.lastgroup is None:
            continue
        name, (first, last) = found["name"].lower(), found.span(found.lastgroup)
        place = evolve(
            region,
            kind=Kind.ATTRIBUTE,
            start=first,
            attribute=name,
            quote=_QUOTES[found.lastgroup],
            is_url=re.split("[:-]", name)[-1] in _URL_ATTRIBUTES,
        )
        yield first, place
        if name == "style":
            yield from _read_strings(text, first, last, place)
        yield last, region


def _read_strings(text: str, start: int, end: int, around: Place) -> Iterator[tuple[int, Place]]:
    """Yield the strings and the URLs in CSS or in a script, and what is between them."""
    parts = _PARTS.get(around.kind, _PARTS[Kind.STYLE])
    for found in parts.finditer(text, start, end):
        is_url = found.lastgroup == "url"
        first = found.end("url") if is_url else found.start()
        string = text[first] if first < end and text[first] in "\"'`" else ""
        if string or is_url:
            first += len(string)
            yield first, evolve(around, start=first, string=string, is_url=is_url)
            yield found.end(), around


@define
class _Reader:
    """What was read of a text so far.

    `regions` are the parts that are no text of HTML, `links` the tags of `<a>` with their ends and
    whether they close it, and `outlook` the comments that only Outlook reads. `rows` are the tags
    of tables, with whether the text after them is in no cell, and `components` are the offsets
    after tags of MJML, with the component in which the text is.
    """

    text: str
    has_tags: bool = False
    is_document: bool = False
    root_end: int | None = None
    regions: list[tuple[int, int, Kind]] = Factory(list)
    links: list[tuple[int, int, bool]] = Factory(list)
    outlook: list[tuple[int, int]] = Factory(list)
    templates: list[tuple[int, int]] = Factory(list)
    rows: list[tuple[int, bool]] = Factory(list)
    components: list[tuple[int, str]] = field(factory=lambda: [(0, "")])
    _open_templates: list[int] = Factory(list)
    _open_components: list[str] = Factory(list)
    _numbers_open: Counter[str] = Factory(Counter)
    _outlook_end: int = 0

    def read(self) -> Self:
        """Read the text, and return this. Each part of the text is searched once."""
        offset = 0
        while (found := _MARKUP.search(self.text, offset)) is not None:
            if found["element"] is not None:
                offset = self._tag(found)
            elif found["comment"] is not None:
                offset = self._comment(found)
            else:
                self._declaration(found["declaration"])
                offset = found.end()
        if self._open_templates:
            self.templates.append((self._open_templates[0], len(self.text)))
        return self

    def _tag(self, found: re.Match[str]) -> int:
        start, end, part = found.start(), found.end(), found["rest"]
        while part and not part.endswith(">"):
            more = _MORE.match(self.text, end)
            part = more[0] if more else ""
            end += len(part)
        if not part:  # It is the rest of the text, and may be none, as in "a <b".
            end = len(self.text)
        self.regions.append((start, end, Kind.TAG))
        if not part:
            self.has_tags = self.has_tags or _BEGUN.search(self.text, start) is not None
            return end
        self.has_tags = True
        element, is_end = found["element"].lower(), bool(found["slash"])
        if element == "a":
            self.links.append((start, end, is_end))
        elif element in _TABLE:
            is_cell = element in {"td", "th"}
            is_between = is_end if is_cell else not (is_end and element == "table")
            self.rows.append((start, is_between))
        elif element in {"html", "body"}:
            self.is_document = self.is_document or not self._open_templates
        elif element == "template":
            self._template(start, end, is_end=is_end)
        elif element == "mjml" or element.startswith("mj-"):
            self._component(element, end, is_end=is_end, is_empty=part.endswith("/>"))
        is_content = element in _CONTENTS and not is_end
        return self._region(end, _CONTENTS[element]) if is_content else end

    def _region(self, start: int, kind: Kind) -> int:
        """Add a region up to its end, or to that of the text. Return the offset of the end."""
        found = _ENDS[kind].search(self.text, start)
        end = len(self.text) if found is None else found.start()
        self.regions.append((start, end, kind))
        return end

    def _comment(self, found: re.Match[str]) -> int:
        self.has_tags = True
        if not found["comment"]:
            return self._region(found.end(), Kind.COMMENT)
        is_for_outlook = found["comment"].endswith("]>") and found["for_all"] is None
        if is_for_outlook and found.start() >= self._outlook_end:
            closing = self.text.find("-->", found.end())
            self._outlook_end = len(self.text) if closing < 0 else closing
            self.outlook.append((found.end(), self._outlook_end))
        return found.end()

    def _declaration(self, text: str) -> None:
        if text[:7].lower() == "doctype":
            self.has_tags = True
            self.is_document = self.is_document or not self._open_templates

    def _template(self, start: int, end: int, *, is_end: bool) -> None:
        if not is_end:
            self._open_templates.append(end)
        elif self._open_templates:
            first = self._open_templates.pop()
            if not self._open_templates:
                self.templates.append((first, start))

    def _component(self, name: str, end: int, *, is_end: bool, is_empty: bool) -> None:
        """Begin or end a component of MJML, and those in it without an end."""
        if not is_end:
            if name == "mjml" and self.root_end is None:
                self.root_end = end
            if not is_empty:
                self._open_components.append(name)
                self._numbers_open[name] += 1
        elif not self._numbers_open[name]:
            return
        else:
            closed = ""
            while closed != name:
                closed = self._open_components.pop()
                self._numbers_open[closed] -= 1
        inner = self._open_components[-1] if self._open_components else ""
        self.components.append((end, inner))
