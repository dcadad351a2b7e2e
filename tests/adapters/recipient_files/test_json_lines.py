"""Files of JSON Lines: what is read, and what is written."""

from __future__ import annotations

import json

import pytest

from recipient_fields.application.ports.recipients import FileOptions

NAME = "a.jsonl"


@pytest.mark.parametrize("name", [NAME, "a.ndjson"])
def test_each_line_is_a_recipient(lists, name):
    checked = lists.check('{"tier": "gold", "born": null}\n\n{"shoe_size": "1"}\n', name)
    assert checked.numbers == (1, 1)
    assert checked.lines == ["3: shoe_size: This is a text. Write the number 1 without quotes."]


def test_a_line_that_is_no_object_is_invalid(lists):
    many = json.dumps({"tier": [0] * 10_000})
    assert lists.check(f"[]\n{{\n{many}\n", NAME).lines == [
        "1: The line must be a JSON object.",
        "2: The line is not JSON: column 2.",
        "3: The line has too many members and values.",
    ]


def test_a_long_line_is_rejected(lists):
    content = b'{"comment": "' + b"x" * 50_000_000 + b'"}\n'
    assert lists.refusal(content, NAME) == (
        "a.jsonl:1: The row is longer than 1,048,576 characters. Check that each quote is closed."
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_byte_order_mark_belongs_to_no_line(lists, encoding):
    content = '\ufeff{"tier": "gold"}\n'.encode(encoding)
    assert lists.check(content, NAME, FileOptions(encoding=encoding)).numbers == (1, 0)


def test_rejects_have_their_line_and_their_reasons(lists):
    checked = lists.check('{"tier": "gold"}\n{"tier": 1}\n[]\n', NAME)
    assert checked.valid == b'{"tier": "gold"}\n'
    rejects = [json.loads(line) for line in checked.rejects.splitlines()]
    assert [each.pop("_violations") for each in rejects] == [
        ["tier: A text field requires a text in quotes."],
        ["The line must be a JSON object."],
    ]
    assert rejects == [{"tier": 1, "_line": 2}, {"_text": "[]", "_line": 3}]
