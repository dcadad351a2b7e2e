"""`recipient-fields recipients infer`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import BinaryIO

import click

from recipient_fields.application.fields.fields_as_code import render_draft_document
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    DEFAULT_MAX_PROPOSED_VALUES,
    MAX_ALLOWED_VALUES,
    MAX_BATCH_OPERATIONS,
    Doubt,
    FieldInference,
    ProposedField,
    RecipientField,
    TextFormats,
    column_name,
)

from ...recipient_files import (
    ColumnReader,
    CsvRecipients,
    RecipientReader,
    UnreadableFile,
    require_different,
)
from ..command_group import Command
from ..fields.export import print_document
from ..options import InputFile, json_option, option
from ..output import note, one_line
from ..target_options import open_fields, optional_target_options
from .options import file_options
from .readers import open_reader

_NOTES = {
    Doubt.EMPTY: "It has no values, so its data type is a guess.",
    Doubt.MIXED: "No data type accepts all its values. `recipients check` rejects some of them.",
    Doubt.CODE: "Its values have only digits, like postal codes, so its data type is text. Use"
    " number for amounts.",
    Doubt.DECIMAL_COMMA: "Its values look like numbers with decimal commas. To make it a number"
    " field, add --decimal ','.",
    Doubt.DATE_FORMAT: "Its values look like dates. For a date field, write them like 2026-11-20,"
    " or set --date-format for a CSV file; for a datetime field, like 2026-11-20T09:15:00Z.",
    Doubt.EMAIL: "Its values look like email addresses. Remove the field if your ESP stores the"
    " address itself.",
    Doubt.UNLISTED: "It has a few values that repeat, but one of them can't be an allowed value,"
    " for example because of white space at its end.",
    Doubt.KEY: "No valid, unused key can be derived from its name. Choose a key before you create"
    " the field: it can't be changed later.",
}


@click.command(cls=Command)
@click.argument("file", type=InputFile())
@optional_target_options
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
    delimiter: str | None,
    encoding: str | None,
    formats: TextFormats,
    max_allowed_values: int,
    *,
    as_json: bool,
) -> None:
    """Propose fields for the recipients in FILE, and print the document that defines them.

    FILE is a CSV file with a header, a file of JSON Lines (.jsonl or .ndjson), or a Parquet file
    (.parquet). The document is in YAML; `recipient-fields plan` and `recipient-fields apply` read
    it. Messages on standard error name the fields to review. With --organization or --url, the
    command omits columns that are already fields of the organization.
    """
    fields: Collection[RecipientField] = ()
    if organization is not None or url is not None:
        with open_fields(ctx, organization, url) as (service, organization_id):
            fields = service.list_fields(organization_id).fields
    reader = ctx.with_resource(open_reader(file, encoding, delimiter))
    if isinstance(reader, ColumnReader):
        _require_different_names(reader)
    has_texts = isinstance(reader, CsvRecipients)
    inference = FieldInference(formats if has_texts else None, max_allowed_values)
    count = _add_all(reader, inference, file.name)
    proposed = inference.propose(fields)
    print_document(render_draft_document(each.draft for each in proposed), as_json=as_json)
    for each in proposed:
        for sentence in _notes(each, has_header=isinstance(reader, ColumnReader)):
            note(f"{each.draft.key}: {sentence}")
    fields_proposed = counted(len(proposed), "field")
    note(f"Proposed {fields_proposed} for {counted(count, 'recipient')}.")


def _require_different_names(reader: ColumnReader) -> None:
    """Check that each column can be found by its name. Raises: UnreadableFile if it can't."""
    names = [column_name(title) for title in reader.header]
    if "" in names:
        column = names.index("") + 1
        raise UnreadableFile(f"{reader.header_place}: Column {column} has no name in the header.")
    require_different(reader.header_place, names, "have the same name")


def _add_all(reader: RecipientReader, inference: FieldInference, name: str) -> int:
    """Add the recipients to the inference, and return their number.

    Raises: UnreadableFile if there are none, or if they have too many columns.
    """
    count = skipped = 0
    for row in reader:
        if row.violation is not None:
            skipped += 1
            if skipped == 1:
                note(f"{name}:{row.line}: {row.violation.message}")
            continue
        count += 1
        inference.add(reader.values(row), row.line)
        if len(inference.titles) > MAX_BATCH_OPERATIONS:
            raise UnreadableFile(
                f"{name}:{row.line}: There are more than {MAX_BATCH_OPERATIONS:,} columns."
                " `recipient-fields apply` can't create so many fields."
            )
    if not count:
        raise UnreadableFile(f"{name} has no recipients.")
    if skipped:
        note(f"Skipped {counted(skipped, 'invalid row')}. `recipients check` reports them.")
    return count


def _notes(proposed: ProposedField, *, has_header: bool) -> Iterator[str]:
    """Yield what to review before the field is created."""
    key, exceptions = proposed.draft.key, proposed.exceptions
    yield from (_NOTES[doubt] for doubt in proposed.doubts)
    if proposed.intended_type is not None:
        s = "" if len(exceptions) == 1 else "s"
        lines = ", ".join(map(str, exceptions))
        without = f"without the value{s} in line{s} {lines}"
        yield f"Its data type would be {proposed.intended_type.value} {without}."
    if proposed.title != key and not has_header:
        title = one_line(proposed.title)
        yield f"In JSON Lines, a recipient has keys. Rename the member {title} to {key}."
