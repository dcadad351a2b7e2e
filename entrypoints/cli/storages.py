"""Storages that are open for one command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from recipient_fields.application import Core

from ..service.selection import existing_storage, open_core


@contextmanager
def open_for_command(storage: str, **settings: Any) -> Iterator[Core]:
    """Open the storage for one command. `settings` are those of `open_core`."""
    core = open_core(storage, **settings)
    try:
        yield core
    finally:
        core.storage.close()


def open_existing(storage: str, **settings: Any) -> AbstractContextManager[Core]:
    """Open the storage for one command that does not create a missing SQLite file."""
    return open_for_command(existing_storage(storage), **settings)
