"""Files with one recipient per row: CSV, and JSON Lines.

The readers stream: they hold one row at a time, of at most 1 MiB of characters.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import PurePath
from types import MappingProxyType
from typing import BinaryIO, Protocol, TextIO, cast, runtime_checkable

from attrs import define, evolve, field, frozen, mutable

from recipient_fields.application.documents.strict_json import (
    NotJson,
    TooManyValues,
    parse_json,
)
from recipient_fields.application.wording import counted
from recipient_fields.domain import RecipientFieldsError, Rule, Violation

MAX_ROW_LENGTH = 1024 * 1024
"""Characters of a row, as in the body of a request."""
LINE, REASONS = "_line", "_violations"
"""The columns, or members, with the line and the violations of a rejected row. No key of a field
begins with an underscore."""

TEXT = "_text"
"""The member with a rejected line that is not a JSON object."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")
_MAX_ROW_VALUES = 10_000
"""Member names and values of a line of JSON, as in the body of a request."""
_NO_MEMBERS: Mapping[str, object] = MappingProxyType({})
_DELIMITERS = ",;\t|"
_BYTE_ORDER_MARK = "\ufeff"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_OTHER_FORMATS = {
    b"\x1f\x8b": "is compressed with gzip. Decompress it first.",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet. Export it as CSV first.",
    b"PAR1": "is a Parquet file. Export it as CSV, or use the command recipient-fields with a name"
    " that ends with .parquet.",
}


class UnreadableFile(RecipientFieldsError):
    """The file can't be read as rows of recipients."""


@define  # `frozen` would take twice the CPU, and a file has a million rows.
class Row:
    """One row of a file: its first line, from 1, and its cells or its text.

    If the row has no values to check, `violation` is the reason.
    """

    line: int
    source: Sequence[str]
    violation: Violation | None = None
    document: Mapping[str, object] = _NO_MEMBERS
    """The values by key. Empty for CSV: `RecipientReader.values` returns them."""


class RecipientWriter(Protocol):
    """Writes rows of the file that a reader reads, in its format."""

    def write(self, row: Row, reasons: Sequence[str] = ()) -> None:
        """Write a row, with its reasons if this is a file of rejects."""


class RecipientReader(Protocol):
    """Reads the recipients of a file."""

    @property
    def row_count(self) -> int | None:
        """The number of rows, or None if it is unknown."""

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows. Raises: UnreadableFile if the rest of the file can't be read."""

    def values(self, row: Row) -> Mapping[str, object]:
        """Return the values of a row that has values."""

    def open_writer(
        self, file: BinaryIO, *, rejects: bool
    ) -> AbstractContextManager[RecipientWriter]:
        """Return a writer of valid rows, or of rejects. The file is complete at its exit."""


@runtime_checkable
class ColumnReader(RecipientReader, Protocol):
    """Reads the recipients of a file with named columns. The values of a CSV file are texts."""

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def header_place(self) -> str:
        """The place of the header in messages."""

    def with_keys(self, keys: Mapping[str, str]) -> ColumnReader:
        """Return a reader whose rows have these keys, by the names of the columns."""


@contextmanager
def open_recipients(
    binary: BinaryIO, name: str, encoding: str | None, delimiter: str | None
) -> Iterator[RecipientReader]:
    """Open a file in the format that its name ends with, and close it when the block ends.

    Raises: UnreadableFile if the beginning of the file can't be read.
    """
    with open_text(binary, name, encoding) as text:
        if is_json_lines(name):
            yield JsonLinesRecipients.open(text, name)
        else:
            yield CsvRecipients.open(text, name, delimiter)


def is_json_lines(name: str) -> bool:
    """Return whether a file with this name has one JSON object per line."""
    return PurePath(name).suffix in _JSON_LINES_SUFFIXES


def open_text(binary: BinaryIO, name: str, encoding: str | None) -> TextIO:
    """Return the text of a file. Without an encoding, its byte order mark or UTF-8 applies.

    Raises: UnreadableFile if the file has another format, such as gzip.
    """
    buffered = io.BufferedReader(cast("io.RawIOBase", binary))
    start = buffered.peek(4)
    for mark, message in _OTHER_FORMATS.items():
        if start.startswith(mark):
            raise UnreadableFile(f"{name} {message}")
    detected = "utf-16" if start.startswith(_UTF_16_MARKS) else "utf-8"
    return io.TextIOWrapper(buffered, encoding or detected, newline="")


@mutable
class _Lines:
    """The lines of a file, and the length of the current row."""

    file: TextIO
    name: str
    number: int = 0
    row_start: int = 1
    row_length: int = 0
    """Set it to 0 at the end of a row."""

    def __iter__(self) -> Iterator[str]:
        try:
            while line := self.file.readline(MAX_ROW_LENGTH + 1):
                if self.number == 0:
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                self.number += 1
                if not self.row_length:
                    self.row_start = self.number
                self.row_length += len(line)
                if self.row_length > MAX_ROW_LENGTH:
                    raise UnreadableFile(
                        f"{self.name}:{self.row_start}: The row is longer than {MAX_ROW_LENGTH:,}"
                        " characters. Check that each quote is closed."
                    )
                if "\0" in line:
                    raise UnreadableFile(
                        f"{self.name}:{self.number}: The line has a null character."
                        " Set the encoding, for example utf-16-le."
                    )
                yield line
        except UnicodeError:
            place = f" after line {self.number:,}" if self.number else ""
            raise UnreadableFile(
                f"{self.name}: The text{place} is not {self.file.encoding}. Set the encoding, for"
                " example cp1252 for a list from Windows."
            ) from None
        except OSError as error:
            raise UnreadableFile(f"{self.name}: Can't read it: {error.strerror}.") from error


