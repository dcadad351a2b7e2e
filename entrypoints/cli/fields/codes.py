"""`recipient-fields fields show`, `codes`, `export` and `schema`."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from recipient_fields.application.content.code_documents import render_codes
from recipient_fields.application.content.content import ListedCodes
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.documents import render_field
from recipient_fields.application.fields.fields_as_code import (
    field_document_schema,
    render_field_document,
)
from recipient_fields.application.fields.texts import parse_reference
from recipient_fields.domain.esp import FieldCode, NameState

from ...service.selection import installed_profiles
from ..commands import Command
from ..options import json_option
from ..output import is_json, note, print_bytes, print_json, print_line, print_table
from ..targets import field_options, open_for_organization, open_target, target_options
from ..violations import setting_command


@click.command(cls=Command)
@field_options
@json_option
def show(id_or_key: str, organization: str) -> None:
    """Show all members of a field, and its codes at each integration."""
    with open_for_organization(organization) as (core, chosen):
        listed = core.content.list_codes(chosen.id, parse_reference(id_or_key))
    members = render_field(listed.field)
    if is_json():
        print_json({"recipient_field": members})
    else:
        print_table(("MEMBER", "VALUE"), [(name, _shown(each)) for name, each in members.items()])
        print_line("")
        print_codes(listed)


@click.command(cls=Command)
@field_options
@json_option
def codes(id_or_key: str, organization: str) -> None:
    """Show what a field is called at each integration, and its codes there.

    The other email service providers follow, with the names that the field would have there.
    """
    with open_for_organization(organization) as (core, chosen):
        listed = core.content.list_codes(chosen.id, parse_reference(id_or_key))
    if is_json():
        print_json(render_codes(listed))
    else:
        print_codes(listed)


def print_codes(listed: ListedCodes) -> None:
    """Print the table of the codes, and then what helps if a name is missing at its ESP."""
    names = {each.id: f"{each.id} {each.name}" for each in listed.integrations}
    print_table(
        (
            *("INTEGRATION", "ESP", "ESP NAME", "FROM", "STATE"),
            *("INSERTION CODE", "VALUE EXPRESSION", "REASON"),
        ),
        [
            (
                None if code.integration_id is None else names[code.integration_id],
                code.esp,
                *name_cells(code),
                code.insertion_code,
                code.value_expression,
                code.refusal,
            )
            for code in listed.codes
        ],
    )
    note_advice(listed.codes)
    for code in listed.codes:
        title = code.profile.title
        for prelude in code.preludes.values():
            note(f"{title} needs this code before the others: {prelude}")
        if must_be_created(code) and code.integration_id is not None and code.esp_name is not None:
            note(
                f"{code.esp_name.name} is missing at integration {names[code.integration_id]}."
                f" To create it: {code.explain_creation()}"
            )


def note_advice(codes: Iterable[FieldCode]) -> None:
    """Print what helps if a field has no name, or if the last sync found similar ones."""
    for code in codes:
        if code.esp_name is not None and code.similar_names:
            advice = code.describe()
        elif code.proposal is not None:
            advice = f"{code.field.key} has no name at integration {code.integration_id}."
        else:
            continue
        if code.proposal is not None:
            advice += f" {setting_command(code.proposal)}"
        elif code.integration_id != code.field.origin.integration_id:
            command = f"integrations names {code.integration_id} --set {code.field.key}=NAME"
            advice += f" To choose one: `{command}`."
        note(advice)


def name_cells(code: FieldCode) -> tuple[str | None, str | None, str | None]:
    """Return the name of the field, where it comes from, and its state."""
    source = None if code.name_from is None else code.name_from.value
    if code.esp_name is None:
        return None, source, None
    state = code.esp_name.state
    return code.esp_name.name, source, None if state is None else state.value


def _shown(value: object) -> str | None:
    return value if isinstance(value, str | None) else render_json(value).decode("utf-8")


def must_be_created(code: FieldCode) -> bool:
    """Return whether the ESP lists all its fields, and neither this one nor a similar one."""
    is_missing = code.esp_name is not None and code.esp_name.state is NameState.MISSING
    return is_missing and not code.similar_names


@click.command(cls=Command)
@target_options
@json_option
def export(organization: str | None, url: str | None) -> None:
    """Print the document that defines the API-managed fields, in YAML.

    `recipient-fields plan` and `recipient-fields apply` read it. The same fields always
    produce the same document. Without --url, it contains the names that are set at integrations.
    """
    with open_target(organization, url) as target:
        catalog = target.fields.list_fields(target.organization_id)
        document = render_field_document(catalog.fields, target.list_integrations())
    print_document(document)


def print_document(document: dict[str, object]) -> None:
    """Print a document of fields, in YAML or in JSON."""
    if is_json():
        print_json(document)
    else:
        # Imported here because only the commands for documents need PyYAML.
        from .files import render_yaml

        print_bytes(render_yaml(document).encode())


@click.command(cls=Command)
def schema() -> None:
    """Print the JSON Schema of the documents of fields, for editors."""
    print_line(json.dumps(field_document_schema(installed_profiles()), indent=2))
