"""Storages without optional groups, for tests of what requires one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from recipient_fields.application import (
    ConsoleStorage,
    FieldRepository,
    IntegrationStorage,
    OrganizationRepository,
    Snapshot,
    Storage,
    Transferable,
)


class CatalogStorage:
    """The organizations and fields of another storage."""

    def __init__(self, whole: Storage) -> None:
        self.organizations: OrganizationRepository = whole.organizations
        self.fields: FieldRepository = whole.fields
        self.check, self.close = whole.check, whole.close
        self._whole = whole

    def identity(self) -> Hashable:
        return self._transferable().identity()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with self._transferable().snapshot() as whole:
            yield Snapshot(organizations=whole.organizations, fields=whole.fields)

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        self._transferable().store_snapshot(snapshot)

    def _transferable(self) -> Transferable:
        assert isinstance(self._whole, Transferable)
        return self._whole


class UnrecordedStorage(CatalogStorage):
    """Another storage without its history. An attribute that is None says so, too."""

    history: None = None

    def __init__(self, whole: Storage) -> None:
        super().__init__(whole)
        assert isinstance(whole, IntegrationStorage)
        assert isinstance(whole, ConsoleStorage)
        self.api_keys, self.integrations = whole.api_keys, whole.integrations
        self.esp_connections = whole.esp_connections
        self.administrators, self.sessions = whole.administrators, whole.sessions
