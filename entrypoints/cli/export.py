"""`recipient-fields export`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import click

from recipient_fields.domain import IntegrationId, RecipientField
from recipient_fields.domain.esp import (
    ContentNotExportable,
    Obstacle,
    Placeholder,
    export_content,
    exportable_fields,
    find_malformed_placeholders,
)

from ..counts import counted
from .options import Identifier, option
from .organization_option import open_for_organization, organization_option
from .output import note, print_bytes

_MARK = "\ufeff"
_MAX_LINES = 100


@click.command()
@organization_option
@option(
    "--integration",
    type=Identifier(),
    metavar="ID",
    help="The integration whose fields can be inserted, besides API and manual fields.",
)
@click.argument("content", type=click.File("rb"), default="-")
@click.pass_obj
def export(storage: str, organization: str, integration: int | None, content: BinaryIO) -> None:
    """Replace {{recipient.KEY}} in CONTENT with the insertion code of the field.

    CONTENT is a UTF-8 file, by default standard input. The command writes the result to standard
    output. If any placeholder can't be replaced, it writes nothing and reports all of them.
    """
    mark, text = _decoded(content.read())
    integration_id = None if integration is None else IntegrationId(integration)
    with open_for_organization(storage, organization) as (core, tenant):
        if integration_id is not None:
            core.integrations.get_integration(tenant.id, integration_id)
        catalog = core.fields.list_fields(tenant.id).fields
    for missed in find_malformed_placeholders(text):
        note(f"Warning: {_place(missed)}: this is not a placeholder, so it is not replaced.")
    try:
        exported = export_content(text, exportable_fields(catalog, integration_id))
    except ContentNotExportable as refusal:
        _report(
            refusal,
            {str(field.key): field for field in catalog},
            chosen=integration_id is not None,
        )
        these = counted(len(refusal.refused), "placeholder")
        raise click.ClickException(f"Nothing was exported: {these} can't be replaced.") from None
    print_bytes(f"{mark}{exported}".encode())


def _decoded(content: bytes) -> tuple[str, str]:
    """Return the byte order mark, if there is one, and the text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"The content is not UTF-8: byte {error.start + 1:,}.") from None
    return (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)


def _report(
    refusal: ContentNotExportable, fields: Mapping[str, RecipientField], *, chosen: bool
) -> None:
    for refused in refusal.refused[:_MAX_LINES]:
        line = f"{_place(refused.placeholder)}: {refused.placeholder.key}: "
        other = fields.get(refused.placeholder.key)
        if refused.obstacle is Obstacle.UNKNOWN_FIELD and other is not None:
            line += f"This field is of integration {other.origin.integration_id}."
            if not chosen:
                line += f" Add --integration {other.origin.integration_id}."
        else:
            line += refused.obstacle.value
            if refused.suggestion is not None:
                line += f" Did you mean {refused.suggestion}?"
        note(line)
    if len(refusal.refused) > _MAX_LINES:
        note(f"… and {len(refusal.refused) - _MAX_LINES:,} more.")


def _place(placeholder: Placeholder) -> str:
    return f"line {placeholder.line}, column {placeholder.column}"
