"""`recipient-fields recipients infer`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import click

from recipient_fields.application.fields.fields_as_code import render_draft_document
from recipient_fields.application.ports.recipients import FileFormat, FileOptions, Row
from recipient_fields.application.recipients.inference import infer_fields
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    DEFAULT_MAX_PROPOSED_VALUES,
    MAX_ALLOWED_VALUES,
    Doubt,
    ForeignForm,
    ProposedField,
    TextFormats,
)

from ...service.selection import open_recipients
from ..command_group import Command
from ..fields.export import print_document
from ..options import json_option, option
from ..output import note, one_line
from ..target_options import open_target, optional_target_options
from ..typed_options import InputFile
from .options import file_options, integration_option, require_columns

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
    show_default=True,
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
    *,
    as_json: bool,
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
        with open_target(ctx, organization, url) as target:
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
    print_document(render_draft_document(each.draft for each in inferred.proposed), as_json=as_json)
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
