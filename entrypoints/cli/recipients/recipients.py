"""`recipient-fields recipients`: the data of recipients, checked against the fields."""

from __future__ import annotations

import json

import click

from recipient_fields.application.recipients.schemas import (
    render_json_schema,
    render_python_types,
    render_typescript_types,
)
from recipient_fields.domain import RecipientSchema

from ..command_group import CommandGroup
from ..options import option
from ..output import print_bytes, print_line
from ..target_options import open_target, target_options
from .check import check
from .inference import infer

_RENDERERS = {"python": render_python_types, "typescript": render_typescript_types}


@click.group(cls=CommandGroup)
def recipients() -> None:
    """Check recipients' data against the fields, describe it for programs, and propose fields."""


@recipients.command()
@target_options
@option("--additional", is_flag=True, help="Accept members that are not recipient fields.")
@click.pass_context
def schema(
    ctx: click.Context, organization: str | None, url: str | None, *, additional: bool
) -> None:
    """Print the JSON Schema of a recipient's data."""
    described = _read_schema(ctx, organization, url, additional=additional)
    print_line(json.dumps(render_json_schema(described), indent=2, ensure_ascii=False))


@recipients.command()
@target_options
@option(
    "--language",
    type=click.Choice(list(_RENDERERS)),
    required=True,
    help="The language of the types.",
)
@click.pass_context
def types(ctx: click.Context, organization: str | None, url: str | None, language: str) -> None:
    """Print the type of a recipient's data: a Python TypedDict or a TypeScript interface.

    The same fields always produce the same types.
    """
    rendered = _RENDERERS[language](_read_schema(ctx, organization, url))
    print_bytes(rendered.encode("utf-8"))


recipients.add_command(check)
recipients.add_command(infer)


def _read_schema(
    ctx: click.Context, organization: str | None, url: str | None, *, additional: bool = False
) -> RecipientSchema:
    with open_target(ctx, organization, url) as target:
        names = target.read_names()
    return RecipientSchema.of(names.fields, additional=additional, definitions=names.definitions)
