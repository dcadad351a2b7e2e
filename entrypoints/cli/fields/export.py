"""`recipient-fields fields export` and `recipient-fields fields schema`."""

from __future__ import annotations

import json

import click

from recipient_fields.application.fields.fields_as_code import (
    field_document_schema,
    render_field_document,
)

from ..command_group import Command
from ..options import json_option
from ..output import print_bytes, print_json, print_line
from ..target_options import open_target, target_options


@click.command(cls=Command)
@target_options
@json_option
@click.pass_context
def export(ctx: click.Context, organization: str | None, url: str | None, *, as_json: bool) -> None:
    """Print the document that defines the API-managed fields, in YAML.

    `recipient-fields plan` and `recipient-fields apply` read it. The same fields always
    produce the same document. Without --url, it contains the names that are set at integrations.
    """
    with open_target(ctx, organization, url) as target:
        catalog = target.fields.list_fields(target.organization_id)
        document = render_field_document(catalog.fields, target.list_integrations())
    print_document(document, as_json=as_json)


def print_document(document: dict[str, object], *, as_json: bool) -> None:
    """Print a document of fields, in YAML or in JSON."""
    if as_json:
        print_json(document)
    else:
        # Imported here because only the commands for documents need PyYAML.
        from .files import render_yaml

        print_bytes(render_yaml(document).encode())


@click.command(cls=Command)
def schema() -> None:
    """Print the JSON Schema of the documents of fields, for editors."""
    print_line(json.dumps(field_document_schema(), indent=2))
