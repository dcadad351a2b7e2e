"""The tour of `docs/http-api.md` runs as it is written, against the real service."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..secrecy import keys_in_log

TOUR = Path(__file__).parents[2] / "docs" / "http-api.md"
END = "\x1e"

_BLOCK = re.compile(r"```(sh|http|json|text)\n(.*?)```", re.DOTALL)
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "<time>"),
    (re.compile(r'"\d+(?:-[0-9a-f]+)+"'), '"<tag>"'),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<request id>"),
)


@pytest.fixture
def demonstration() -> Iterator[dict[str, str]]:
    """The address of a service with demonstration data, and its key."""
    with subprocess.Popen(
        [
            *(Path(sys.executable).parent / "recipient-fields", "--storage", "memory:"),
            *("serve", "--demo", "--listen", "127.0.0.1:0"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            told = [next(process.stderr) for _ in range(3)]
            assert keys_in_log("".join(told)) == []
            (url,) = re.findall(r"http://\S+", told[0])
            (key,) = re.findall(r"rfk_\w+", told[-1])
            yield {"URL": url, "API_KEY": key}
        finally:
            process.terminate()


def test_every_command_of_the_tour_prints_what_is_shown(
    demonstration: dict[str, str], tmp_path: Path
) -> None:
    blocks = _BLOCK.findall(TOUR.read_text("utf-8"))
    commands = [text for kind, text in blocks if kind == "sh"]
    script = "".join(f"{command}printf '{END}'\n" for command in commands)

    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, **demonstration},
        capture_output=True,
        text=True,
        check=True,
    )

    outputs = iter(run.stdout.split(END))
    shown = 0
    for (kind, _), (next_kind, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind != "sh":
            continue
        output = next(outputs)
        if next_kind in {"", "sh"}:
            assert output == ""
            continue
        _COMPARE[next_kind](_steady(output), _steady(expected))
        shown += 1
    assert shown == len(commands) - 1


def _steady(text: str) -> str:
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return text.replace("\r", "")


def _compare_text(output: str, expected: str) -> None:
    assert output == expected


def _compare_json(output: str, expected: str) -> None:
    assert json.loads(output) == json.loads(expected)


def _compare_http(output: str, expected: str) -> None:
    """Status and body are all there is; of the headers, those that matter."""
    status, headers, body, rest = _read_http(output)
    shown_status, shown_headers, shown_body, shown_rest = _read_http(expected)
    assert (status, body, rest) == (shown_status, shown_body, shown_rest)
    assert shown_headers <= headers


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


_COMPARE = {"text": _compare_text, "json": _compare_json, "http": _compare_http}
