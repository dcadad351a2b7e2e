"""The ports of files with one recipient per row, and their formats and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType
from typing import BinaryIO, Protocol, runtime_checkable

from attrs import define, frozen

from recipient_fields.domain import RecipientFieldsError, Violation

_NO_MEMBERS: Mapping[str, object] = MappingProxyType({})


class UnreadableFile(RecipientFieldsError):
    """The file can't be read as rows of recipients."""


class FileFormat(Enum):
    """The format of a file with one recipient per row."""

    CSV = "csv"
    JSON_LINES = "json_lines"

    @classmethod
    def of(cls, name: str) -> FileFormat:
        """Return the format of a file with this name. Files with other names are CSV files."""
        return _FORMATS.get(PurePath(name).suffix, cls.CSV)


_FORMATS = {
    ".jsonl": FileFormat.JSON_LINES,
    ".ndjson": FileFormat.JSON_LINES,
}


@frozen(kw_only=True)
class FileOptions:
    """How the text of a file is read and written.

    An encoding or a delimiter that is None is detected.
    """

    encoding: str | None = None
    delimiter: str | None = None
    """The character between the cells of a CSV file."""
    spreadsheet_safe: bool = False
    """Whether the rejects of a CSV file have no cells that a spreadsheet reads as formulas."""


@define  # `frozen` would take twice the CPU, and a file has a million rows.
class Row:
    """One row of a file: its first line, from 1, and its cells or its text.

    If the row has no values to check, `violation` is the reason.
    """

    line: int
    source: Sequence[str]
    violation: Violation | None = None
    document: Mapping[str, object] = _NO_MEMBERS
    """The values by key. Empty for texts in columns: `RecipientReader.values` returns them."""


class RecipientWriter(Protocol):
    """Writes rows of the file that a reader reads, in its format."""

    def write(self, row: Row, reasons: Sequence[str] = ()) -> None:
        """Write a row, with its reasons if this is a file of rejects."""


class RecipientReader(Protocol):
    """Reads the recipients of a file once. It holds a few rows at a time."""

    @property
    def name(self) -> str:
        """The name of the file in messages."""

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows. Raises: UnreadableFile if the rest of the file can't be read."""

    def values(self, row: Row) -> Mapping[str, object]:
        """Return the values of a row that has values."""

    def open_writer(
        self, file: BinaryIO, *, rejects: bool
    ) -> AbstractContextManager[RecipientWriter]:
        """Return a writer of valid rows, or of rejects. The file is complete at its exit.

        A reject also has its line in `_line`, and its reasons in `_violations`.
        """


@runtime_checkable
class TextReader(RecipientReader, Protocol):
    """Reads the recipients of a file with named columns of texts: the `source` of each row."""

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns. They can be empty or repeated."""

    @property
    def header_place(self) -> str:
        """The place of the header in messages."""

    def with_keys(self, keys: Mapping[str, str]) -> TextReader:
        """Return a reader whose values have these keys, by the names of the columns."""

    @property
    def keys(self) -> Sequence[str]:
        """The key of each column, or its name if it has no key."""

    @property
    def delimiter(self) -> str:
        """The character between the texts."""
