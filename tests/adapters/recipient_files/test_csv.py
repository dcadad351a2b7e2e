"""CSV files of recipients: what is read, and what is written."""

from __future__ import annotations

import gzip
import io

import pytest

from recipient_fields.application.ports.recipients import FileOptions
from recipient_fields.entrypoints.service.selection import open_recipients

HEADER = "tier,shoe_size,born\n"
READABLE = {
    "bom": b"\xef\xbb\xbftier,comment\ngold,x\n",
    "crlf": b"tier,comment\r\ngold,x\r\n",
    "line-break": b'tier,comment\ngold,"two\r\nlines, and a ""quote"""\n',
    "utf-16": "tier,comment\ngold,Zoë\n".encode("utf-16"),
    "semicolons": b"tier;comment\ngold;a,b\n",
    "tabs": b"tier\tcomment\ngold\tx\n",
    "no-last-break": b"tier,comment\ngold,x",
    "blank": b"tier,comment\n\ngold,x\n\n",
    "cr": b"tier,comment\rgold,x\r",
    "spreadsheet": b'\xef\xbb\xbf"tier";"comment"\r\n"gold";"a, b"\r\n',
    "unicode-text": "\ufefftier\tcomment\r\ngold\tZoë\r\n".encode("utf-16-be"),
}


@pytest.mark.parametrize("content", READABLE.values(), ids=list(READABLE))
def test_a_file_is_read(lists, content):
    assert lists.check(content).numbers == (1, 0)


def test_a_row_has_the_texts_of_its_cells_and_its_first_line() -> None:
    content = io.BytesIO(b'tier,comment\n\ngold,"two\nlines"\nsilver,\n')
    with open_recipients(content, "list.csv", FileOptions()) as reader:
        rows = [(row.line, reader.values(row)) for row in reader]
    assert rows == [
        (3, {"tier": "gold", "comment": "two\nlines"}),
        (5, {"tier": "silver", "comment": ""}),
    ]


NO_CSV = (
    "list.csv is JSON, not CSV. Write one object per line, in a file whose name ends with .jsonl."
)
UNREADABLE = {
    "empty": (b"", "list.csv: The first line must be a header with the keys of fields."),
    "quote": (
        b'tier,comment\ngold,x\ngold,"never\nclosed\n',
        (
            "list.csv:3: In the row that begins here, a quote is not closed or a value is"
            " longer than 131,072 characters."
        ),
    ),
    "latin-1": (
        "comment\nZoë\n".encode("latin-1"),
        (
            "list.csv: The text is not utf-8. Set the encoding, for example cp1252 for a list"
            " from Windows."
        ),
    ),
    "later": (
        ("comment\n" + "x\n" * 8_000 + "Zoë\n").encode("latin-1"),
        (
            "list.csv: The text after line 4,093 is not utf-8. Set the encoding, for example"
            " cp1252 for a list from Windows."
        ),
    ),
    "json": (b'[{"tier": "gold"}]\n', NO_CSV),
    "json on several lines": (b"[\n  {}\n]\n", NO_CSV),
    "gzip": (gzip.compress(b"tier\n"), "list.csv is compressed with gzip. Decompress it first."),
    "zip": (b"PK\x03\x04", "list.csv is a ZIP archive or a spreadsheet. Export it as CSV first."),
    "long": (
        b"tier\n" + b"x" * 50_000_000,
        "list.csv:2: The row is longer than 1,048,576 characters. Check that each quote is closed.",
    ),
    "utf-16": (
        "tier\n".encode("utf-16-le"),
        "list.csv:1: The line has a null character. Set the encoding, for example utf-16-le.",
    ),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_file_that_is_not_csv_is_rejected(lists, content, message):
    assert lists.refusal(content) == message


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_an_encoding_is_specified(lists, encoding):
    content = "comment\nZoë\n".encode(encoding)
    assert lists.check(content, "list.csv", FileOptions(encoding=encoding)).numbers == (1, 0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_byte_order_mark_belongs_to_no_name(lists, encoding):
    content = "\ufefftier\ngold\n".encode(encoding)
    assert lists.check(content, "list.csv", FileOptions(encoding=encoding)).numbers == (1, 0)


def test_a_delimiter_is_specified(lists):
    checked = lists.check("tier:comment\ngold:a,b;c\n", "list.csv", FileOptions(delimiter=":"))
    assert checked.numbers == (1, 0)


def test_a_row_with_another_number_of_cells_is_invalid(lists):
    assert lists.check(HEADER + "gold\ngold,1,,x\n").lines == [
        "2: The row has 1 cell, and the header has 3.",
        "3: The row has 4 cells, and the header has 3.",
    ]


ROWS = HEADER + 'gold,1,\n"go,ld",1,\nsilver\n=1+1,-2,\n'
REJECTS = (
    "tier,shoe_size,born,_line,_violations\n"
    '"go,ld",1,,3,"tier: Use one of gold, silver. Did you mean gold?"\n'
    'silver,,,4,"The row has 1 cell, and the header has 3."\n'
    '{formula},-2,,5,"tier: Use one of gold, silver."\n'
)


@pytest.mark.parametrize(("is_safe", "formula"), [(True, "'=1+1"), (False, "=1+1")])
def test_rejects_have_their_line_and_their_reasons(lists, is_safe, formula):
    checked = lists.check(ROWS, "list.csv", FileOptions(spreadsheet_safe=is_safe))
    assert checked.valid.decode() == HEADER + "gold,1,\n"
    assert checked.rejects.decode() == REJECTS.format(formula=formula)
