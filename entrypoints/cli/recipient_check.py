"""`recipient-fields recipients check`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, TextIO, TypeAlias, cast

import click
from attrs import evolve, field, frozen, mutable

from recipient_fields.domain import (
    Catalog,
    DecimalMark,
    RecipientRows,
    RecipientSchema,
    RecipientTexts,
    Rule,
    Violation,
    closest_match,
    match_columns,
)

from .options import Identifier, option
from .output import note, one_line, print_line, print_table
from .recipient_files import (
    CsvRecipients,
    RecipientReader,
    Row,
    UnreadableFile,
    open_recipients,
    require_different,
)
from .recipient_options import file_options
from .target_options import open_fields, target_options

RowCheck: TypeAlias = Callable[[Row, bool], Sequence[Violation]]
"""Returns the violations of a row with values, with suggestions if its last argument is true."""

INVALID_RECIPIENTS = 3
"""The exit status if some recipients are invalid."""

_MAX_SHOWN = 100
_PROGRESS_ROWS = 1_000
"""Rows between two updates of the progress bar."""


@mutable
class _Report:
    """The counts of a check. It prints the first violations when they are added."""

    name: str
    valid: int = 0
    invalid: int = 0
    shown: int = 0
    counts: Counter[tuple[str, str]] = field(factory=Counter)

    @property
    def suggests(self) -> bool:
        """Whether suggestions are shown for the next row."""
        return self.shown < _MAX_SHOWN

    def add(self, row: Row, violations: Iterable[Violation]) -> None:
        """Count an invalid row, and print its violations."""
        self.invalid += 1
        for violation in violations:
            column = str(violation.path[0]) if violation.path else ""
            self.counts[column, violation.rule.value] += 1
            if self.suggests:
                self.shown += 1
                print_line(one_line(f"{self.name}:{row.line}: {_sentence(violation)}"))

    def print_summary(self) -> None:
        """Print the number of violations by field and rule, and the number of rows."""
        total = self.counts.total()
        if total > self.shown:
            print_line(f"… and {total - self.shown:,} more violations.")
        if self.counts:
            rows = [(key or None, rule, f"{n:,}") for (key, rule), n in sorted(self.counts.items())]
            print_line("")
            print_table(("FIELD", "RULE", "VIOLATIONS"), rows)
        checked = self.valid + self.invalid
        note(f"Checked {checked:,} recipients: {self.valid:,} valid, {self.invalid:,} invalid.")


@frozen
class _Outputs:
    """The files for the valid and the invalid rows, if they are requested."""

    reader: RecipientReader
    valid: TextIO | None
    rejects: TextIO | None

    def write_headers(self) -> None:
        """Write the beginning of both files."""
        for file, rejects in ((self.valid, False), (self.rejects, True)):
            if file is not None:
                file.write(self.reader.render_header(rejects=rejects))

    def write_valid(self, row: Row) -> None:
        """Write a valid row."""
        if self.valid is not None:
            self.valid.write(self.reader.render_row(row))

    def write_reject(self, row: Row, violations: Iterable[Violation]) -> None:
        """Write an invalid row with the reasons."""
        if self.rejects is not None:
            reasons = [_sentence(each) for each in violations]
            self.rejects.write(self.reader.render_reject(row, reasons))


@click.command()
@click.argument("file", type=click.File("rb"))
@target_options
@option(
    "--integration",
    type=Identifier(),
    help="The header of the CSV file contains the ESP's names of this integration's fields.",
)
@file_options
@option("--additional", is_flag=True, help="Accept values that are not of recipient fields.")
@option("--out", type=click.Path(dir_okay=False), help="Write the valid rows to this file.")
@option(
    "--rejects",
    type=click.Path(dir_okay=False),
    help="Write the invalid rows to this file, with the reasons.",
)
@click.pass_context
def check(
    ctx: click.Context,
    file: BinaryIO,
    organization: str | None,
    url: str | None,
    integration: int | None,
    delimiter: str | None,
    encoding: str | None,
    decimal: str,
    out: str | None,
    rejects: str | None,
    *,
    additional: bool,
) -> None:
    """Check the recipients in FILE against the fields.

    FILE is a CSV file whose header contains the keys or the names of fields, or a file of JSON
    Lines (.jsonl or .ndjson) with their keys. An empty cell is a value that is not set. The
    command stores nothing. The exit status is 0 if all recipients are valid, 3 if some are
    invalid, and 1 if the file can't be read.
    """
    _require_different_files(file.name, out, rejects)
    with open_fields(ctx, organization, url) as (fields, organization_id):
        catalog = fields.list_fields(organization_id)
    recipient_schema = RecipientSchema.of(catalog.fields, additional=additional)
    reader = ctx.with_resource(open_recipients(file, file.name, encoding, delimiter))
    if isinstance(reader, CsvRecipients):
        reader = _with_keys(reader, catalog, integration, additional=additional)
    elif integration is not None:
        raise click.UsageError("--integration requires a CSV file.")
    check_row = _row_check(reader, recipient_schema, cast("DecimalMark", decimal))
    report = _Report(file.name)
    with _complete_file(out) as valid_file, _complete_file(rejects) as rejects_file:
        outputs = _Outputs(reader, valid_file, rejects_file)
        outputs.write_headers()
        _check_rows(_with_progress(reader, file), check_row, report, outputs)
    report.print_summary()
    if decimal == "." and any(rule == Rule.TYPE.value for _, rule in report.counts):
        _hint_decimal_mark(reader)
    ctx.exit(INVALID_RECIPIENTS if report.invalid else 0)


def _check_rows(
    rows: Iterable[Row], check_row: RowCheck, report: _Report, outputs: _Outputs
) -> None:
    for row in rows:
        violations = (row.violation,) if row.violation else check_row(row, report.suggests)
        if violations:
            report.add(row, violations)
            outputs.write_reject(row, violations)
        else:
            report.valid += 1
            outputs.write_valid(row)


def _row_check(reader: RecipientReader, schema: RecipientSchema, mark: DecimalMark) -> RowCheck:
    """Return the check for the rows of this reader that have values."""
    if isinstance(reader, CsvRecipients):
        rows = RecipientRows(RecipientTexts(schema, mark), reader.keys)
        return lambda row, suggest: rows.violations(row.source, suggest=suggest)
    return lambda row, suggest: schema.check(row.values or {}, suggest=suggest).violations


def _with_keys(
    reader: CsvRecipients, catalog: Catalog, integration: int | None, *, additional: bool
) -> CsvRecipients:
    """Return the reader with the keys of its columns.

    Raises: UnreadableFile if several columns are one field, or if a column is not a field and no
    additional values are accepted.
    """
    if integration is None:
        keys: Mapping[str, str] = match_columns(reader.header, catalog.fields)
        known: Iterable[str] = [field.key for field in catalog.fields]
    else:
        known = keys = _keys_by_esp_name(catalog, integration)
    unknown = [title for title in reader.header if title not in keys]
    if unknown and not additional:
        raise UnreadableFile(f"{reader.name}:1: {_unknown_columns(unknown, known)}")
    reader = evolve(reader, keys=[keys.get(title, title) for title in reader.header])
    require_different(reader.name, reader.keys, "are the same field")
    return reader


def _keys_by_esp_name(catalog: Catalog, integration: int) -> Mapping[str, str]:
    return {
        field.origin.esp_field_name: field.key
        for field in catalog.fields
        if field.origin.integration_id == integration and field.origin.esp_field_name is not None
    }


def _unknown_columns(titles: list[str], known: Iterable[str]) -> str:
    similar = closest_match(titles[0], known)
    hint = "" if similar is None else f" Did you mean {similar}?"
    return (
        f"These columns are not recipient fields: {', '.join(titles)}.{hint} To accept them, add"
        " --additional."
    )


def _sentence(violation: Violation) -> str:
    key = f"{violation.path[0]}: " if violation.path else ""
    hint = "" if violation.suggestion is None else f" Did you mean {violation.suggestion}?"
    return f"{key}{violation.message}{hint}"


def _hint_decimal_mark(reader: RecipientReader) -> None:
    if isinstance(reader, CsvRecipients) and reader.delimiter != ",":
        note("If the numbers have decimal commas, add --decimal ','.")


def _require_different_files(*names: str | None) -> None:
    paths = [Path(name).resolve() for name in names if name is not None]
    if len(set(paths)) < len(paths):
        raise click.UsageError("FILE, --out and --rejects must be different files.")


def _with_progress(reader: RecipientReader, file: BinaryIO) -> Iterator[Row]:
    """Yield the rows, and show on a terminal how much of the file is read."""
    if not sys.stderr.isatty() or not file.seekable():
        yield from reader
        return
    size = Path(file.name).stat().st_size
    with click.progressbar(length=size, file=sys.stderr, label="Checking") as bar:
        for number, row in enumerate(reader):
            if number % _PROGRESS_ROWS == 0:
                bar.update(file.tell() - bar.pos)
            yield row


@contextmanager
def _complete_file(name: str | None) -> Iterator[TextIO | None]:
    """Open a new file that gets its name when the block ends without an error."""
    if name is None:
        yield None
        return
    path = Path(name)
    with ExitStack() as cleanup:
        try:
            file = cleanup.enter_context(
                NamedTemporaryFile(
                    "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
                )
            )
            cleanup.callback(_remove, Path(file.name))
            yield cast("TextIO", file)
            file.close()
            Path(file.name).replace(path)
        except OSError as error:
            raise click.ClickException(
                f"Can't write {one_line(name)}: {error.strerror}."
            ) from error


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
