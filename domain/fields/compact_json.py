"""The measure of sizes: bytes of JSON in UTF-8, without white space and unnecessary escapes."""

from __future__ import annotations

from json import JSONEncoder

_encode = JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def json_size(value: object) -> int:
    """Return the bytes of a value of JSON, in which a tuple is a list."""
    return len(_encode(value).encode())
