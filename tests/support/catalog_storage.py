"""A storage that has no optional group, for tests of what requires one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from recipient_fields.application import (
    FieldRepository,
    HistoryRepository,
    OrganizationRepository,
    Snapshot,
    Storage,
    Transferable,
)


class CatalogStorage:
    """The organizations, fields and history of another storage."""

    def __init__(self, whole: Storage) -> None:
        self.organizations: OrganizationRepository = whole.organizations
        self.fields: FieldRepository = whole.fields
        self.history: HistoryRepository = whole.history
        self.check, self.close = whole.check, whole.close
        self._whole = whole

    def identity(self) -> Hashable:
        return self._transferable().identity()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with self._transferable().snapshot() as whole:
            yield Snapshot(
                organizations=whole.organizations, fields=whole.fields, history=whole.history
            )

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        self._transferable().store_snapshot(snapshot)

    def _transferable(self) -> Transferable:
        assert isinstance(self._whole, Transferable)
        return self._whole