@frozen
class CsvRecipients:
    """The recipients of a CSV file, with the cells as texts by the names in the header."""

    name: str
    header: Sequence[str]
    delimiter: str
    _lines: _Lines
    _rows: Iterator[list[str]]
    keys: Sequence[str] = field(default=())
    """The key of each column, or its name in the header."""
    spreadsheet_safe: bool = False
    """Whether rejects have no cells that a spreadsheet would read as formulas."""
    row_count: int | None = None

    @classmethod
    def open(cls, text: TextIO, name: str, delimiter: str | None) -> CsvRecipients:
        """Read the header. Without a delimiter, the one that is in the header most often applies.

        Raises: UnreadableFile if the header is missing or repeats a name.
        """
        lines = _Lines(text, name)
        iterator = iter(lines)
        first = next(iterator, "")
        delimiter = delimiter or max(_DELIMITERS, key=first.count)
        rows = csv.reader(chain([first], iterator), delimiter=delimiter, strict=True)
        with _csv_errors(lines):
            header = next(rows, [])
        _check_header(header, name)
        return cls(name, header, delimiter, lines, rows, header)

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
        return f"{self.name}:1"

    def values(self, row: Row) -> Mapping[str, object]:
        """Return the cells by the keys of their columns."""
        return dict(zip(self.keys, row.source, strict=True))

    def with_keys(self, keys: Mapping[str, str]) -> CsvRecipients:
        """Return a reader with these keys. A column without a key keeps its name."""
        return evolve(self, keys=[keys.get(title, title) for title in self.header])

    @contextmanager
    def open_writer(self, file: BinaryIO, *, rejects: bool) -> Iterator[RecipientWriter]:
        """Return a writer in UTF-8. Rejects have columns for the line and the reasons."""
        writer = _TextWriter(file, self._render_reject if rejects else self._render_row)
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


@frozen
class JsonLinesRecipients:
    """The recipients of a file with one JSON object per line."""

    _lines: _Lines
    row_count: int | None = None

    @classmethod
    def open(cls, text: TextIO, name: str) -> JsonLinesRecipients:
        """Return the recipients. No line is read yet."""
        return cls(_Lines(text, name))

    def __iter__(self) -> Iterator[Row]:
        """Yield the lines that are not blank. Raises: UnreadableFile if a line is too long."""
        for line in self._lines:
            if not line.isspace():
                yield self._row(line.rstrip("\r\n"))
            self._lines.row_length = 0

    def _row(self, line: str) -> Row:
        number = self._lines.number
        try:
            values = parse_json(line.encode(), max_values=_MAX_ROW_VALUES)
        except TooManyValues:
            violation = Violation(Rule.FORMAT, "The line has too many members and values.")
            return Row(number, (line,), violation)
        except NotJson as error:
            place = error.column
            message = str(error) if place is None else f"The line is not JSON: column {place}."
            return Row(number, (line,), Violation(Rule.FORMAT, message))
        if not isinstance(values, dict):
            violation = Violation(Rule.TYPE, "The line must be a JSON object.")
            return Row(number, (line,), violation)
        return Row(number, (line,), document=values)

    def values(self, row: Row) -> Mapping[str, object]:
        """Return the members of the object."""
        return row.document

    @contextmanager
    def open_writer(self, file: BinaryIO, *, rejects: bool) -> Iterator[RecipientWriter]:
        """Return a writer in UTF-8. A reject has members for the line and the reasons."""
        yield _TextWriter(file, _render_json_reject if rejects else _render_json_line)


@frozen
class _TextWriter:
    """Writes each row as a text."""

    _file: BinaryIO
    _render: Callable[[Row, Sequence[str]], str]

    def write(self, row: Row, reasons: Sequence[str] = ()) -> None:
        self.write_text(self._render(row, reasons))

    def write_text(self, text: str) -> None:
        self._file.write(text.encode("utf-8", "replace"))


def _render_json_line(row: Row, _reasons: Sequence[str]) -> str:
    return f"{row.source[0]}\n"


def _render_json_reject(row: Row, reasons: Sequence[str]) -> str:
    """Return the recipient with its line and the reasons. A line that is no recipient is a text."""
    recipient = {TEXT: row.source[0]} if row.violation else row.document
    document = {**recipient, LINE: row.line, REASONS: reasons}
    return json.dumps(document, ensure_ascii=False) + "\n"


def _as_text(cell: str) -> str:
    """Return the cell, with an apostrophe before what a spreadsheet would read as a formula."""
    is_formula = cell.startswith(_FORMULA_STARTS) and _NUMBER.fullmatch(cell) is None
    return f"'{cell}" if is_formula else cell


@contextmanager
def _csv_errors(lines: _Lines) -> Iterator[None]:
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


def _check_header(header: Sequence[str], name: str) -> None:
    if not any(header):
        raise UnreadableFile(f"{name}: The first line must be a header with the keys of fields.")
    check_titles(f"{name}:1", header)


def check_titles(place: str, titles: Sequence[str]) -> None:
    """Check that the columns have different names. Raises: UnreadableFile if not."""
    for column, title in enumerate(titles, start=1):
        if not title:
            raise UnreadableFile(f"{place}: Column {column} has no name in the header.")
    require_different(place, titles, "have the same name")


def require_different(place: str, texts: Sequence[str], message: str) -> None:
    """Check the names or the keys of the columns. Raises: UnreadableFile if two are equal."""
    columns: dict[str, int] = {}
    for column, text in enumerate(texts, start=1):
        first = columns.setdefault(text, column)
        if first != column:
            raise UnreadableFile(f"{place}: Columns {first} and {column} {message}, {text}.")
