"""`recipient-fields recipients check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import BinaryIO

import click

from recipient_fields.application.ports.recipients import (
    FileFormat,
    FileOptions,
    RecipientReader,
    RecipientWriter,
)
from recipient_fields.application.recipients.hints import Hints
from recipient_fields.application.recipients.lists import CheckReport, ListOptions, RecipientList
from recipient_fields.domain import TextFormats

from ...service.selection import open_recipients
from ..command_group import Command
from ..options import option
from ..output import note, one_line, print_line, print_table
from ..output_files import OutputFiles, complete_outputs
from ..target_options import open_target, target_options
from ..typed_options import InputFile
from .options import file_options, integration_option, require_columns

INVALID_RECIPIENTS = 3
"""The exit status if some recipients are invalid."""

_OUTPUT = click.Path(dir_okay=False, writable=True)
_PROGRESS_ROWS = 1_000
"""Rows between two updates of the progress bar."""


@click.command(cls=Command)
@click.argument("file", type=InputFile())
@target_options
@integration_option
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

    FILE is a CSV file whose header contains the keys or the names of fields, or a file of JSON
    Lines (.jsonl or .ndjson) with their keys. An empty cell is a value that is not set. The command
    stores nothing. The exit status is 0 if all recipients are valid, 3 if some are invalid, and 1
    if the file can't be read.
    """
    _check_names(file.name, out, rejects)
    file_format = FileFormat.of(file.name)
    if spreadsheet_safe and not (file_format is FileFormat.CSV and rejects):
        raise click.UsageError("--spreadsheet-safe requires a CSV file and --rejects.")
    require_columns(file.name, integration)
    file_options = FileOptions(
        encoding=encoding, delimiter=delimiter, spreadsheet_safe=spreadsheet_safe
    )
    options = ListOptions(
        formats=formats,
        integration=integration,
        additional=additional,
        additional_advice="add --additional",
        integration_advice="add --integration with its id",
    )
    with open_target(ctx, organization, url) as target:
        names = target.read_names()
    reader = ctx.with_resource(open_recipients(file, file.name, file_options))
    report = _check(RecipientList.of(reader, names, options), file, out, rejects)
    _print_report(report, file.name)
    for hint in _describe(report.hints):
        note(hint)
    ctx.exit(INVALID_RECIPIENTS if report.invalid and not exit_zero else 0)


def _check(
    recipients: RecipientList, file: BinaryIO, out: str | None, rejects: str | None
) -> CheckReport:
    """Check the list. The outputs get their names at the end, if there is no error.

    On a terminal, the check shows how much of the file is read.
    """
    reader = recipients.reader
    has_progress = sys.stderr.isatty() and file.seekable()
    with (
        complete_outputs() as files,
        _open_writer(reader, files, out, rejects=False) as valid,
        _open_writer(reader, files, rejects, rejects=True) as invalid,
        _progress(file) if has_progress else nullcontext() as on_row,
    ):
        return recipients.check(valid=valid, rejects=invalid, on_row=on_row)


def _open_writer(
    reader: RecipientReader, files: OutputFiles, name: str | None, *, rejects: bool
) -> AbstractContextManager[RecipientWriter | None]:
    return nullcontext() if name is None else reader.open_writer(files.open(name), rejects=rejects)


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


def _describe(hints: Hints) -> Iterator[str]:
    """Yield what helps if many values can't be read, or are damaged."""
    if hints.decimal_comma:
        yield "If the numbers have decimal commas, add --decimal ','."
    if hints.date_formats:
        options = " or ".join(f"--date-format {each}" for each in hints.date_formats)
        yield f"If the dates have another format, use {options}."
    if hints.words:
        yield (
            "If other words mean true and false, add --true and --false, for example --true ja"
            " --false nein."
        )
    yield from map(one_line, hints.damage())


def _check_names(file: str, *outputs: str | None) -> None:
    names = [file, *(name for name in outputs if name is not None)]
    if len({os.path.realpath(name) for name in names}) < len(names):
        raise click.UsageError("FILE, --out and --rejects must be different files.")


@contextmanager
def _progress(file: BinaryIO) -> Iterator[Callable[[], None]]:
    """Show a bar while the block runs, which calls the function after each row."""
    length = os.fstat(file.fileno()).st_size
    numbers = count()

    with click.progressbar(length=length, file=sys.stderr, label="Checking") as bar:

        def on_row() -> None:
            if next(numbers) % _PROGRESS_ROWS == 0:
                bar.update(file.tell() - bar.pos)

        yield on_row
        bar.update(length - bar.pos)
