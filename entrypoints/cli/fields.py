"""`recipient-fields fields`: what administrators do with fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from recipient_fields.application import field_document
from recipient_fields.domain import (
    ADMINISTRATOR,
    UNCHANGED,
    AllowedValues,
    DataType,
    FieldChanges,
    FieldDraft,
    InvalidField,
    OrganizationId,
    RecipientField,
    Unchanged,
    Violations,
)
from recipient_fields.domain.esp import SnippetWarning, field_warnings

from ..references import parse_reference
from ..rendering import render_fields
from .options import (
    JsonArray,
    data_type_option,
    existing,
    json_option,
    option,
    organization_option,
)
from .output import note, print_json, print_table

_CLEARABLE = {
    "allowed-values": "allowed_values",
    "insertion-code": "custom_insertion_code",
    "value-expression": "custom_value_expression",
}
"""What can be emptied, by the names of the options that fill it."""

_ALLOWED_VALUES = "A JSON array of the permitted values; null permits all."
_insertion_code_option = option(
    "--insertion-code", help="The whole snippet that replaces the field in exported content."
)
_value_expression_option = option(
    "--value-expression", help="The expression evaluated in segment logic."
)


@click.group()
def fields() -> None:
    """List an organization's fields; create, update and delete manual ones."""


@fields.command("list")
@organization_option
@json_option
@click.pass_obj
def list_(storage: str, organization: int, *, as_json: bool) -> None:
    """List every field, whatever its source."""
    with existing(storage) as core:
        catalog = core.fields.list_fields(OrganizationId(organization))
    if as_json:
        print_json(render_fields(catalog.fields))
    else:
        print_table(
            ("ID", "KEY", "NAME", "TYPE", "SOURCE"),
            [
                (field.id, field.key, field.name, field.data_type.value, field.origin.source.value)
                for field in catalog.fields
            ],
        )


@fields.command()
@organization_option
@option("--name", required=True, help="What people call the field.")
@data_type_option(required=True)
@option("--key", help="What machines call it. Derived from the name unless given.")
@option("--allowed-values", type=JsonArray(), help=_ALLOWED_VALUES)
@option("--not-insertable", is_flag=True, help="The field can't be inserted into content.")
@_insertion_code_option
@_value_expression_option
@json_option
@click.pass_obj
def create(
    storage: str,
    organization: int,
    name: str,
    data_type: DataType,
    key: str | None,
    allowed_values: list[object] | None,
    insertion_code: str | None,
    value_expression: str | None,
    *,
    not_insertable: bool,
    as_json: bool,
) -> None:
    """Create a manual field."""
    draft = _draft(
        name=name,
        data_type=data_type,
        key=key,
        allowed_values=allowed_values,
        insertable=not not_insertable,
        custom_insertion_code=insertion_code,
        custom_value_expression=value_expression,
    )
    with existing(storage) as core:
        manual = core.fields.through(ADMINISTRATOR)
        field = manual.create_field(OrganizationId(organization), draft)
    _show(field, "Created", as_json=as_json)


@fields.command()
@click.argument("id_or_key")
@organization_option
@option("--name", help="What people call the field.")
@option("--allowed-values", type=JsonArray(), default=UNCHANGED, help=_ALLOWED_VALUES)
@option("--insertable/--not-insertable", default=None, help="Can it be inserted into content?")
@_insertion_code_option
@_value_expression_option
@option(
    "--clear",
    type=click.Choice(list(_CLEARABLE)),
    multiple=True,
    help="Empty this; can be given more than once.",
)
@json_option
@click.pass_obj
def update(
    storage: str,
    id_or_key: str,
    organization: int,
    name: str | None,
    allowed_values: list[object] | Unchanged | None,
    insertion_code: str | None,
    value_expression: str | None,
    clear: Sequence[str],
    *,
    insertable: bool | None,
    as_json: bool,
) -> None:
    """Change a manual field. What is not given stays."""
    given = {
        "name": name,
        "insertable": insertable,
        "custom_insertion_code": insertion_code,
        "custom_value_expression": value_expression,
    }
    changes: dict[str, Any] = {m: value for m, value in given.items() if value is not None}
    if allowed_values is not UNCHANGED:
        changes["allowed_values"] = allowed_values
    for emptied in clear:
        if changes.setdefault(_CLEARABLE[emptied], None) is not None:
            raise click.UsageError(f"Give --{emptied} or --clear {emptied}, not both.")
    if not changes:
        raise click.UsageError("Say what to change: give at least one option.")
    with existing(storage) as core:
        field = core.fields.through(ADMINISTRATOR).update_field(
            OrganizationId(organization), parse_reference(id_or_key), FieldChanges(**changes)
        )
    _show(field, "Updated", as_json=as_json)


@fields.command()
@click.argument("id_or_key")
@organization_option
@option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.pass_obj
def delete(storage: str, id_or_key: str, organization: int, *, yes: bool) -> None:
    """Delete a manual field."""
    reference = parse_reference(id_or_key)
    with existing(storage) as core:
        manual = core.fields.through(ADMINISTRATOR)
        field = manual.get_field(OrganizationId(organization), reference)
        field.require_deletable(by=ADMINISTRATOR)
        if not yes:
            click.confirm(f"Delete {field.key}, {field.name}?", abort=True, err=True)
        manual.delete_field(OrganizationId(organization), field.id)
    note(f"Deleted field {field.id}, {field.name}.")


@fields.command()
@organization_option
@json_option
@click.pass_obj
def check(storage: str, organization: int, *, as_json: bool) -> None:
    """Point out insertion codes that look wrong. Nothing is changed or refused."""
    with existing(storage) as core:
        catalog = core.fields.list_fields(OrganizationId(organization))
    doubts = [(field, warning) for field in catalog.fields for warning in field_warnings(field)]
    if as_json:
        print_json({"warnings": [_render_doubt(field, warning) for field, warning in doubts]})
    else:
        print_table(
            ("ID", "KEY", "WARNING"),
            [(field.id, field.key, warning.value) for field, warning in doubts],
        )


def _render_doubt(field: RecipientField, warning: SnippetWarning) -> dict[str, object]:
    return {
        "id": field.id,
        "key": field.key,
        "code": warning.name.lower(),
        "message": warning.value,
    }


def _draft(
    *, data_type: DataType, allowed_values: list[object] | None, **members: Any
) -> FieldDraft:
    violations = Violations()
    permitted = None
    with violations.under("allowed_values"):
        permitted = None if allowed_values is None else AllowedValues(data_type, allowed_values)
    if violations:
        raise InvalidField(violations)
    given = {member: value for member, value in members.items() if value is not None}
    return FieldDraft(data_type=data_type, allowed_values=permitted, **given)


def _show(field: RecipientField, verb: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"recipient_field": field_document(field)})
    else:
        note(f"{verb} field {field.id}, {field.name}, with the key {field.key}.")
    for warning in field_warnings(field):
        note(f"Warning: {warning.value}")
