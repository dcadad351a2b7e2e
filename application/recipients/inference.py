"""The use case of proposals: the fields for the recipients in a file."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from recipient_fields.domain import (
    DEFAULT_MAX_PROPOSED_VALUES,
    MAX_BATCH_OPERATIONS,
    FieldInference,
    ProposedField,
    TextFormats,
    clean_line,
)
from recipient_fields.domain.integrations import EspNames

from ..ports.recipients import RecipientReader, Row, TextReader, UnreadableFile
from .lists import find_esp_names, require_names


@frozen(kw_only=True)
class InferredFields:
    """The proposed fields, and the numbers of recipients and of rows that are no recipients."""

    proposed: tuple[ProposedField, ...]
    recipients: int
    skipped: int


def infer_fields(
    reader: RecipientReader,
    names: EspNames | None = None,
    *,
    formats: TextFormats,
    integration: int | None = None,
    max_allowed_values: int = DEFAULT_MAX_PROPOSED_VALUES,
    on_first_skipped: Callable[[Row], None] = lambda _row: None,
) -> InferredFields:
    """Propose a field for each column of the file that is not a field of the organization.

    `names` are those of the organization, if there is one. The header can also contain the ESP's
    names of the fields at `integration`. `formats` apply to values that are texts. A text field
    gets allowed values if its column has at most `max_allowed_values` different values.
    `on_first_skipped` is called with the first row that is no recipient.

    Raises: UnreadableFile if the file can't be read, if its columns have no names or equal names,
    if it has no recipients, if a batch can't create so many fields, or if no field has a name at
    the integration.
    """
    names = EspNames((), ()) if names is None else names
    esp_names = find_esp_names(names, integration)
    inference = FieldInference(None, max_allowed_values)
    if isinstance(reader, TextReader):
        require_names(reader.header_place, [clean_line(title) for title in reader.header])
        inference = FieldInference(formats, max_allowed_values)
    recipients = skipped = 0
    for row in reader:
        if row.violation is not None:
            skipped += 1
            if skipped == 1:
                on_first_skipped(row)
            continue
        recipients += 1
        inference.add(reader.values(row), row.line)
        if len(inference.titles) > MAX_BATCH_OPERATIONS:
            raise UnreadableFile(
                f"{reader.name}:{row.line}: There are more than {MAX_BATCH_OPERATIONS:,} columns."
                " `recipient-fields apply` can't create so many fields."
            )
    if not recipients:
        raise UnreadableFile(f"{reader.name} has no recipients.")
    return InferredFields(
        proposed=inference.propose(names.fields, names.definitions, esp_names),
        recipients=recipients,
        skipped=skipped,
    )
