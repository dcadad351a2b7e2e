"""The groups of a storage, for cases of contracts that every storage uses."""

from __future__ import annotations

from typing import NoReturn

import pytest

from recipient_fields.application import (
    ConsoleStorage,
    HistoryStorage,
    IntegrationStorage,
    Storage,
    StorageGroup,
)


def with_history(storage: Storage) -> HistoryStorage:
    """Return the storage. Skip the case if it has no history."""
    if not StorageGroup.HISTORY.is_in(storage) or not isinstance(storage, HistoryStorage):
        _skip(StorageGroup.HISTORY)
    return storage


def with_integrations(storage: Storage) -> IntegrationStorage:
    """Return the storage. Skip the case if it has no API keys and integrations."""
    if not isinstance(storage, IntegrationStorage):
        _skip(StorageGroup.INTEGRATIONS)
    return storage


def with_console_accounts(storage: Storage) -> ConsoleStorage:
    """Return the storage. Skip the case if it has no console accounts."""
    if not isinstance(storage, ConsoleStorage):
        _skip(StorageGroup.CONSOLE_ACCOUNTS)
    return storage


def require_repository(storage: Storage, name: str) -> None:
    """Skip the case if the storage does not have the group of the repository."""
    for group in StorageGroup:
        if name in group.repositories and not group.is_in(storage):
            _skip(group)


def _skip(group: StorageGroup) -> NoReturn:
    pytest.skip(f"The storage has no {group.value}.")
