"""Output of the commands."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

import click

from recipient_fields.application.documents.strict_json import render_json

_CONTROLS = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except a line feed, line and paragraph separators, and bidi controls."""


def print_json(document: object) -> None:
    """Print a JSON document on standard output."""
    _print(render_json(document))


def print_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns that a terminal aligns on standard output, with a dash for None."""
    for line in table_lines(titles, rows):
        print_line(line)


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table."""
    cells = [list(titles)] + [["-" if c is None else one_line(str(c)) for c in row] for row in rows]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(titles))]
    for row in cells:
        padded = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Return the number of columns in a terminal."""
    if text.isascii():
        return len(text)
    # Imported here because most tables are ASCII.
    from wcwidth import wcswidth

    return wcswidth(text)


def print_line(text: str) -> None:
    """Print a line on standard output."""
    _print(text.encode("utf-8"))


def print_bytes(content: bytes) -> None:
    """Print the content unchanged on standard output."""
    _print(content, line=False)


def note(message: str) -> None:
    """Print a message for the user on standard error."""
    click.echo(printable(message), err=True)


def printable(text: str) -> str:
    """Return the text with escapes for the characters that control a terminal.

    Names and messages can contain such characters.
    """
    return _CONTROLS.sub(_escaped, text)


def one_line(text: str) -> str:
    """Return the printable text, with an escape for a line feed."""
    return printable(text).replace("\n", "\\n")


def _escaped(character: re.Match[str]) -> str:
    return ascii(character[0])[1:-1]


def _print(content: bytes, *, line: bool = True) -> None:
    """Print UTF-8 in every locale, because names can contain any character."""
    try:
        click.echo(content, nl=line)
    except OSError as error:
        # The interpreter flushes its buffer again when it ends, and would report the same error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise  # The reader has closed the pipe. click then exits quietly.
        raise click.ClickException(f"Can't write the output: {error.strerror}.") from error
