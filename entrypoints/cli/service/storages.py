"""`recipient-fields backup`, `copy` and `migrate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import click

from recipient_fields.application import CopyFailed, Storage, StorageRole, copy_storage
from recipient_fields.application.environment import SECRETS_KEY
from recipient_fields.application.wording import counted
from recipient_fields.domain import RecipientFieldsError, StorageNotFound

from ...service.selection import (
    back_up_storage,
    existing_storage,
    migrate_storage,
    open_cipher,
    open_new_storage,
    open_storage,
    shown_storage,
)
from ..commands import Command
from ..options import flag, option
from ..output import Progress, note, one_line


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


@click.command(cls=Command)
@option(
    "--to",
    required=True,
    is_secret=True,
    metavar="URL",
    help="The empty storage to copy to: postgresql://… or sqlite:PATH.",
)
@click.pass_obj
def copy(storage: str, to: str) -> None:
    """Copy everything from the storage to another, empty one.

    Ids, revisions and times stay the same. If the copy fails, the target stays empty. Stop the
    services on both storages first: changes during the copy are not copied. Sessions, links and
    invitations of administrators are not copied either. Credentials of integrations are copied if
    RECIPIENT_FIELDS_SECRETS_KEY has the keys of both storages, that of the target first.
    """
    began = monotonic()
    with (
        _open("source", lambda: open_storage(existing_storage(storage))) as source,
        _open("target", lambda: open_new_storage(to)) as target,
    ):
        note(one_line(f"Copying {shown_storage(storage)} to {shown_storage(to)}."))
        copied = copy_storage(
            source,
            target,
            on_progress=partial(note_copied, Progress()),
            cipher=open_cipher(os.environ),
        )
    note(
        f"Copied {counted(copied.organizations, 'organization')},"
        f" {counted(copied.integrations, 'integration')}, {counted(copied.api_keys, 'API key')},"
        f" {counted(copied.fields, 'field')}, {counted(copied.history, 'change')} of fields"
        f" and {counted(copied.administrators, 'administrator')} in {monotonic() - began:.1f} s."
    )
    if copied.omitted_credentials:
        note(
            f"Omitted the credentials of {counted(copied.omitted_credentials, 'integration')}:"
            f" {SECRETS_KEY} has no key that decrypts them. Connect these integrations again."
        )


def note_copied(progress: Progress, kind: str, number: int, count: int) -> None:
    """Print how many records of this kind are copied."""
    progress.note(f"Copying {kind}: {number:,} of {count:,}.")


@contextmanager
def _open(role: StorageRole, opener: Callable[[], Storage]) -> Iterator[Storage]:
    try:
        storage = opener()
    except StorageNotFound as error:
        raise CopyFailed(role, f"{error} Check the path.") from error
    except RecipientFieldsError as error:
        raise CopyFailed(role, error) from error
    with closing(storage):
        yield storage


@click.command(cls=Command, changes_storage=True, creates_storage=True)
@flag(
    "--distributed", text="Also distribute the tables over the workers of Citus, by organization."
)
@click.pass_obj
def migrate(storage: str, distributed: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Update the storage's schema."""
    migrate_storage(
        storage, distributed=distributed, on_applied=lambda name: note(f"Applied {name}.")
    )
    note("The storage is up to date.")
