"""`recipient-fields migrate`."""

from __future__ import annotations

import click

from ...service.selection import migrate_storage
from ..command_group import Command
from ..options import option
from ..output import note


@click.command(cls=Command, changes_storage=True)
@option(
    "--distributed",
    is_flag=True,
    help="Also distribute the tables over the workers of Citus, by organization.",
)
@click.pass_obj
def migrate(storage: str, distributed: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Update the storage's schema."""
    migrate_storage(
        storage, distributed=distributed, on_applied=lambda name: note(f"Applied {name}.")
    )
    note("The storage is up to date.")
