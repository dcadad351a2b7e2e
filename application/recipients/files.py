"""Files with one recipient per row: their formats and their rows. The port is `RecipientReader`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType

from attrs import define, frozen

from recipient_fields.domain import RecipientFieldsError, Violation

_NO_MEMBERS: Mapping[str, object] = MappingProxyType({})


class UnreadableFile(RecipientFieldsError):
    """The file can't be read as rows of recipients."""


class FileFormat(Enum):
    """The format of a file with one recipient per row."""

    CSV = "csv"
    JSON_LINES = "json_lines"
    PARQUET = "parquet"

    @classmethod
    def of(cls, name: str) -> FileFormat:
        """Return the format of a file with this name. Files with other names are CSV files."""
        return _FORMATS.get(PurePath(name).suffix, cls.CSV)


_FORMATS = {
    ".jsonl": FileFormat.JSON_LINES,
    ".ndjson": FileFormat.JSON_LINES,
    ".parquet": FileFormat.PARQUET,
}


@frozen(kw_only=True)
class FileOptions:
    """How the text of a file is read and written. Parquet files have no options.

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
