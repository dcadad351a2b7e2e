"""`recipient-fields fields create`, `update`, `delete` and `restore`: the manual fields."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from recipient_fields.application import OPERATOR_AUTHOR
from recipient_fields.application.fields.documents import render_field
from recipient_fields.application.fields.inputs import parse_draft
from recipient_fields.application.fields.texts import parse_reference, parse_value
from recipient_fields.application.restoration import restore_field
from recipient_fields.domain import (
    ADMINISTRATOR,
    FIELD_MEMBERS,
    NULLABLE_TEXTS,
    UNCHANGED,
    DataType,
    FieldChanges,
    FieldId,
    FieldKey,
    FieldNotFound,
    KeyTaken,
    Mutability,
    RecipientField,
    Unchanged,
)
from recipient_fields.domain.esp import field_warnings
from recipient_fields.domain.integrations import EspNames, IntegrationNotFound

from ...service.selection import installed_profiles
from ..commands import Command
from ..options import (
    confirm,
    confirm_at_terminal,
    flag,
    json_option,
    option,
    repeatable,
    setting_option,
    yes_option,
)
from ..output import note, print_or_note
from ..repository.breaks import ContentGuard, content_options
from ..targets import field_options, open_for_organization, organization_option
from ..typed_options import IDENTIFIER, VALUE_LIST, data_type_option

T = TypeVar("T")

_CLEARABLE = {
    each.name.removeprefix("custom_").replace("_", "-"): each
    for each in FIELD_MEMBERS
    if each.nullable and each.mutability is Mutability.WRITABLE
}
"""The members that can be null, by the names of their options."""

_ALLOWED_VALUES = "The allowed values: red,green or a JSON array. null allows every value."


def _text_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add an option for each text that can be null. Its value has the name of the member."""
    for name, member in reversed(_CLEARABLE.items()):
        if member.name in NULLABLE_TEXTS:
            command = option(f"--{name}", member.name, help=member.description)(command)
    return command


@click.command(cls=Command, changes_storage=True, params=[setting_option("catalog_size")])
@organization_option
@option("--name", required=True, help="The field's display name.")
@data_type_option(required=True)
@option(
    "--key", help="The field's key, which never changes. By default, it is derived from the name."
)
@option("--allowed-values", type=VALUE_LIST, help=_ALLOWED_VALUES)
@flag("--not-insertable", text="The field can't be inserted into content.")
@_text_options
@yes_option
@json_option
def create(
    organization: str,
    catalog_size: int,
    name: str,
    data_type: DataType,
    key: str | None,
    allowed_values: list[object] | str | None,
    *,
    not_insertable: bool,
    yes: bool,
    **texts: str | None,
) -> None:
    """Create a manual field.

    Without --key, the command prints the key that it derives from the name, on standard error,
    before it creates the field. On a terminal, it then prompts for confirmation.
    """
    members = {
        "name": name,
        "data_type": data_type.value,
        "key": key,
        "allowed_values": _values(allowed_values, data_type),
        "insertable": not not_insertable,
        **texts,
    }
    draft = parse_draft({each: value for each, value in members.items() if value is not None})
    with open_for_organization(organization, catalog_size=catalog_size) as (core, chosen):
        if key is None:
            _show_derived_key(draft.key, prompt=not yes)
        try:
            field = core.fields.by(OPERATOR_AUTHOR).create_field(chosen.id, draft)
        except KeyTaken as taken:
            raise core.content.explain_taken_key(chosen.id, taken) from None
    _show(field, "Created")


