"""Rules for text: Unicode normalization, length and characters (HTTP contract, section 2)."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

from .errors import InvalidInput, Rule, Violation

MAX_LINE_LENGTH = 255
MAX_UNNORMALIZED_LENGTH = 4 * MAX_LINE_LENGTH
"""A longer text does not fit into a line: NFC and case folding join at most four code points."""

_LONG_TEXT = 64
"""Code points. `unicodedata.normalize` takes less than 0.1 ms for any shorter text."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_FORBIDDEN_IN_LINES = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Unicode's categories Cc and Cs, and its separators of lines and paragraphs."""


def character_violation(text: str) -> Violation | None:
    """Return a violation if no storage accepts the text: it contains U+0000 or a lone surrogate."""
    if _UNSTORABLE.search(text) is None:
        return None
    return Violation(
        Rule.INVALID_CHARACTERS, "Remove the null character or lone surrogate from this text."
    )


def replace_unstorable(text: str) -> str:
    """Replace each character that can't be stored or displayed with U+FFFD."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def line_violation(text: str, *, max_length: int) -> Violation | None:
    """Return a violation unless the text is one line of 1 to `max_length` code points."""
    if _FORBIDDEN_IN_LINES.search(text) is not None:
        return Violation(Rule.INVALID_CHARACTERS, "Remove line breaks and control characters.")
    return length_violation(text, max_length=max_length)


def parse_name(text: str, *, max_length: int, error: type[InvalidInput]) -> str:
    """Return the name in NFC and trimmed.

    Raises: `error`, with the path `name`, unless the name is one line of 1 to `max_length`
    code points.
    """
    name = normalize_line(text)
    violation = line_violation(name, max_length=max_length)
    if violation is not None:
        raise error([violation.prefixed("name")])
    return name


def verbatim_violation(text: str, *, max_length: int) -> Violation | None:
    """Return a violation unless the text has 1 to `max_length` code points and is not blank.

    Line breaks are allowed: such a text is stored unchanged.
    """
    return character_violation(text) or length_violation(text, max_length=max_length)


def length_violation(text: str, *, max_length: int) -> Violation | None:
    """Return a violation if the text is blank or longer than `max_length` code points."""
    if not text or text.isspace():
        return Violation(Rule.BLANK, "This must not be empty or only white space.")
    if len(text) > max_length:
        return Violation(Rule.TOO_LONG, f"This must have at most {max_length:,} characters.")
    return None


def normalize_line(text: str) -> str:
    """Return the text in Unicode NFC, without white space at its ends."""
    return normalize_nfc(text.strip()).strip()


def normalize_nfc(text: str) -> str:
    """Return the text in Unicode NFC, or unchanged if its NFC form is too long for a line.

    `unicodedata.normalize` sorts combining marks in quadratic time: it takes 7 ms for 1,020 code
    points, and a request can contain hundreds of such texts. So a long text is decomposed here
    before it is composed.
    """
    if len(text) > MAX_UNNORMALIZED_LENGTH:
        return text
    if len(text) > _LONG_TEXT and not unicodedata.is_normalized("NFD", text):
        text = _decompose(text)
    return unicodedata.normalize("NFC", text)


def _decompose(text: str) -> str:
    """Return the text in Unicode NFD: decompose each character, then sort each run of marks."""
    decomposed = "".join(unicodedata.normalize("NFD", character) for character in text)
    runs = groupby(decomposed, key=lambda character: unicodedata.combining(character) > 0)
    return "".join("".join(sorted(run, key=unicodedata.combining)) for _, run in runs)
