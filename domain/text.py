"""The rules every text obeys (HTTP contract, section 2)."""

from __future__ import annotations

import re
import unicodedata

from .errors import InvalidInput, Rule, Violation

LONGEST_LINE = 255
LONGEST_FORM = 4 * LONGEST_LINE
"""The most code points of what composes or folds to such a line: U+1F82 is four in NFD."""

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
    """The text in Unicode NFC; as it is where no form of it could be short enough for a line.

    Composing takes time quadratic in the length: a megabyte of combining marks takes minutes.
    """
    if len(text) > LONGEST_FORM:
        return text
    return unicodedata.normalize("NFC", text)