@click.command(cls=Command, changes_storage=True, params=[setting_option("catalog_size")])
@field_options
@option("--name", help="The field's display name.")
@option(
    "--allowed-values", type=VALUE_LIST, default=UNCHANGED, show_default=False, help=_ALLOWED_VALUES
)
@option(
    "--insertable/--not-insertable",
    default=None,
    help="Whether the field can be inserted into content.",
)
@_text_options
@repeatable("--clear", type=click.Choice(list(_CLEARABLE)), text="Set this member to null.")
@json_option
def update(
    id_or_key: str,
    organization: str,
    catalog_size: int,
    name: str | None,
    allowed_values: list[object] | str | Unchanged | None,
    clear: Sequence[str],
    *,
    insertable: bool | None,
    **texts: str | None,
) -> None:
    """Change a manual field. If you omit an option, its member stays the same."""
    members = {"name": name, "insertable": insertable, **texts}
    changes: dict[str, Any] = {m: value for m, value in members.items() if value is not None}
    if not isinstance(allowed_values, Unchanged):
        changes["allowed_values"] = allowed_values
    for emptied in clear:
        if changes.setdefault(_CLEARABLE[emptied].name, None) is not None:
            raise click.UsageError(f"Use either --{emptied} or --clear {emptied}.")
    if not changes:
        raise click.UsageError("Nothing to change: use at least one of the options.")
    with open_for_organization(organization, catalog_size=catalog_size) as (core, chosen):
        manual = core.fields.by(OPERATOR_AUTHOR)
        reference = parse_reference(id_or_key)
        if isinstance(allowed_values, str):
            field = manual.get_field(chosen.id, reference)
            changes["allowed_values"] = _values(allowed_values, field.data_type)
            reference = field.id
        field = manual.update_field(chosen.id, reference, FieldChanges(**changes))
    _show(field, "Updated")


@click.command(cls=Command, changes_storage=True)
@field_options
@content_options
@yes_option
def delete(
    id_or_key: str,
    organization: str,
    content: Sequence[str],
    broken: Sequence[FieldKey],
    *,
    yes: bool,
) -> None:
    """Delete a manual field."""
    reference = parse_reference(id_or_key)
    with open_for_organization(organization) as (core, chosen):
        manual = core.fields.by(OPERATOR_AUTHOR)
        field = manual.get_field(chosen.id, reference)
        field.require_deletable(by=ADMINISTRATOR)
        ContentGuard(content, broken).require_unbroken(
            lambda: core.content.read_names(chosen.id)[0],
            lambda names: EspNames(
                (each for each in names.fields if each.id != field.id),
                names.integrations.values(),
                names.profiles,
            ),
        )
        if not yes:
            confirm(
                f"Delete field {field.id}, {field.name}, with the key {field.key},"
                f" of organization {chosen.id}, {chosen.name}?"
            )
        manual.delete_field(chosen.id, field.id)
    note(f"Deleted field {field.id}, {field.name}.")


@click.command(cls=Command, changes_storage=True, params=[setting_option("catalog_size")])
@click.argument("field_id", metavar="ID", type=IDENTIFIER)
@organization_option
@json_option
def restore(field_id: int, organization: str, catalog_size: int) -> None:
    """Restore a deleted manual field, or a field that a sync has removed, with its id.

    `history list --operation deleted` shows the ids. No other field may have its key. The next
    sync removes a synced field again if the ESP still does not report it.
    """
    with open_for_organization(organization, catalog_size=catalog_size) as (core, chosen):
        try:
            field = restore_field(core, chosen.id, FieldId(field_id), by=OPERATOR_AUTHOR)
        except FieldNotFound:
            raise click.ClickException(
                f"No deleted field of this organization has the id {field_id}. To see the ids:"
                f" recipient-fields history list --operation deleted --organization {chosen.id}"
            ) from None
        except IntegrationNotFound as error:  # It was deleted, so that no command lists it.
            raise click.ClickException(str(error)) from None
    _show(field, "Restored")


def _values(passed: list[object] | str | None, data_type: DataType) -> list[object] | None:
    """Return a list as it is, and the parts of a comma-separated text as values of the type."""
    if not isinstance(passed, str):
        return passed
    return [parse_value(part.strip(), data_type) for part in passed.split(",")]


def _show_derived_key(key: FieldKey, *, prompt: bool) -> None:
    note(f"The key will be {key}. It can't be changed later; use --key to choose another.")
    if prompt and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        confirm_at_terminal("Create the field?", default=True)


def _show(field: RecipientField, verb: str) -> None:
    print_or_note(
        {"recipient_field": render_field(field)},
        f"{verb} field {field.id}, {field.name}, with the key {field.key}.",
    )
    for warning in field_warnings(field, installed_profiles()):
        note(f"Warning: {warning.value}")
