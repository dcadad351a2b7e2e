"""The ports of files with one recipient per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol, runtime_checkable

from ..recipients.files import Row


class RecipientWriter(Protocol):
    """Writes rows of the file that a reader reads, in its format."""

    def write(self, row: Row, reasons: Sequence[str] = ()) -> None:
        """Write a row, with its reasons if this is a file of rejects."""


class RecipientReader(Protocol):
    """Reads the recipients of a file once. It holds a few rows at a time."""

    @property
    def name(self) -> str:
        """The name of the file in messages."""

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
        """Return a writer of valid rows, or of rejects. The file is complete at its exit.

        A reject also has its line in `_line`, and its reasons in `_violations`.
        """


@runtime_checkable
class ColumnReader(RecipientReader, Protocol):
    """Reads the recipients of a file with named columns."""

    @property
    def header(self) -> Sequence[str]:
        """The names of the columns. They can be empty or repeated."""

    @property
    def header_place(self) -> str:
        """The place of the header in messages."""

    def with_keys(self, keys: Mapping[str, str]) -> ColumnReader:
        """Return a reader whose values have these keys, by the names of the columns."""


@runtime_checkable
class TextReader(ColumnReader, Protocol):
    """Reads the recipients of a file whose values are texts: the `source` of each row."""

    @property
    def keys(self) -> Sequence[str]:
        """The key of each column, or its name if it has no key."""

    @property
    def delimiter(self) -> str:
        """The character between the texts."""
