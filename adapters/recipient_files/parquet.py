"""Parquet files with one recipient per row. They require the extra `parquet`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import BinaryIO, TypeAlias, cast

from attrs import define, evolve, field, frozen, mutable

from recipient_fields.application.extras import requires_extra
from recipient_fields.application.ports.recipients import RecipientWriter, Row, UnreadableFile
from recipient_fields.application.wording import counted
from recipient_fields.domain.instants import format_instant, from_epoch_milliseconds

from .rows import LINE, MAX_ROW_LENGTH, REASONS

with requires_extra("parquet", "pyarrow"):
    import pyarrow as pa
    import pyarrow.parquet as pq

_Conversion: TypeAlias = Callable[[pa.Array], Sequence[object]]
"""Returns the values of a column as in a JSON document."""

MAX_ROWS = 10_000_000
"""A file of 50 KB can have more: equal values need no space. A check of these takes 20 s."""

_MAX_AVERAGE = 64 * 1024
"""Bytes per row of one column, on average. A vector of 1,536 numbers has 12 KiB."""
_VALUE_SIZE = 8
"""Bytes of a number in memory. In a file, equal numbers need almost none."""
_READ_ROWS = 128
"""Rows in memory: a value that is stored once in the file can be in each of them."""
_READ_SIZE = 64 * 1024
"""Bytes of each column. Without a limit, the columns of a whole row group are in memory."""
_WRITTEN_ROWS = 16_384
"""Rows of a row group in an output, or fewer if they have `_WRITTEN_SIZE` bytes."""
_WRITTEN_SIZE = 16 * 2**20
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH = date(1970, 1, 1).toordinal()
_OUT_OF_RANGE = "out of range"
"""A text that no field of dates accepts, for a date that Python can't represent."""


@define
class _ParquetRow(Row):
    """A row with the place that it is copied from."""

    batch: pa.RecordBatch = field(kw_only=True)
    index: int = field(kw_only=True)


@frozen
class ParquetRecipients:
    """The recipients of a Parquet file, with typed values by the names of the columns."""

    name: str
    header: Sequence[str]
    row_count: int
    _file: pq.ParquetFile
    _schema: pa.Schema
    _keys: Mapping[str, str]
    """The key of each column that is read, by its name."""

    @classmethod
    def open(cls, binary: BinaryIO, name: str) -> ParquetRecipients:
        """Read the schema of the file.

        Raises: UnreadableFile if the file is not a Parquet file or if it exceeds a limit.
        """
        if not binary.seekable():
            raise UnreadableFile(f"{name}: A Parquet file can't be read from a pipe.")
        with _reported(name):
            file = pq.ParquetFile(binary, buffer_size=_READ_SIZE)
        schema = file.schema_arrow  # Each access to the property creates a schema.
        header = schema.names
        _check_limits(name, file.metadata)
        keys = {each: each for each in header}
        return cls(name, header, file.metadata.num_rows, file, schema, keys)

    @property
    def header_place(self) -> str:
        """The place of the header in messages."""
        return self.name

    def with_keys(self, keys: Mapping[str, str]) -> ParquetRecipients:
        """Return a reader of the columns with these names, whose rows have the keys."""
        return evolve(self, keys=keys)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, numbered from 1.

        Raises: UnreadableFile if a column has values that a recipient can't have, if a row is too
        long, or if the file is damaged.
        """
        columns = [index for index, title in enumerate(self.header) if title in self._keys]
        keys = [self._keys[self.header[index]] for index in columns]
        conversions = [self._conversion(index) for index in columns]
        number = 0
        row: Sequence[object]
        for batch in self._batches():
            _check_rows(self.name, batch, number)
            with _reported(self.name):
                values = [
                    convert(batch.column(index))
                    for index, convert in zip(columns, conversions, strict=True)
                ]
            rows = zip(*values, strict=True) if values else [()] * batch.num_rows
            for index, row in enumerate(rows):
                number += 1
                recipient = dict(zip(keys, row, strict=True))
                yield _ParquetRow(number, (), document=recipient, batch=batch, index=index)

    def values(self, row: Row) -> Mapping[str, object]:
        """Return the values by the keys of their columns."""
        return row.document

    @contextmanager
    def open_writer(self, file: BinaryIO, *, rejects: bool) -> Iterator[RecipientWriter]:
        """Return a writer of the columns of this file. Rejects have two more columns."""
        schema = self._schema
        if rejects:
            schema = schema.append(pa.field(LINE, pa.int64()))
            schema = schema.append(pa.field(REASONS, pa.list_(pa.string())))
        with pq.ParquetWriter(file, schema) as writer:
            rows = _ParquetWriter(writer, schema, rejects)
            yield rows
            rows.finish()

    def _conversion(self, column: int) -> _Conversion:
        data_type = self._schema.field(column).type
        conversion = _find_conversion(data_type)
        if conversion is None:
            zone = " without a time zone" if pa.types.is_timestamp(data_type) else ""
            raise UnreadableFile(
                f"{self.name}: The column {self.header[column]} has values of type"
                f" {data_type}{zone}, which a recipient can't have. Convert or remove the column."
            )
        return conversion

    def _batches(self) -> Iterator[pa.RecordBatch]:
        batches = self._file.iter_batches(_READ_ROWS, use_threads=False)
        while True:
            with _reported(self.name):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


@mutable
class _ParquetWriter:
    """Copies rows from the batches that they were read in."""

    _writer: pq.ParquetWriter
    _schema: pa.Schema
    _rejects: bool
    _batch: pa.RecordBatch | None = None
    _indices: list[int] = field(factory=list)
    _lines: list[int] = field(factory=list)
    _reasons: list[Sequence[str]] = field(factory=list)
    _copied: list[pa.RecordBatch] = field(factory=list)
    _copied_rows: int = 0
    _copied_size: int = 0

    def write(self, row: Row, reasons: Sequence[str] = ()) -> None:
        copied = cast("_ParquetRow", row)
        if copied.batch is not self._batch:
            self._copy_rows()
            self._batch = copied.batch
        self._indices.append(copied.index)
        self._lines.append(row.line)
        self._reasons.append(reasons)

    def finish(self) -> None:
        self._copy_rows()
        self._write_copied()

    def _copy_rows(self) -> None:
        if self._batch is None:
            return
        columns = self._batch.take(pa.array(self._indices, pa.int64())).columns
        if self._rejects:
            columns.append(pa.array(self._lines, pa.int64()))
            columns.append(pa.array(self._reasons, self._schema.field(-1).type))
        batch = pa.record_batch(columns, schema=self._schema)
        self._copied.append(batch)
        self._copied_rows += batch.num_rows
        self._copied_size += batch.nbytes
        self._indices.clear()
        self._lines.clear()
        self._reasons.clear()
        if self._copied_rows >= _WRITTEN_ROWS or self._copied_size >= _WRITTEN_SIZE:
            self._write_copied()

    def _write_copied(self) -> None:
        if self._copied:
            self._writer.write_table(pa.Table.from_batches(self._copied))
            self._copied.clear()
            self._copied_rows = self._copied_size = 0


@contextmanager
def _reported(name: str) -> Iterator[None]:
    """Raise UnreadableFile if pyarrow can't read the file with this name."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UnreadableFile(f"{name}: Can't read it as Parquet: {reason}.") from error


