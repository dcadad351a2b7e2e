"""The readers of the files that the commands accept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import BinaryIO

from ...recipient_files import RecipientReader, open_recipients


@contextmanager
def open_reader(
    file: BinaryIO, encoding: str | None, delimiter: str | None
) -> Iterator[RecipientReader]:
    """Open a file in the format that its name ends with. The last arguments are for texts.

    Raises: UnreadableFile if the beginning of the file can't be read; MissingExtra if the file is a
    Parquet file and pyarrow is not installed.
    """
    if is_parquet(file.name):
        # Imported here because only Parquet files need pyarrow.
        from ...parquet_recipients import ParquetRecipients

        yield ParquetRecipients.open(file, file.name)
    else:
        with open_recipients(file, file.name, encoding, delimiter) as reader:
            yield reader


def is_parquet(name: str) -> bool:
    """Return whether a file with this name is a Parquet file."""
    return PurePath(name).suffix == ".parquet"
