"""`recipient-fields recipients check`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, TextIO, cast

import click
from attrs import frozen

from recipient_fields.domain import DecimalMark, Rule, Violation

from ..recipient_files import RecipientReader, Row, is_json_lines
from ..recipient_lists import (
    CheckReport,
    ListOptions,
    RecipientList,
    violation_text,
)
from .options import Identifier, option
from .output import note, one_line, print_line, print_table
from .recipient_options import file_options
from .target_options import open_fields, target_options

INVALID_RECIPIENTS = 3
"""The exit status if some recipients are invalid."""

_PROGRESS_ROWS = 1_000
"""Rows between two updates of the progress bar."""


@frozen
class _Outputs:
    """The files for the valid and the invalid rows, if they are requested."""

    checked: RecipientList
    valid: TextIO | None
    rejects: TextIO | None

    def write_headers(self) -> None:
        """Write the beginning of both files."""
        for file, rejects in ((self.valid, False), (self.rejects, True)):
            if file is not None:
                file.write(self.checked.reader.render_header(rejects=rejects))

    def write(self, row: Row, violations: Sequence[Violation]) -> None:
        """Write a row to the file that it belongs to. A reject has the reasons."""
        if violations and self.rejects is not None:
            self.rejects.write(self.checked.render_reject(row, violations))
        elif not violations and self.valid is not None:
            self.valid.write(self.checked.reader.render_row(row))


@click.command()
@click.argument("file", type=click.File("rb"))
@target_options
@option(
    "--integration",
    type=Identifier(),
    help="The header of the CSV file contains the ESP's names of this integration's fields.",
)
@file_options
@option("--additional", is_flag=True, help="Accept columns and members that are not fields.")
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
    if integration is not None and is_json_lines(file.name):
        raise click.UsageError("--integration requires a CSV file.")
    options = ListOptions(
        delimiter=delimiter,
        encoding=encoding,
        decimal_mark=cast("DecimalMark", decimal),
        integration=integration,
        additional=additional,
    )
    with open_fields(ctx, organization, url) as (fields, organization_id):
        catalog = fields.list_fields(organization_id)
    recipients = ctx.with_resource(RecipientList.open(file, file.name, catalog, options))
    report = CheckReport(partial(_print_violation, file.name))
    with _complete_file(out) as valid_file, _complete_file(rejects) as rejects_file:
        outputs = _Outputs(recipients, valid_file, rejects_file)
        outputs.write_headers()
        for row, violations in recipients.check(_with_progress(recipients.reader, file), report):
            outputs.write(row, violations)
    _print_summary(report)
    if decimal == "." and recipients.may_have_decimal_commas and report.has(Rule.TYPE):
        note("If the numbers have decimal commas, add --decimal ','.")
    ctx.exit(INVALID_RECIPIENTS if report.invalid else 0)


def _print_violation(name: str, row: Row, violation: Violation) -> None:
    print_line(one_line(f"{name}:{row.line}: {violation_text(violation)}"))


def _print_summary(report: CheckReport) -> None:
    """Print the number of violations by field and rule, and the number of rows."""
    if report.hidden:
        print_line(f"… and {report.hidden:,} more violations.")
    if report.counts:
        print_line("")
        rows = [(key or None, rule, number) for key, rule, number in report.table()]
        print_table(("FIELD", "RULE", "VIOLATIONS"), rows)
    note(report.summary)


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
