"""CSV files: the cells are texts, in columns that the first line names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import BinaryIO, TextIO

from attrs import evolve, frozen

from recipient_fields.application.ports.recipients import (
    FileOptions,
    RecipientWriter,
    Row,
    UnreadableFile,
)
from recipient_fields.application.wording import counted
from recipient_fields.domain import Rule, Violation

from .texts import LINE, REASONS, Lines, TextWriter

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r'"?sep=([^"\r\n])"?\r?\n?', re.IGNORECASE)
_JSON = re.compile(r'\s*(\{\s*("|$)|\[\s*(\{|$))')
"""The start of a JSON object, or of an array of objects, in the first line."""


@frozen
class CsvRecipients:
    """The recipients of a CSV file, with the cells as texts by the names in the header."""

    name: str
    header: Sequence[str]
    delimiter: str
    _lines: Lines
    _rows: Iterator[list[str]]
    keys: Sequence[str]
    """The key of each column, or its name in the header."""
    header_line: int
    spreadsheet_safe: bool
    """Whether rejects have no cells that a spreadsheet would read as formulas."""

    @classmethod
    def open(cls, text: TextIO, name: str, options: FileOptions) -> CsvRecipients:
        """Read the header, after a line such as `sep=;`, with which exports for Excel begin.

        Without a delimiter, that of this line applies, or else the one that the header contains
        most often.

        Raises: UnreadableFile if the header is missing.
        """
        lines = Lines(text, name)
        iterator = iter(lines)
        first = next(iterator, "")
        stated = _SEPARATOR.fullmatch(first)
        if stated is not None:
            lines.row_length = 0
            first = next(iterator, "")
        delimiter = options.delimiter or (stated and stated[1])
        delimiter = delimiter or max(_DELIMITERS, key=first.count)
        rows = csv.reader(chain([first], iterator), delimiter=delimiter, strict=True)
        with _csv_errors(lines):
            header = next(rows, [])
        if not any(header):
            raise UnreadableFile(
                f"{name}: The first line must be a header with the keys of fields."
            )
        if _JSON.match(header[0]) is not None:
            raise UnreadableFile(
                f"{name} is JSON, not CSV. Write one object per line, in a file whose name ends"
                " with .jsonl."
            )
        header_line = 1 if stated is None else 2
        return cls(
            name, header, delimiter, lines, rows, header, header_line, options.spreadsheet_safe
        )

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows that are not blank. Raises: UnreadableFile if a quote is not closed."""
        lines, width = self._lines, len(self.header)
        lines.row_length = 0
        with _csv_errors(lines):
            for cells in self._rows:
                if len(cells) == width:
                    yield Row(lines.row_start, cells)
                elif cells:
                    found = counted(len(cells), "cell")
                    message = f"The row has {found}, and the header has {width:,}."
                    yield Row(lines.row_start, cells, Violation(Rule.FORMAT, message))
                lines.row_length = 0

    @property
    def header_place(self) -> str:
        """The place of the header in messages."""
        return f"{self.name}:{self.header_line}"

    def values(self, row: Row) -> Mapping[str, object]:
        """Return the cells by the keys of their columns."""
        return dict(zip(self.keys, row.source, strict=True))

    def with_keys(self, keys: Mapping[str, str]) -> CsvRecipients:
        """Return a reader with these keys. A column without a key keeps its name."""
        return evolve(self, keys=[keys.get(title, title) for title in self.header])

    @contextmanager
    def open_writer(self, file: BinaryIO, *, rejects: bool) -> Iterator[RecipientWriter]:
        """Return a writer in UTF-8. Rejects have columns for the line and the reasons."""
        writer = TextWriter(file, self._render_reject if rejects else self._render_row)
        added = (LINE, REASONS) if rejects else ()
        writer.write_text(self._render([*self.header, *added]))
        yield writer

    def _render_row(self, row: Row, _reasons: Sequence[str]) -> str:
        return self._render(row.source)

    def _render_reject(self, row: Row, reasons: Sequence[str]) -> str:
        missing = [""] * (len(self.header) - len(row.source))
        cells = [*row.source, *missing, str(row.line), " ".join(reasons)]
        return self._render([_as_text(each) for each in cells] if self.spreadsheet_safe else cells)

    def _render(self, cells: Sequence[str]) -> str:
        line = io.StringIO()
        csv.writer(line, delimiter=self.delimiter, lineterminator="\n").writerow(cells)
        return line.getvalue()


def _as_text(cell: str) -> str:
    """Return the cell, with an apostrophe before what a spreadsheet would read as a formula."""
    is_formula = cell.startswith(_FORMULA_STARTS) and _NUMBER.fullmatch(cell) is None
    return f"'{cell}" if is_formula else cell


@contextmanager
def _csv_errors(lines: Lines) -> Iterator[None]:
    """Raise UnreadableFile if the lines are not CSV."""
    try:
        yield
    except csv.Error as error:
        place = f"{lines.name}:{lines.row_start}"
        if "unexpected end" in str(error) or "field limit" in str(error):
            message = (
                f"{place}: In the row that begins here, a quote is not closed or a value is longer"
                f" than {csv.field_size_limit():,} characters."
            )
        else:
            message = f"{place}: The row is not CSV: {error}."
        raise UnreadableFile(message) from None
