"""`recipient-fields copy`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from time import monotonic

import click

from recipient_fields.application import (
    CopyFailed,
    Storage,
    StorageRole,
    copy_storage,
)
from recipient_fields.application.wording import counted
from recipient_fields.domain import RecipientFieldsError, StorageNotFound

from ...service.selection import existing_storage, open_new_storage, open_storage, shown_storage
from ..command_group import Command
from ..options import option
from ..output import note, one_line

_PROGRESS_INTERVAL = 2.0


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
    invitations of administrators are not copied either.
    """
    began = monotonic()
    with (
        _open("source", lambda: open_storage(existing_storage(storage))) as source,
        _open("target", lambda: open_new_storage(to)) as target,
    ):
        note(one_line(f"Copying {shown_storage(storage)} to {shown_storage(to)}."))
        copied = copy_storage(source, target, on_progress=_Progress())
    note(
        f"Copied {counted(copied.organizations, 'organization')},"
        f" {counted(copied.integrations, 'integration')}, {counted(copied.api_keys, 'API key')},"
        f" {counted(copied.fields, 'field')}, {counted(copied.history, 'change')} of fields"
        f" and {counted(copied.administrators, 'administrator')} in {monotonic() - began:.1f} s."
    )


class _Progress:
    """A callback that prints at most one line every two seconds."""

    def __init__(self) -> None:
        self._next = monotonic() + _PROGRESS_INTERVAL

    def __call__(self, kind: str, number: int, count: int) -> None:
        if monotonic() >= self._next:
            note(f"Copying {kind}: {number:,} of {count:,}.")
            self._next = monotonic() + _PROGRESS_INTERVAL


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
