"""`recipient-fields backup`."""

from __future__ import annotations

from pathlib import Path

import click

from ...service.selection import back_up_storage
from ..command_group import Command
from ..output import note


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def backup(storage: str, file: Path) -> None:
    """Write a copy of the SQLite storage to FILE.

    A service can use the storage during the backup. FILE must not exist. The command creates it
    when the copy is complete.
    """
    back_up_storage(storage, file)
    note(f"Wrote {file}: {file.stat().st_size:,} bytes.")
