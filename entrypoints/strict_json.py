"""From bytes to plain JSON values, and nothing else."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from recipient_fields.domain import RecipientFieldsError

DEEPEST_NESTING = 32

_LONGEST_NUMBER = 400
"""Digits; a double has at most 309 before the point."""

_TOKEN = re.compile(
    rb"""
        [\s,:]*+
        (?:
            (?P<opening> [\[{] )
            | (?P<closing> [\]}] )
            | (?P<scalar> "(?:[^"\\]++|\\.)*+"? | [^\s,:"\[\]{}]++ )
            | \Z
        )
    """,
    re.DOTALL | re.VERBOSE,
)
"""A bracket, string, number or word, after its separators.

It matches at every position, whatever the bytes: if it failed at some, a search would try the next
position, and take quadratic time.
"""


class NotJson(RecipientFieldsError):
    """The bytes are no JSON document that we read; the message says why, and repeats none of it."""


class TooManyValues(RecipientFieldsError):
    """The document has more member names and values than its reader accepts."""


def parse_json(document: bytes, *, most_values: float = math.inf) -> object:
    """Return the document's value.

    Beyond the grammar (RFC 8259): no duplicate members, no NaN or Infinity, no number beyond a
    double, no byte order mark, UTF-8 only, and at most 32 levels. Raises NotJson if the document
    breaks one of these rules, and TooManyValues if it has more than `most_values` member names and
    values, at all levels together.
    """
    _check_limits(document, most_values)
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError:
        raise NotJson("The document is not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise NotJson("The document begins with a byte order mark. Send it without.")
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        message = f"The document is not JSON: line {error.lineno}, column {error.colno}."
        raise NotJson(message) from None


def _check_limits(document: bytes, most_values: float) -> None:
    """Check depth and number of values in one pass, which ends when either limit is exceeded.

    The parser recurses, and a value costs it a hundred times as much as a byte of a text. The pass
    may misread what follows an error of the grammar: the parser stops at that error.
    """
    depth = values = 0
    for token in _TOKEN.finditer(document):
        kind = token.lastgroup
        if kind == "closing":
            depth -= 1
            if depth < 0:
                return
        elif kind is not None:
            depth += kind == "opening"
            if depth > DEEPEST_NESTING:
                raise NotJson(f"The JSON document is nested deeper than {DEEPEST_NESTING} levels.")
            values += 1
            if values > most_values:
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
    if len(digits) > _LONGEST_NUMBER:
        raise NotJson("A number in the JSON document is too large for a double.")
    _float(digits)
    return int(digits)


# `loads` would make a decoder for each document.
_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
)
