"""`recipient-fields fields export` and `recipient-fields fields schema`."""

from __future__ import annotations

import json

import click

from recipient_fields.application.field_documents import (
    field_document_schema,
    render_field_document,
)

from .options import json_option
from .organization_option import open_for_organization, organization_option
from .output import print_bytes, print_json, print_line


@click.command("export")
@organization_option
@json_option
@click.pass_obj
def export_fields(storage: str, organization: str, *, as_json: bool) -> None:
    """Print the document that defines the API-managed fields, in YAML.

    `recipient-fields plan` and `recipient-fields apply` read it. The same fields have the same
    document.
    """
    with open_for_organization(storage, organization) as (core, tenant):
        document = render_field_document(core.fields.list_fields(tenant.id).fields)
    if as_json:
        print_json(document)
    else:
        # Imported here because only the commands for documents need PyYAML.
        from .field_files import render_yaml

        print_bytes(render_yaml(document).encode())


@click.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of the documents of fields, for editors."""
    print_line(json.dumps(field_document_schema(), indent=2))
