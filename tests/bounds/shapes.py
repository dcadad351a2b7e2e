"""Hostile texts: pieces of the grammars of all dialects, repeated in each part of content.

A reader that searches the text again for each tag, name, quote or branch takes quadratic time for one
of these shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count

from attrs import frozen

from recipient_fields.domain.content import FilterName, SystemValue
from recipient_fields.domain.esp.recognition.delimiters import Delimiter
from recipient_fields.domain.esp.recognition.vocabularies import VOCABULARIES
from recipient_fields.domain.esp.recognition.vocabulary import Vocabulary

from ..support.growth import SMALLEST

_FILLER = "Thank you for your order. " * 16
"""Text between tags: a reader that scans it once per tag takes time in proportion to both."""


@frozen
class Shape:
    """A text of any length: `piece` again and again between `opening` and `closing`.

    Each `#` in the piece becomes another number, so that no two pieces are equal.
    """

    opening: str
    piece: str
    closing: str = ""

    @property
    def smallest(self) -> int:
        """The size with which the measurement begins.

        A tag in braces, and a code, have at most 10,000 characters: 16 times this size is less.
        """
        return 600 if self.opening.startswith("{") else SMALLEST

    def __str__(self) -> str:
        """Return the shape with its piece once."""
        return f"{self.opening}[{self.piece[:40]}]*{self.closing}"

    def text(self, size: int) -> str:
        """Return a text of at most this length."""
        left = size - len(self.opening) - len(self.closing)
        if "#" not in self.piece:
            return self.opening + self.piece * (left // len(self.piece)) + self.closing
        parts = []
        for number in count():
            part = self.piece.replace("#", f"{number:x}")
            left -= len(part)
            if left < 0:
                return self.opening + "".join(parts) + self.closing
            parts.append(part)
        raise AssertionError


def _tag_contexts() -> Iterator[tuple[str, str]]:
    """Yield the openings and closings of all types of tags, also without the closing."""
    for delimiter in Delimiter:
        opening, _, closing = re.split("(…|NAME)", delimiter.value)
        yield f"{opening} a ", closing
        yield opening, ""


CONTEXTS: tuple[tuple[str, str], ...] = (
    ("", ""),
    *_tag_contexts(),
    ("{% if ", " %}"),
    ("{% assign x = ", " %}"),
    ("{% for ", " %}"),
    ("{{#each ", "}}"),
    ("{{#if ", "}}{{/if}}"),
    ('{{#if recipient.tier = "a"}}{{else if ', "}}{{/if}}"),
    ('{{#if recipient.tier = "a"}}', "{{/if}}"),
    ('{{#if recipient.tier = "a"}}b{{else}}', "{{/if}}"),
    ("{{recipient.tier | ", "upper}}"),
    ('{{recipient.tier | default: "', '"}}'),
    ("{{!-- ", "--}}"),
    ("{% raw %}", "{% endraw %}"),
    ("{% verbatim %}", "{% endverbatim %}"),
    ("{% comment %}", "{% endcomment %}"),
    ("<!doctype html><a href='https://a.example/?b=", "'>c</a></html>"),
    ("<script>", "</script>"),
    ("<style>", ""),
    ("<!--", "-->"),
    ("<table><tr>", "</tr></table>"),
)
"""What is before and after the pieces."""


def _words(vocabulary: Vocabulary) -> Iterator[str]:
    """Yield pieces with a word of each type in the dialect."""
    roots = (vocabulary.fields, vocabulary.events, vocabulary.nested, vocabulary.system)
    for words in roots:
        for word in sorted(words)[:1]:
            name = word.replace("*", "x").partition(".")[0]
            yield f"{name}.a# "
    for word in sorted(vocabulary.bare_fields)[:1]:
        yield f"{word} "
    for word in sorted(vocabulary.tags)[:1]:
        yield f"{{% {word} a# %}}"
        yield f"({word} a#) "
    for word in sorted(vocabulary.filters)[:1]:
        yield f"|{word}"
    for word in sorted(vocabulary.functions)[:1]:
        yield f"{word.replace('*', 'x')}(a#) "


_NAMES = (
    *("a ", "a# ", "x.y ", "x#.y ", ".b", "[a]", "['a#']", '["a#"].', "this.a# ", "@a# ", "a-"),
    *("${a} ", "${a#} ", "b.${a#} ", "[a#] ", "à\u0316", "\u0301\u0316", "1 ", "0.5."),
)
_OPERATORS = (
    *("|", "||", ":", ",", "=", "==", "a=b ", "<", ">", "!", "~", "-", "--", "&", "&nbsp;", "&amp;"),
    *("and ", "or ", "not ", "in ", "is ", "if ", "for ", "as |a# b#| ", "(", ")", "((", ")("),
)
_CALLS = (
    *("(upper a) ", "(upper a#) ", "(h# a) ", "f#(a) ", "v(", "f(a ", "f(", "v(a", "v(a)"),
    *("|upper", "|f#", "|f#:a ", "|lookup:'a#'", ' | default: "a#"', "| url "),
    *('AttributeValue("a#") ', "@a# ", "/*", "*/", "SET @a# = 1 "),
)
_QUOTES = ('"', "'", '"a" ', "'a# ' ", "\\", '\\"', "\u201c", "\u201ca#\u201d ", "`")
_DELIMITERS = (
    *("{", "}", "{{", "}}", "{{{", "}}}", "{%", "%}", "{#", "#}", "{{#", "{{/", "{{!", "{{!--"),
    *("--}}", "{{~", "~}}", "%%", "%%[", "]%%", "%%=", "=%%", "*|", "|*", "[[", "]]", "[%", "%]"),
    *("<%", "%>", "%", "%41", "%IF ", "http://", "://"),
)
_TAGS = (
    *("{{a}}", "{{a#}}", "{{ x.y# }}", "{{tier}}", "{{ person|lookup:'a#' }}", "{{${a#}}}"),
    *("{% if a# %}", "{% endif %}", "{% assign a# = 1 %}", "{% raw %}", "{% endraw %}"),
    *("{% comment %}", "{{#each a#}}", "{{/each}}", "{{#if a}}", "{{#if a#}}b{{/if}}"),
    *("%%a#%%", "%%=v(@a#)=%%", "%%[ SET @a# = 1 ]%%", "%%=IIf(Empty([a#]),1,2)=%%"),
    *("*|A#|*", "*|IF:A|*b*|END:IF|*", "*|IF:A#|*", "*|END:IF|*", "%A#%", "[[a#]]", "[%a%]"),
    *("%IF $A#=1%b%/IF%", "<%asm_group_unsubscribe_url%>", "[unsubscribe]"),
)
_REFERENCES = (
    "{{recipient.tier",
    "{{recipient.tier}}",
    "{{recipient.tier}}a ",
    "{{recipient.a#}}",
    "{recipient.tier} ",
    "recipient.tier ",
    "{{recipient.tier | expression}}",
    '{{recipient.tier | default: "#"}}',
    '{{recipient.tier | upper | default: "#"}}',
    "{{recipient.tier | truncate: 3 | upper}}",
    *(f"{{{{recipient.tier | {each.value}}}}}" for each in FilterName),
    *(f"{{{{{each.value}}}}}" for each in SystemValue),
    "{{link.a#}}",
    "{{#if recipient.a#}}",
    "{{#if recipient.tier is set}}a",
    '{{#if recipient.tier = "#"}}a{{/if}}',
    '{{#if recipient.tier contains "#"}}a{{else}}b{{/if}}',
    "{{else if recipient.tier is set}}",
    '{{else if recipient.tier = "#"}}',
    f'{{{{else if recipient.tier = "b"}}}}{_FILLER}',
    f'{{{{else if recipient.visits > #}}}}{_FILLER}',
    "{{else}}",
    "{{/if}}",
    "{{! a }}",
)
_CONDITIONS = (
    *('recipient.tier = "#" or ', "recipient.tier is set and ", "recipient.tier in (", '"#", '),
    *("not recipient.tier and ", "(recipient.visits > # or "),
)
_HTML = (
    *("<", "<a ", '<a href="', "href=", "href ", "<style>", "<script>", "<!--", "-->", "<table>"),
    *("<td>", "</td>", "<p>a</p>", "?", "?a=", "\n", " ", "  \n", "\t", "x", _FILLER),
)
PIECES: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(*_NAMES, *_OPERATORS, *_CALLS, *_QUOTES, *_DELIMITERS, *_TAGS),
            *(*_REFERENCES, *_CONDITIONS, *_HTML),
            *(piece for each in VOCABULARIES.values() for piece in _words(each)),
        )
    )
)


CONTENT_COSTS: Mapping[str, Shape] = {
    "helpers in a tag": Shape("{{ a ", "(upper a) ", "}}"),
    "names in a tag": Shape("{{", " x.y", "}}"),
    "different names in a tag": Shape("{{", " x#.y", "}}"),
    "names set by a loop": Shape("{% for ", "a# ", " in b %}"),
    "parentheses in AMPscript": Shape("%%[ ", "v(jobid ", "]%%"),
    "branches": Shape(
        '{{#if recipient.tier = "a"}}',
        f'{{{{else if recipient.tier = "b"}}}}{_FILLER}',
        "{{/if}}",
    ),
    "empty branches": Shape(
        '{{#if recipient.tier = "a"}}', '{{else if recipient.tier = "b"}}', "{{/if}}"
    ),
    "openings in a block": Shape('{{#if recipient.tier = "a"}}', "{%", "{{/if}}"),
    "filters": Shape("{{recipient.tier", "| url", "}}"),
    "different filters": Shape("", "{{recipient.tier | truncate: # | url | upper}}"),
    "marks in a name": Shape("%%[ [a", "\u0301\u0316", "] ]%%"),
}
"""Shapes that once took quadratic time, or a multiple of the time of others."""
