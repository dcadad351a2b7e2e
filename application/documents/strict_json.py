"""Parsing and rendering of JSON."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from recipient_fields.domain import RecipientFieldsError

__all__ = ["NotJson", "TooManyValues"]

MAX_DEPTH = 32

_MAX_DIGITS = 400
"""Longer integers are too large for a double, which has at most 309 digits before the point."""

_TOKEN = re.compile(
    rb"""
        [\s,:]*+
        (?:
            (?P<opening> [\[{] )
            | (?P<closing> [\]}] )
            | (?P<scalar> "[^"]*+"? | [^\s,:"\[\]{}]++ )
            | \Z
        )
    """,
    re.VERBOSE,
)
"""A bracket, string, number or word, after its separators. Strings have no escaped quotes.

The pattern matches at every position of any input. Otherwise, a search would retry at each
following position, which takes quadratic time.
"""


class NotJson(RecipientFieldsError):
    """The bytes are not a valid JSON document. The message does not contain them.

    `column` is the place of a syntax error in its line, from 1, or None for other reasons.
    """

    def __init__(self, message: str, column: int | None = None) -> None:
        self.column: int | None = column
        super().__init__(message)


class TooManyValues(RecipientFieldsError):
    """The document has more member names and values than `parse_json` permits."""


def parse_json(document: bytes, *, max_values: int | None = None) -> object:
    """Return the value of a JSON document (RFC 8259) in UTF-8.

    A document must not have duplicate members, NaN, Infinity, numbers that are too large for a
    double, or a byte order mark. Pass `max_values` for a document of an untrusted client: it limits
    the number of member names and values at all levels together, and the depth to 32 levels.

    Raises: NotJson if the document breaks one of these rules; TooManyValues if it has more than
    `max_values` member names and values.
    """
    if max_values is not None:
        _check_limits(document, max_values)
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError:
        raise NotJson("The document is not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise NotJson("The document begins with a byte order mark. Send it without.")
    if not text.strip():
        raise NotJson("The document is empty. Begin it with `{`.")
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        message = f"The document is not JSON: line {error.lineno}, column {error.colno}."
        raise NotJson(message, error.colno) from None
    except RecursionError:
        raise NotJson("The JSON document is nested too deeply.") from None


def render_json(document: object) -> bytes:
    """Return the document as compact JSON. A name of a file that is not UTF-8 has escapes in it."""
    return _encode(document).encode("utf-8", "backslashreplace")


def _check_limits(document: bytes, max_values: int) -> None:
    """Check the depth and the number of values before the slower, recursive parser runs.

    After a syntax error, the counts may be wrong. The parser rejects the document in this case.

    Raises: NotJson if the document is too deep; TooManyValues if it has too many values.
    """
    # To match escapes one by one, `re` takes 190 bytes of memory for each.
    plain = document.replace(b"\\\\", b"").replace(b'\\"', b"")
    depth = values = 0
    for token in _TOKEN.finditer(plain):
        kind = token.lastgroup
        if kind == "closing":
            depth -= 1
            if depth < 0:
                return
        elif kind is not None:
            depth += kind == "opening"
            if depth > MAX_DEPTH:
                raise NotJson(f"The JSON document is nested deeper than {MAX_DEPTH} levels.")
            values += 1
            if values > max_values:
                raise TooManyValues


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise NotJson("An object in the JSON document has the same member twice.")
    return members


def _constant(_name: str) -> NoReturn:
    raise NotJson("JSON has no NaN or Infinity.")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotJson("A number in the JSON document is too large for a double.")
    return number


def _int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise NotJson("A number in the JSON document is too large for a double.")
    _float(digits)
    return int(digits)


# `loads` would create a decoder for each document, and `dumps` an encoder.
_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
