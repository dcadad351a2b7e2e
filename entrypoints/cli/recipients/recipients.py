"""`recipient-fields recipients`: the data of recipients, checked against the fields."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import BinaryIO

import click

from recipient_fields.application.fields.fields_as_code import render_draft_document
from recipient_fields.application.ports.recipients import (
    FileFormat,
    FileOptions,
    RecipientReader,
    RecipientWriter,
    Row,
)
from recipient_fields.application.recipients.documents import (
    render_json_schema,
    render_python_types,
    render_typescript_types,
)
from recipient_fields.application.recipients.hints import Hints
from recipient_fields.application.recipients.inference import infer_fields
from recipient_fields.application.recipients.lists import CheckReport, ListOptions, RecipientList
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    DEFAULT_MAX_PROPOSED_VALUES,
    MAX_ALLOWED_VALUES,
    Doubt,
    ForeignForm,
    ProposedField,
    RecipientSchema,
    TextFormats,
)

from ...service.selection import open_recipients
from ..commands import Command, CommandGroup
from ..fields.codes import print_document
from ..options import flag, json_option, option
from ..output import (
    OutputFiles,
    complete_outputs,
    note,
    one_line,
    print_bytes,
    print_line,
    print_table,
)
from ..targets import open_target, optional_target_options, target_options
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
@flag("--additional", text="Accept columns and members that are not fields.")
@option("--out", type=_OUTPUT, help="Write the valid rows to this file.")
@option("--rejects", type=_OUTPUT, help="Write the invalid rows to this file, with the reasons.")
@flag(
    "--spreadsheet-safe",
    text="In the rejects of a CSV file, write ' before what a spreadsheet reads as a formula.",
)
@flag("--exit-zero", text="Exit with 0 if recipients are invalid, instead of 3.")
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
    with open_target(organization, url) as target:
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
        complete_outputs(is_private=True) as files,
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


_NOTES = {
    Doubt.EMPTY: "It has no values, so its data type is a guess.",
    Doubt.MIXED: "No data type accepts all its values. `recipients check` rejects some of them.",
    Doubt.CODE: "Its values have only digits, like postal codes, so its data type is text. Use"
    " number for amounts.",
    Doubt.DECIMAL_COMMA: "Its values look like numbers with decimal commas. To make it a number"
    " field, add --decimal ','.",
    Doubt.DATE_FORMAT: "Its values look like dates. Write them like 2026-11-20 for a date field,"
    " and like 2026-11-20T09:15:00Z for a datetime field.",
    Doubt.EMAIL: "Its values look like email addresses. Remove the field if your ESP stores the"
    " address itself.",
    Doubt.UNLISTED: "It has a few values that repeat, but one of them can't be an allowed value,"
    " for example because of white space at its end.",
    Doubt.KEY: "No valid, unused key can be derived from its name. Choose a key before you create"
    " the field: it can't be changed later.",
}
_FORM_NOTES = {
    ForeignForm.SERIAL_DATE: "This can be the number of a day, as spreadsheets store dates: 44197"
    " is 2021-01-01. For a date field, format the column as dates before you export it.",
    ForeignForm.UNIX_TIME: "This can be a Unix time: 1700000000 is 2023-11-14T22:13:20Z. For a"
    " datetime field, write it in this form.",
    ForeignForm.TWO_DIGIT_YEAR: "The year has only two digits. Write it with four.",
    ForeignForm.MONTH_NAME: "The month is a word. Write it as a number.",
    ForeignForm.DATE_AND_TIME: "The date has a time. Remove it for a date field.",
    ForeignForm.ZERO_DATE: "0000-00-00 stands for no date. Leave the value empty.",
    ForeignForm.SHORTENED_NUMBER: "A spreadsheet may have left out the last digits of the number,"
    " as in 1.23457E+11. Format the column as text before you export it.",
    ForeignForm.DECOMPOSED: "Accents are characters of their own, so that conditions don't find the"
    " text. Save the file in Unicode NFC.",
}


@click.command(cls=Command)
@click.argument("file", type=InputFile())
@optional_target_options
@integration_option
@file_options
@option(
    "--max-allowed-values",
    type=click.IntRange(0, MAX_ALLOWED_VALUES),
    default=DEFAULT_MAX_PROPOSED_VALUES,
    metavar="NUMBER",
    help="Propose allowed values for texts with at most this number of different values.",
)
@json_option
@click.pass_context
def infer(
    ctx: click.Context,
    file: BinaryIO,
    organization: str | None,
    url: str | None,
    integration: int | None,
    delimiter: str | None,
    encoding: str | None,
    formats: TextFormats,
    max_allowed_values: int,
) -> None:
    """Propose fields for the recipients in FILE, and print the document that defines them.

    FILE is a CSV file with a header, or a file of JSON Lines (.jsonl or .ndjson). The document is
    in YAML; `recipient-fields plan` and `recipient-fields apply` read it. Messages on standard
    error name the fields to review. With --organization or --url, the command omits columns that
    are already fields of the organization.
    """
    require_columns(file.name, integration)
    names = None
    if organization is not None or url is not None:
        with open_target(organization, url) as target:
            names = target.read_names()
    elif integration is not None:
        raise click.UsageError("--integration requires --organization or --url.")
    reader = ctx.with_resource(
        open_recipients(file, file.name, FileOptions(encoding=encoding, delimiter=delimiter))
    )

    def note_skipped(row: Row) -> None:
        if row.violation is not None:
            note(f"{file.name}:{row.line}: {row.violation.message}")

    inferred = infer_fields(
        reader,
        names,
        formats=formats,
        integration=integration,
        max_allowed_values=max_allowed_values,
        on_first_skipped=note_skipped,
    )
    if inferred.skipped:
        rows = counted(inferred.skipped, "invalid row")
        note(f"Skipped {rows}. `recipients check` reports them.")
    print_document(render_draft_document(each.draft for each in inferred.proposed))
    has_header = FileFormat.of(file.name) is not FileFormat.JSON_LINES
    for each in inferred.proposed:
        for sentence in _notes(each, has_header=has_header):
            note(f"{each.draft.key}: {sentence}")
    proposed = counted(len(inferred.proposed), "field")
    note(f"Proposed {proposed} for {counted(inferred.recipients, 'recipient')}.")


def _notes(proposed: ProposedField, *, has_header: bool) -> Iterator[str]:
    """Yield what to review before the field is created."""
    key, exceptions = proposed.draft.key, proposed.exceptions
    yield from (_NOTES[doubt] for doubt in proposed.doubts)
    if proposed.date_formats and Doubt.DATE_FORMAT in proposed.doubts and has_header:
        options = " or ".join(f"--date-format {each}" for each in proposed.date_formats)
        yield f"To make it a date field, use {options}."
    if proposed.intended_type is not None:
        s = "" if len(exceptions) == 1 else "s"
        lines = ", ".join(map(str, exceptions))
        without = f"without the value{s} in line{s} {lines}"
        yield f"Its data type would be {proposed.intended_type.value} {without}."
    for form, rows in proposed.forms.items():
        lines = ", ".join(map(str, rows.first))
        more = f" and {rows.count - len(rows.first):,} more" if rows.count > len(rows.first) else ""
        yield f"Line{'s' if rows.count > 1 else ''} {lines}{more}: {_FORM_NOTES[form]}"
    if proposed.title != key and not has_header:
        title = one_line(proposed.title)
        yield f"In JSON Lines, a recipient has keys. Rename the member {title} to {key}."


_RENDERERS = {"python": render_python_types, "typescript": render_typescript_types}


@click.group(cls=CommandGroup)
def recipients() -> None:
    """Check recipients' data against the fields, describe it for programs, and propose fields."""


@recipients.command()
@target_options
@flag("--additional", text="Accept members that are not recipient fields.")
def schema(organization: str | None, url: str | None, *, additional: bool) -> None:
    """Print the JSON Schema of a recipient's data."""
    described = _read_schema(organization, url, additional=additional)
    print_line(json.dumps(render_json_schema(described), indent=2, ensure_ascii=False))


@recipients.command()
@target_options
@option(
    "--language",
    type=click.Choice(list(_RENDERERS)),
    required=True,
    help="The language of the types.",
)
def types(organization: str | None, url: str | None, language: str) -> None:
    """Print the type of a recipient's data: a Python TypedDict or a TypeScript interface.

    The same fields always produce the same types.
    """
    rendered = _RENDERERS[language](_read_schema(organization, url))
    print_bytes(rendered.encode("utf-8"))


recipients.add_command(check)
recipients.add_command(infer)


def _read_schema(
    organization: str | None, url: str | None, *, additional: bool = False
) -> RecipientSchema:
    with open_target(organization, url) as target:
        names = target.read_names()
    return RecipientSchema.of(names.fields, additional=additional, definitions=names.definitions)
