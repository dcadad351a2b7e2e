"""`recipient-fields recipients check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

import click
from attrs import frozen

from recipient_fields.domain import DataType, TextFormats, Violation

from ...recipient_files import RecipientReader, RecipientWriter, Row, is_json_lines
from ...recipient_lists import (
    CheckReport,
    ListOptions,
    RecipientList,
    violation_text,
)
from ..command_group import Command
from ..options import Identifier, InputFile, option
from ..output import note, one_line, print_line, print_table
from ..output_files import complete_outputs
from ..target_options import open_fields, target_options
from .options import file_options
from .readers import is_parquet, open_reader

INVALID_RECIPIENTS = 3
"""The exit status if some recipients are invalid."""

_ADVICE = {
    DataType.NUMBER: "If the numbers have decimal commas, add --decimal ','.",
    DataType.DATE: (
        "If the dates have another format, add --date-format, for example --date-format DD.MM.YYYY."
    ),
    DataType.BOOLEAN: (
        "If other words mean true and false, add --true and --false, for example --true ja --false"
        " nein."
    ),
}
"""What to do if the texts of a data type can't be read."""
_OUTPUT = click.Path(dir_okay=False, writable=True)
_PROGRESS_ROWS = 1_000
"""Rows between two updates of the progress bar."""


@frozen
class _Outputs:
    """The files for the valid and the invalid rows, if they are requested."""

    valid: RecipientWriter | None
    rejects: RecipientWriter | None

    @classmethod
    @contextmanager
    def open(
        cls, reader: RecipientReader, valid: str | None, rejects: str | None
    ) -> Iterator[_Outputs]:
        """Open the files. They get their names when the block ends without an error."""
        with complete_outputs() as files, ExitStack() as writers:

            def open_writer(name: str | None, *, rejects: bool) -> RecipientWriter | None:
                if name is None:
                    return None
                writer = reader.open_writer(files.open(name), rejects=rejects)
                return writers.enter_context(writer)

            yield cls(open_writer(valid, rejects=False), open_writer(rejects, rejects=True))

    def write(self, row: Row, violations: Sequence[Violation]) -> None:
        """Write a row to the file that it belongs to. A reject has the reasons."""
        if violations and self.rejects is not None:
            self.rejects.write(row, [violation_text(each) for each in violations])
        elif not violations and self.valid is not None:
            self.valid.write(row)


@click.command(cls=Command)
@click.argument("file", type=InputFile())
@target_options
@option(
    "--integration",
    type=Identifier(),
    help="The columns have the ESP's names of this integration's fields.",
)
@file_options
@option("--additional", is_flag=True, help="Accept columns and members that are not fields.")
@option("--out", type=_OUTPUT, help="Write the valid rows to this file.")
@option(
    "--rejects",
    type=_OUTPUT,
    help="Write the invalid rows to this file, with the reasons.",
)
@option(
    "--spreadsheet-safe",
    is_flag=True,
    help="In the rejects of a CSV file, write ' before what a spreadsheet reads as a formula.",
)
@option("--exit-zero", is_flag=True, help="Exit with 0 if recipients are invalid, instead of 3.")
@click.pass_context
def check(
    ctx: click.Context,
    file: BinaryIO,
    organization: str | None,
    url: str | None,
    integration: int | None,
    delimiter: str | None,
    encoding: str | None,
    formats: TextFormats,
    out: str | None,
    rejects: str | None,
    *,
    additional: bool,
    spreadsheet_safe: bool,
    exit_zero: bool,
) -> None:
    """Check the recipients in FILE against the fields.

    FILE is a CSV file whose header contains the keys or the names of fields, a file of JSON Lines
    (.jsonl or .ndjson) with their keys, or a Parquet file (.parquet) whose columns have their keys
    or names. An empty cell is a value that is not set. The command stores nothing. The exit status
    is 0 if all recipients are valid, 3 if some are invalid, and 1 if the file can't be read.
    """
    _check_names(file.name, out, rejects)
    is_csv = not (is_json_lines(file.name) or is_parquet(file.name))
    if spreadsheet_safe and not (is_csv and rejects):
        raise click.UsageError("--spreadsheet-safe requires a CSV file and --rejects.")
    if integration is not None and is_json_lines(file.name):
        raise click.UsageError("--integration requires a file with columns.")
    options = ListOptions(
        delimiter=delimiter,
        encoding=encoding,
        formats=formats,
        integration=integration,
        additional=additional,
        additional_advice="add --additional",
        spreadsheet_safe=spreadsheet_safe,
    )
    with open_fields(ctx, organization, url) as (fields, organization_id):
        catalog = fields.list_fields(organization_id)
    reader = ctx.with_resource(open_reader(file, encoding, delimiter))
    recipients = RecipientList.of(reader, catalog, options)
    report = CheckReport()
    with _Outputs.open(recipients.reader, out, rejects) as outputs:
        for row, violations in recipients.check(_with_progress(recipients.reader, file), report):
            outputs.write(row, violations)
    _print_report(report, file.name)
    unread = recipients.unread_types(report)
    for data_type, advice in _ADVICE.items():
        if data_type in unread and (
            data_type is not DataType.NUMBER or formats.decimal_mark == "."
        ):
            note(advice)
    ctx.exit(INVALID_RECIPIENTS if report.invalid and not exit_zero else 0)


def _print_report(report: CheckReport, name: str) -> None:
    """Print the first violations, the number of all by field and rule, and the number of rows."""
    for each in report.findings:
        key = f"{each.key}: " if each.key else ""
        print_line(one_line(f"{name}:{each.line}: {key}{each.message}"))
    if report.hidden:
        print_line(f"… and {report.hidden:,} more violations.")
    if report.counts:
        print_line("")
        rows = [(key or None, rule, number) for key, rule, number in report.table()]
        print_table(("FIELD", "RULE", "VIOLATIONS"), rows)
    note(report.summary)


def _check_names(file: str, *outputs: str | None) -> None:
    names = [file, *(name for name in outputs if name is not None)]
    if len({os.path.realpath(name) for name in names}) < len(names):
        raise click.UsageError("FILE, --out and --rejects must be different files.")
    if len({is_parquet(name) for name in names}) > 1:
        raise click.UsageError(
            "FILE, --out and --rejects have the same format. If one of them ends with .parquet, all"
            " must do so."
        )


def _with_progress(reader: RecipientReader, file: BinaryIO) -> Iterable[Row]:
    """Return the rows. On a terminal, their iteration shows how much of the file is read."""
    return _progress(reader, file) if sys.stderr.isatty() and file.seekable() else reader


def _progress(reader: RecipientReader, file: BinaryIO) -> Iterator[Row]:
    length = reader.row_count or os.fstat(file.fileno()).st_size
    with click.progressbar(length=length, file=sys.stderr, label="Checking") as bar:
        for number, row in enumerate(reader):
            if number % _PROGRESS_ROWS == 0:
                position = file.tell() if reader.row_count is None else number
                bar.update(position - bar.pos)
            yield row
        bar.update(length - bar.pos)
