"""Files of text: their encodings, their lines, and their writers.

The readers stream: they hold one row at a time, of at most 1 MiB of characters.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, TextIO, cast

from attrs import frozen, mutable

from recipient_fields.application.ports.recipients import Row, UnreadableFile

MAX_ROW_LENGTH = 1024 * 1024
"""Characters of a row, or bytes, as in the body of a request."""
LINE, REASONS = "_line", "_violations"
"""The columns, or members, with the line and the violations of a rejected row. No key of a field
begins with an underscore."""


_BYTE_ORDER_MARK = "\ufeff"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_OTHER_FORMATS = {
    b"\x1f\x8b": "is compressed with gzip. Decompress it first.",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet. Export it as CSV first.",
    b"PAR1": "is a Parquet file. Convert it to CSV, for example with DuckDB.",
}


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
class Lines:
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
class TextWriter:
    """Writes each row as a text. `render` returns the text of a row and its reasons."""

    _file: BinaryIO
    _render: Callable[[Row, Sequence[str]], str]

    def write(self, row: Row, reasons: Sequence[str] = ()) -> None:
        """Write the text of the row."""
        self.write_text(self._render(row, reasons))

    def write_text(self, text: str) -> None:
        """Write the text in UTF-8."""
        self._file.write(text.encode("utf-8", "replace"))
