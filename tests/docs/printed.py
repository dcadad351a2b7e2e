"""Comparison of the output on a page with the real output.

On a page, `…` matches any text within a line. A time, an entity tag and a request id match any
other. `json` is compared as JSON. `http` shows the complete status and body, and some headers.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .blocks import Block

_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "<time>"),
    (re.compile(r'"\d+(?:-[0-9a-f]+)+"'), '"<tag>"'),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<request id>"),
)


def assert_shown(output: str, shown: Block) -> None:
    """Assert that the block shows this output."""
    _ASSERT[shown.language](_steady(output), _steady(shown.text), str(shown))


def _steady(text: str) -> str:
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return text.replace("\r", "")


def _assert_text(output: str, shown: str, where: str) -> None:
    pattern = ".*".join(re.escape(part) for part in shown.split("…"))
    assert re.fullmatch(pattern, output) or output == shown, where


def _assert_json(output: str, shown: str, where: str) -> None:
    assert _canonical(json.loads(output)) == _canonical(json.loads(shown)), where


def _assert_http(output: str, shown: str, where: str) -> None:
    status, headers, body, rest = _read_http(output)
    shown_status, shown_headers, shown_body, shown_rest = _read_http(shown)
    assert (status, rest) == (shown_status, shown_rest), where
    assert _canonical(body) == _canonical(shown_body), where
    assert shown_headers <= headers, where


def _canonical(document: object) -> str:
    """Return the same text for equal documents. In Python, 1 equals True."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False, indent=2)


def _read_http(text: str) -> tuple[str, set[tuple[str, str]], Any, str]:
    head, _, body = text.partition("\n\n")
    status, *lines = head.splitlines()
    headers = {
        (name.lower(), value.strip()) for name, _, value in (n.partition(":") for n in lines)
    }
    if not body:
        return status, headers, None, ""
    document, end = json.JSONDecoder().raw_decode(body)
    return status, headers, document, body[end:].strip()


_ASSERT = {"text": _assert_text, "json": _assert_json, "http": _assert_http}
