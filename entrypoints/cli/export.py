"""`recipient-fields export`."""

from __future__ import annotations

from typing import BinaryIO

import click

from recipient_fields.domain import IntegrationId, OrganizationId, RecipientField
from recipient_fields.domain.esp import (
    ContentNotExportable,
    RefusedPlaceholder,
    export_content,
    insertable_with,
)

from ..composition import Core
from .options import Identifier, opened, option, organization_option
from .output import note, print_bytes


@click.command()
@organization_option
@option(
    "--integration",
    type=Identifier(),
    metavar="ID",
    help="The integration whose fields may be inserted beside API and manual ones.",
)
@click.argument("content", type=click.File("rb"), default="-")
@click.pass_obj
def export(storage: str, organization: int, integration: int | None, content: BinaryIO) -> None:
    """Replace {{recipient.KEY}} in CONTENT by each field's insertion code.

    CONTENT is a file in UTF-8, standard input unless given. The result goes to standard output;
    where a placeholder can't be replaced, nothing does, and all of them are told.
    """
    try:
        text = content.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"The content is not UTF-8: byte {error.start + 1:,}.") from None
    with opened(storage) as core:
        integration_id = None if integration is None else IntegrationId(integration)
        fields = _insertable(core, OrganizationId(organization), integration_id)
    try:
        exported = export_content(text, fields)
    except ContentNotExportable as refusal:
        for refused in refusal.refused:
            note(_line(refused))
        count = len(refusal.refused)
        these = "1 placeholder" if count == 1 else f"{count:,} placeholders"
        raise click.ClickException(f"Nothing was exported: {these} can't be replaced.") from None
    print_bytes(exported.encode("utf-8"))


def _insertable(
    core: Core, organization_id: OrganizationId, integration_id: IntegrationId | None
) -> tuple[RecipientField, ...]:
    if integration_id is not None:
        core.integrations.get_integration(organization_id, integration_id)
    return insertable_with(core.fields.list_fields(organization_id).fields, integration_id)


def _line(refused: RefusedPlaceholder) -> str:
    at = refused.placeholder
    line = f"line {at.line}, column {at.column}: {at.key}: {refused.obstacle.value}"
    return line if refused.suggestion is None else f"{line} Did you mean {refused.suggestion}?"
