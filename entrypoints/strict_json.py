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

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""Also one that never ends: looking for its end once for each quote in it would take minutes."""
_BRACKET = re.compile(rb"[\[\]{}]")


class NotJson(RecipientFieldsError):
    """The bytes are no JSON document that we read; the message says why, and repeats none of it."""


def parse_json(document: bytes) -> object:
    """The document's value; NotJson where it is none.

    Beyond the grammar (RFC 8259): no duplicate members, no NaN or Infinity, no number beyond a
    double, no byte order mark, UTF-8 only, and at most 32 levels, counted before anything recurses.
    """
    if _nesting(document) > DEEPEST_NESTING:
        raise NotJson(f"The JSON document is nested deeper than {DEEPEST_NESTING} levels.")
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


def _nesting(document: bytes) -> int:
    if document.count(b"[") + document.count(b"{") <= DEEPEST_NESTING:
        return 0
    depth = deepest = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", document)):
        depth += 1 if bracket[0] in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


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
