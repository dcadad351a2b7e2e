"""From the bytes of a request body to plain JSON values, and nothing else."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

import falcon

from .problems import Refused

LARGEST_BODY = 1024 * 1024
DEEPEST_NESTING = 32

_LONGEST_NUMBER = 400
"""Digits; a double has at most 309 before the point."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""Also one that never ends: looking for its end once for each quote in it would take minutes."""
_BRACKET = re.compile(rb"[\[\]{}]")


def read_json(req: falcon.Request) -> object:
    """The request's JSON document: strict RFC 8259, at most 1 MiB and 32 levels deep."""
    body = req.bounded_stream.read(LARGEST_BODY + 1)
    if len(body) > LARGEST_BODY:
        raise Refused("payload_too_large")
    return parse_json(body)


def parse_json(body: bytes) -> object:
    """The document, or Refused as `invalid_json` with a sentence that says why.

    Beyond the grammar: no duplicate members, no NaN or Infinity, no number beyond a double, no byte
    order mark, UTF-8 only, and at most 32 levels, counted before anything recurses.
    """
    if _nesting(body) > DEEPEST_NESTING:
        _refuse(f"The JSON document is nested deeper than {DEEPEST_NESTING} levels.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        _refuse("The body is not UTF-8.")
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        _refuse(f"The body is not JSON: line {error.lineno}, column {error.colno}.")


def _nesting(body: bytes) -> int:
    if body.count(b"[") + body.count(b"{") <= DEEPEST_NESTING:
        return 0
    depth = deepest = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", body)):
        depth += 1 if bracket[0] in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        _refuse("An object in the JSON document has the same member twice.")
    return members


def _constant(_name: str) -> NoReturn:
    _refuse("JSON has no NaN or Infinity.")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        _refuse("A number in the JSON document is too large for a double.")
    return number


def _int(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        _refuse("A number in the JSON document is too large for a double.")
    _float(digits)
    return int(digits)


def _refuse(message: str) -> NoReturn:
    raise Refused("invalid_json", message)
