"""Rules for text: Unicode normalization, length and characters."""

from __future__ import annotations

import re
import unicodedata

from .arguments import require_type
from .errors import InvalidInput, Rule, Violation

__all__ = ["MAX_LINE_LENGTH", "character_violation", "clean_line", "fold_case"]

MAX_LINE_LENGTH = 255
MAX_UNNORMALIZED_LENGTH = 4 * MAX_LINE_LENGTH
"""A longer text does not fit into a line: NFC and case folding join at most four code points."""

_LONG_RUN = 32
"""Combining marks. `unicodedata.normalize` sorts shorter runs of marks in negligible time."""
_LONG_RUN_OF_MARKS = re.compile(rb"[^\0]{%d,}" % _LONG_RUN)
"""Matches in the combining classes of a text, one byte per code point. Only marks are not 0."""
_DECOMPOSED_TO_MARKS = "\u0f73\u0f75\u0f81"
"""The only characters of class 0 whose canonical decomposition consists of marks."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_FORBIDDEN_IN_LINES = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Unicode's categories Cc and Cs, and its separators of lines and paragraphs."""


def character_violation(text: str) -> Violation | None:
    """Return a violation if no storage accepts the text: it contains U+0000 or a lone surrogate."""
    if not isinstance(text, str):
        require_type(str, text=text)
    if text.isprintable() or _UNSTORABLE.search(text) is None:  # `isprintable` is faster
        return None
    return Violation(
        Rule.INVALID_CHARACTERS, "Remove the null character or lone surrogate from this text."
    )


def replace_unstorable(text: str) -> str:
    """Replace each character that can't be stored or displayed with U+FFFD."""
    if not isinstance(text, str):
        require_type(str, text=text)
    if text.isprintable():
        return text
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def to_line(text: str, *, max_length: int) -> str:
    """Return the text without line breaks and control characters, cut to `max_length`."""
    require_type(str, text=text)
    return _FORBIDDEN_IN_LINES.sub("", text)[:max_length]


def clean_line(text: str) -> str:
    """Return the text as the name of a field, or an empty text if nothing remains.

    Line breaks and repeated white space become one space, control characters are removed, and the
    text is cut to 255 characters of Unicode NFC.
    """
    require_type(str, text=text)
    line = normalize_nfc(to_line(" ".join(text.split()), max_length=MAX_LINE_LENGTH))
    return to_line(" ".join(line.split()), max_length=MAX_LINE_LENGTH).strip()


def control_character_violation(text: str) -> Violation | None:
    """Return a violation if the text has line breaks or control characters."""
    if _FORBIDDEN_IN_LINES.search(text) is None:
        return None
    return Violation(Rule.INVALID_CHARACTERS, "Remove line breaks and control characters.")


def line_violation(text: str, *, max_length: int) -> Violation | None:
    """Return a violation unless the text is one line of 1 to `max_length` code points."""
    violation = None if text.isprintable() else control_character_violation(text)
    return violation or length_violation(text, max_length=max_length)


def parse_name(text: str, *, max_length: int, error: type[InvalidInput]) -> str:
    """Return the name in NFC and trimmed.

    Raises: `error`, with the path `name`, unless the name is one line of 1 to `max_length`
    code points.
    """
    require_type(str, name=text)
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

    `unicodedata.normalize` sorts a run of combining marks in quadratic time: 7 ms for 1,020 marks,
    and a request can contain hundreds of such texts. So this function sorts long runs first.
    """
    if len(text) > MAX_UNNORMALIZED_LENGTH:
        return text
    if len(text) > _LONG_RUN and not unicodedata.is_normalized("NFD", text):
        for character in _DECOMPOSED_TO_MARKS:
            text = text.replace(character, unicodedata.normalize("NFD", character))
        text = _sort_long_runs_of_marks(text)
    return unicodedata.normalize("NFC", text)


def fold_case(text: str) -> str:
    """Fold the case of the text. Texts that differ only in case have the same result."""
    if not isinstance(text, str):
        require_type(str, text=text)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _sort_long_runs_of_marks(text: str) -> str:
    """Return the text with its long runs of marks in canonical order, which is equivalent."""
    classes = bytes(map(unicodedata.combining, text))
    parts: list[str] = []
    end = 0
    for run in _LONG_RUN_OF_MARKS.finditer(classes):
        marks = text[run.start() : run.end()]
        parts += text[end : run.start()], *sorted(marks, key=unicodedata.combining)
        end = run.end()
    return "".join([*parts, text[end:]])