def _check_limits(name: str, metadata: pq.FileMetaData) -> None:
    """Check the sizes that the file states, before its values are read.

    Raises: UnreadableFile if there are too many rows, or if the values of a column are too large.
    """
    if metadata.num_rows > MAX_ROWS:
        raise UnreadableFile(
            f"{name}: The file has {metadata.num_rows:,} rows, and at most {MAX_ROWS:,} are"
            " accepted. Split the file."
        )
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        limit = MAX_ROW_LENGTH + group.num_rows * _MAX_AVERAGE
        for column in map(group.column, range(group.num_columns)):
            size = max(column.total_uncompressed_size, column.num_values * _VALUE_SIZE)
            if size > limit:
                raise UnreadableFile(
                    f"{name}: The column {column.path_in_schema} has {size:,} bytes in"
                    f" {counted(group.num_rows, 'row')}, and at most {limit:,} are accepted."
                    " Remove the column."
                )


def _check_rows(name: str, batch: pa.RecordBatch, before: int) -> None:
    """Check the length of each row of a batch. `before` is the number of rows before it.

    Raises: UnreadableFile if a row is too long.
    """
    if batch.nbytes <= MAX_ROW_LENGTH and not any(map(_is_dictionary, batch.columns)):
        return
    columns = [each.dictionary_decode() if _is_dictionary(each) else each for each in batch.columns]
    if sum(each.nbytes for each in columns) <= MAX_ROW_LENGTH:
        return
    for index in range(batch.num_rows):
        if sum(each.slice(index, 1).nbytes for each in columns) > MAX_ROW_LENGTH:
            raise UnreadableFile(
                f"{name}:{before + index + 1}: The row is longer than {MAX_ROW_LENGTH:,} bytes."
                " Shorten its values, or remove a column."
            )


def _is_dictionary(column: pa.Array) -> bool:
    return isinstance(column, pa.DictionaryArray)


def _find_conversion(data_type: pa.DataType) -> _Conversion | None:
    """Return the conversion of a column, or None if a recipient can't have such values."""
    types = pa.types
    if types.is_dictionary(data_type):
        convert = _find_conversion(data_type.value_type)
        return None if convert is None else lambda column: convert(column.dictionary_decode())
    if types.is_floating(data_type) or types.is_decimal(data_type):
        return _numbers
    if types.is_date32(data_type):
        return _dates
    if types.is_timestamp(data_type):
        return None if data_type.tz is None else _datetimes
    is_of_json = (
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_boolean,
        types.is_integer,
        types.is_null,
    )
    return pa.Array.to_pylist if any(each(data_type) for each in is_of_json) else None


def _numbers(column: pa.Array) -> Sequence[object]:
    values: Sequence[object] = column.cast(pa.float64()).to_pylist()
    return values


def _dates(column: pa.Array) -> Sequence[object]:
    days = column.cast(pa.int32()).to_pylist()
    return [None if each is None else _format_date(each) for each in days]


def _format_date(days: int) -> str:
    try:
        return date.fromordinal(_EPOCH + days).isoformat()
    except (OverflowError, ValueError):
        return _OUT_OF_RANGE


def _datetimes(column: pa.Array) -> Sequence[object]:
    unit = _UNITS[column.type.unit]
    values = column.cast(pa.int64()).to_pylist()
    return [None if each is None else _format_datetime(each * 1_000 // unit) for each in values]


def _format_datetime(milliseconds: int) -> str:
    try:
        return format_instant(from_epoch_milliseconds(milliseconds))
    except (OverflowError, ValueError):
        return _OUT_OF_RANGE
