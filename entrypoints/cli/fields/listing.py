"""`recipient-fields fields list` and `check`: the fields of all sources."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from recipient_fields.application.wording import counted
from recipient_fields.domain import AllowedValues, FieldQuery, RecipientField

from ..commands import Command
from ..options import flag, json_option, option
from ..output import is_json, note, print_json, print_rows, print_table
from ..targets import open_for_organization, organization_option
from ..typed_options import INSTANT

_MAX_CELL_LENGTH = 40
"""Characters of the allowed values in a list, so that most lists fit into 100 columns."""

if TYPE_CHECKING:
    from recipient_fields.domain.esp import CodeWarning


@click.command("list", cls=Command)
@organization_option
@option(
    "--as-of",
    type=INSTANT,
    help="List the fields as they were at this time, for example 2026-11-20T09:15:00Z.",
)
@flag(
    "--counterparts",
    text="Also list counterparts: synced fields with the ESP name of another field in the list.",
)
@json_option
def list_(organization: str, as_of: datetime | None, *, counterparts: bool) -> None:
    """List the fields of all sources.

    With --as-of, the list also has the counterparts.
    """
    hidden = 0
    with open_for_organization(organization) as (core, chosen):
        if as_of is not None:
            fields = core.fields.list_fields_as_of(chosen.id, as_of).fields
        else:
            query = FieldQuery(counterparts=counterparts)
            fields = core.fields.find_fields(chosen.id, query).fields
            total = core.fields.find_fields(chosen.id, FieldQuery(limit=1)).total
            hidden = total - len(fields)
    if is_json():
        # Imported here because the table needs no documents.
        from recipient_fields.application.fields.documents import render_fields

        print_json(render_fields(fields))
    else:
        print_table(
            ("ID", "KEY", "NAME", "TYPE", "SOURCE", "ALLOWED VALUES"),
            [
                (
                    field.id,
                    field.key,
                    field.name,
                    field.data_type.value,
                    field.origin.source.value,
                    _shortened(field.allowed_values),
                )
                for field in fields
            ],
        )
    if hidden > 0:  # Fields can change between both calls.
        without = f"Without {counted(hidden, 'counterpart')} at integrations."
        note(f"{without} To list all fields, add --counterparts.")


@click.command(cls=Command)
@organization_option
@json_option
def check(organization: str) -> None:
    """List insertion codes that look wrong. The command changes nothing."""
    with open_for_organization(organization) as (core, chosen):
        catalog = core.fields.list_fields(chosen.id)
    warnings = [
        (field, warning)
        for field in catalog.fields
        for warning in core.content.find_warnings(field)
    ]
    print_rows(
        {"warnings": [_render_warning(field, warning) for field, warning in warnings]},
        ("ID", "KEY", "WARNING"),
        [(field.id, field.key, warning.value) for field, warning in warnings],
    )


def _shortened(allowed: AllowedValues | None) -> str | None:
    text = None if allowed is None else ", ".join(map(str, allowed.values))
    return text and (text if len(text) <= _MAX_CELL_LENGTH else f"{text[: _MAX_CELL_LENGTH - 1]}…")


def _render_warning(field: RecipientField, warning: CodeWarning) -> dict[str, object]:
    return {
        "id": field.id,
        "key": field.key,
        "code": warning.name.lower(),
        "message": warning.value,
    }
