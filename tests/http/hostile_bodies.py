"""Bodies of 1 MiB that could cost the service much CPU time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from .api import MEGABYTE

LONG_TEXT = "one long text"
"""The body with which the others are compared."""

_FIELD = b'{"recipient_field":{"name":"C","data_type":"text"'
_VALUES = _FIELD + b',"allowed_values":['
_CODE = _FIELD + b',"custom_insertion_code":"'
_UNKNOWN = _FIELD + b',"other":['
_MARKS = "\u0315\u0300"
"""Two combining marks that are not in canonical order."""


def _filled(head: bytes, unit: bytes, tail: bytes) -> Callable[[], bytes]:
    """Repeat the unit until the body has 1 MiB."""
    return lambda: head + unit * ((MEGABYTE - len(head) - len(tail)) // len(unit)) + tail


def _numbered(head: bytes, unit: bytes, tail: bytes, most: int = MEGABYTE) -> Callable[[], bytes]:
    """Join different units by commas: `most` units and white space, or 1 MiB of units."""

    def body() -> bytes:
        units: list[bytes] = []
        size = len(head) + len(tail)
        while len(units) < most:
            units.append(unit % len(units))
            size += len(units[-1]) + 1
            if size > MEGABYTE:
                units.pop()
                break
        return (head + b",".join(units) + tail).ljust(MEGABYTE)

    return body


def _padded(head: bytes, unit: bytes, tail: bytes, count: int) -> Callable[[], bytes]:
    """Repeat the unit `count` times, and add white space up to 1 MiB."""
    return lambda: (head + unit * count + tail).ljust(MEGABYTE)


def _valued(text: str, most: int = 1_000) -> Callable[[], bytes]:
    """Return allowed values that begin with the text."""
    escaped = json.dumps(text, ensure_ascii=False)[:-1].encode()
    return _numbered(_VALUES, escaped + b'%d"', b"]}}", most)


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    LONG_TEXT: _filled(_CODE, b"a", b'"}}'),
    "nested brackets": lambda: b"[" * 500_000 + b"]" * 500_000,
    "nested brackets without an end": _filled(b"", b"[", b""),
    "nested objects": lambda: b'{"a":' * 170_000 + b"1" + b"}" * 170_000,
    "closing brackets": _filled(b"", b"]", b""),
    "arrays side by side": _filled(b"[", b"[],", b"[]]"),
    "arrays in arrays side by side": _filled(b"[", b"[[]],", b"0]"),
    "objects side by side": _filled(b"[", b"{},", b"{}]"),
    "arrays as allowed values": _filled(_VALUES, b"[],", b"0]}}"),
    "objects as allowed values": _filled(_VALUES, b'{"a":0},', b"0]}}"),
    "arrays in an unknown member": _filled(_UNKNOWN, b"[],", b"0]}}"),
    "arrays 32 levels deep": _filled(b"[" * 31, b"[],", b"0" + b"]" * 31),
    "documents side by side": _filled(b"", b'["["],', b""),
    "quotes": _filled(b"", b'"', b""),
    "quotes after 33 brackets": _filled(b"[" * 33, b'"', b""),
    "backslashes": _filled(b'"', b"\\\\", b'"'),
    "escaped quotes": _filled(_CODE, rb"\"", b'"}}'),
    "escaped letters": _filled(_CODE, rb"\u0041", b'"}}'),
    "null characters": _filled(_CODE, rb"\u0000", b'"}}'),
    "surrogates": _filled(_CODE, rb"\ud800", b'"}}'),
    "pairs of surrogates": _filled(_CODE, rb"\ud83d\ude00", b'"}}'),
    "strings of null characters": _filled(_VALUES, rb'"\u0000",', b'""]}}'),
    "names with null characters": _numbered(b"{", rb'"\u0000%x":0', b"}"),
    "zeros": _filled(b"[", b"0,", b"0]"),
    "zeros as allowed values": _filled(_VALUES, b"0,", b"0]}}"),
    "negative numbers": _filled(b"[", b"-1,", b"0]"),
    "fractions": _filled(b"[", b"0.1,", b"0]"),
    "numbers of 300 digits": _filled(b"[", b"9" * 300 + b",", b"0]"),
    "one number": _filled(b"", b"9", b""),
    "one fraction": _filled(b"0.", b"9", b""),
    "one exponent": _filled(b"1e", b"0", b""),
    "words": _filled(b"[", b"true,", b"0]"),
    "NaN": _filled(b"[", b"NaN,", b"0]"),
    "empty strings": _filled(b"[", b'"",', b'""]'),
    "strings of brackets": _filled(b"[", b'"[[[[[[[[",', b"0]"),
    "300,000 allowed values": _filled(_VALUES, b'"",', b'""]}}'),
    "different allowed values": _numbered(_VALUES, b'"%x"', b"]}}"),
    "different members": _numbered(_FIELD + b",", b'"%x":0', b"}}"),
    "different members outside": _numbered(b"{", b'"%x":[]', b"}"),
    "equal members": _filled(b'{"a":0', b',"a":0', b"}"),
    "one long name": _filled(b'{"', b"~", b'":0}'),
    "white space": _filled(b"", b" ", b""),
    "lines": _filled(b"", b"\n", b""),
    "white space between zeros": _filled(b"[", b" 0 ,", b"0]"),
    "separators": _filled(b"[", b":,", b"]"),
    "white space in a name": _filled(b'{"recipient_field":{"name":"', b" ", b'"}}'),
    "null bytes": _filled(b"", b"\0", b""),
    "letters": _filled(b"", b"a", b""),
    "not UTF-8 at its end": _filled(b'"', "é".encode(), b"\xff"),
    "marks": _filled(_CODE, _MARKS.encode(), b'"}}'),
    "marks in a name": _filled(b'{"recipient_field":{"name":"', _MARKS.encode(), b'"}}'),
    "250 marks in each allowed value": _valued(_MARKS * 125),
    "1,016 marks in each allowed value": _valued(_MARKS * 508),
    "marks that decompose to two": _valued("\u0f73" * 500),
    "500 letters with a mark in each allowed value": _valued("e\u0301" * 250),
    "9,900 arrays": _padded(b"[", b"[],", b"0]", 9_900),
    "9,900 zeros": _padded(_VALUES, b"0,", b"0]}}", 9_900),
    "9,900 numbers of 45 digits": _padded(b"[", b"9" * 45 + b",", b"0]", 9_900),
    "9,900 strings of null characters": _padded(b"[", rb'"\u0000",', b"0]", 9_900),
    "4,900 members": _numbered(_FIELD + b",", b'"%090x":0', b"}}", 4_900),
    "4,900 members with null characters": _numbered(b"{", rb'"%x":"\u0000"', b"}", 4_900),
    "3,300 objects with null characters": _padded(b"[", b'{"a":"\\u0000"},', b"0]", 3_300),
    "700 values of marks and 8,000 of null characters": _numbered(
        _UNKNOWN + rb'"\u0000",' * 8_000 + b'0],"allowed_values":[',
        b'"' + _MARKS.encode() * 125 + b'%d"',
        b"]}}",
        700,
    ),
}
"""Each function creates a body of at most 1 MiB."""


def _operations(unit: bytes, most: int = 1_000) -> Callable[[], bytes]:
    """Return a batch of different operations: `most` of them, or 1 MiB."""
    return _numbered(b'{"operations":[', unit, b"]}", most)


_WORDS = b",".join(b'"%x"' % number for number in range(80))
_DATES = b",".join(b'"20%02d-01-01"' % year for year in range(70))
_UNKNOWN_MEMBERS = b",".join(b'"nam%d":0' % number for number in range(12))

HOSTILE_BATCHES: Mapping[str, Callable[[], bytes]] = {
    "operations without members": _operations(b"{}%.0d", MEGABYTE),
    "numbers as operations": _operations(b"%d", MEGABYTE),
    "misspelled kinds of operations": _operations(b'{"operation":"creat","a":%d}', MEGABYTE),
    "misspelled members": _operations(
        b'{"operation":"create","recipient_field":{"k%d":0,' + _UNKNOWN_MEMBERS + b"}}"
    ),
    "words as dates": _operations(
        b'{"operation":"create","recipient_field":{"name":"C%d","data_type":"date",'
        b'"allowed_values":[' + _WORDS + b"]}}"
    ),
    "dates for a field of texts": _operations(
        b'{"operation":"replace","reference":"city","recipient_field":{"name":"C%d",'
        b'"data_type":"date","allowed_values":[' + _DATES + b"]}}"
    ),
    "numbers for a field of texts": _operations(
        b'{"operation":"update","reference":"city","recipient_field":{"allowed_values":['
        + b"0," * 80
        + b"%d]}}"
    ),
    "references to missing fields": _operations(b'{"operation":"delete","reference":"k%d"}'),
}
"""Batches that could cost more CPU time than the largest valid one."""


def lines_of_python(call: Callable[[], object]) -> int:
    """Return how many lines of Python the call executes in this thread."""
    lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    traced = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(traced)
    return lines
