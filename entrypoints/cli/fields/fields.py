"""`recipient-fields fields`: the fields of an organization."""

from __future__ import annotations

import click

from ..commands import CommandGroup, LazyCommand


@click.group(
    cls=CommandGroup,
    commands=(
        LazyCommand("list", ".fields.listing:list_", "List the fields of all sources."),
        LazyCommand(
            "show",
            ".fields.codes:show",
            "Show all members of a field, and its codes at each integration.",
        ),
        LazyCommand("create", ".fields.manual:create", "Create a manual field."),
        LazyCommand(
            "update",
            ".fields.manual:update",
            "Change a manual field. If you omit an option, its member stays the same.",
        ),
        LazyCommand("delete", ".fields.manual:delete", "Delete a manual field."),
        LazyCommand(
            "restore",
            ".fields.manual:restore",
            "Restore a deleted manual field, or a field that a sync has removed, with its id.",
        ),
        LazyCommand(
            "check",
            ".fields.listing:check",
            "List insertion codes that look wrong. The command changes nothing.",
        ),
        LazyCommand(
            "codes",
            ".fields.codes:codes",
            "Show what a field is called at each integration, and its codes there.",
        ),
        LazyCommand(
            "export",
            ".fields.codes:export",
            "Print the document that defines the API-managed fields, in YAML.",
        ),
        LazyCommand(
            "schema",
            ".fields.codes:schema",
            "Print the JSON Schema of the documents of fields, for editors.",
        ),
        LazyCommand(
            "uses",
            ".repository.commands:uses",
            "List the files and lines that use each field.",
        ),
        LazyCommand(
            "snapshot",
            ".repository.commands:snapshot",
            "Write the fields of all sources and their names at each integration to a file.",
        ),
    ),
)
def fields() -> None:
    """List and show an organization's fields; create, update, delete and restore manual ones."""
