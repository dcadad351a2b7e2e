"""The rules every text obeys (HTTP contract, section 2)."""

from __future__ import annotations

import re
import unicodedata

from .errors import InvalidInput, Rule, Violation

LONGEST_LINE = 255
LONGEST_FORM = 4 * LONGEST_LINE
"""The most code points of what composes or folds to such a line: U+1F82 is four in NFD."""

_LONG_RUN = 32
"""Marks; the time to put fewer in order does not matter."""
_LONG_RUN_OF_MARKS = re.compile(rb"[^\0]{%d,}" % _LONG_RUN)
_UNTAKEN_MARKS = re.compile(rb"[^\0]{3}([^\0]+)")
"""Both are searched in a text's canonical combining classes, of which those of marks are not 0.
A character is composed of at most four, so it takes at most three of the marks that follow it."""
_DECOMPOSED_TO_MARKS = "\u0f73\u0f75\u0f81"
"""The only characters of class 0 whose canonical decomposition begins with a mark."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_NOT_OF_A_LINE = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Unicode's categories Cc and Cs, and its separators of lines and paragraphs."""


def unstorable(text: str) -> Violation | None:
    """What keeps a text from being stored at all: U+0000 or a lone surrogate."""
    if _UNSTORABLE.search(text) is None:
        return None
    return Violation(
        Rule.INVALID_CHARACTERS, "Remove the null character or lone surrogate from this text."
    )


def storable(text: str) -> str:
    """The text with U+FFFD in place of what can't be stored or shown."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def line_violation(text: str, *, longest: int) -> Violation | None:
    """What is wrong with a text that must be one line of 1 to `longest` code points."""
    if _NOT_OF_A_LINE.search(text) is not None:
        return Violation(Rule.INVALID_CHARACTERS, "Remove line breaks and control characters.")
    return length_violation(text, longest=longest)


def parse_name(text: str, *, longest: int, invalid: type[InvalidInput]) -> str:
    """The name, NFC and trimmed; `invalid`, at `name`, unless it is one line of 1 to `longest`."""
    name = normalized(text)
    violation = line_violation(name, longest=longest)
    if violation is not None:
        raise invalid([violation.under("name")])
    return name


def verbatim_violation(text: str, *, longest: int) -> Violation | None:
    """What is wrong with a text that is stored as it is: 1 to `longest` code points, not blank."""
    return unstorable(text) or length_violation(text, longest=longest)


def length_violation(text: str, *, longest: int) -> Violation | None:
    """What is wrong with a text's length."""
    if not text or text.isspace():
        return Violation(Rule.BLANK, "This must not be empty or only white space.")
    if len(text) > longest:
        return Violation(Rule.TOO_LONG, f"This must have at most {longest:,} characters.")
    return None


def normalized(text: str) -> str:
    """The text in Unicode NFC without outer white space."""
    return composed(text.strip()).strip()


def composed(text: str) -> str:
    """Return the text in Unicode NFC, or not normalized if no form of it fits into a line.

    `normalize` takes quadratic time in the length of a run of unordered combining marks: a megabyte
    of them takes minutes. So long runs are put in order before.
    """
    if len(text) > LONGEST_FORM:
        return text
    if len(text) > _LONG_RUN and not unicodedata.is_normalized("NFD", text):
        for character in _DECOMPOSED_TO_MARKS:
            text = text.replace(character, unicodedata.normalize("NFD", character))
        classes = bytes(map(unicodedata.combining, text))
        if _fewest_marks(classes) > LONGEST_LINE:
            return text
        text = _with_ordered_marks(text, classes)
    return unicodedata.normalize("NFC", text)


def _fewest_marks(classes: bytes) -> int:
    """Return how many marks remain at least if each character before marks takes three of them."""
    runs = _UNTAKEN_MARKS.findall(classes)
    return sum(map(len, runs))


def _with_ordered_marks(text: str, classes: bytes) -> str:
    """Return the text with its long runs of marks in canonical order, which is equivalent."""
    parts: list[str] = []
    end = 0
    for run in _LONG_RUN_OF_MARKS.finditer(classes):
        marks = text[run.start() : run.end()]
        parts += text[end : run.start()], *sorted(marks, key=unicodedata.combining)
        end = run.end()
    return "".join([*parts, text[end:]])
