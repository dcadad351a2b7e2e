"""Advice about the deployment that the log and commands share, as log formats."""

from __future__ import annotations

from recipient_fields.application import Storage, StorageGroup

SMALL_POOL = (
    "The storage has %d connections for %d threads, so requests can wait for a connection."
    " Add pool_size=%d to the storage URL, or lower --threads."
)
READABLE_FILE = (
    "Other users can read %s, which contains the hashes of API keys and passwords. Run:"
    " chmod o-rwx %s"
)
MISSING_CONSOLE_GROUP = (
    "The storage has no %s, which the console needs. Start the service without --console, or with"
    " another --storage, such as sqlite:PATH."
)

_OF_THE_CONSOLE = (StorageGroup.INTEGRATIONS, StorageGroup.CONSOLE_ACCOUNTS)


def find_missing_console_group(storage: Storage) -> StorageGroup | None:
    """Return the first group that the console needs and the storage does not have, or None."""
    return next((group for group in _OF_THE_CONSOLE if not group.is_in(storage)), None)
