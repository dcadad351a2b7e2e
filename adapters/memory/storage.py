"""The storage in memory, for embedding, demonstrations and tests."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import RLock

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRepository,
    SessionRepository,
    Snapshot,
)
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    InvalidStorageUrl,
    StorageNotEmpty,
)

from .accounts import MemoryApiKeyRepository, MemoryOrganizationRepository, MemorySessionRepository
from .administrators import MemoryAdministratorRepository
from .fields import MemoryFieldRepository
from .history import MemoryHistoryRepository
from .integrations import MemoryIntegrationRepository
from .records import Organizations


def open_storage(url: str) -> MemoryStorage:
    """Return a new, empty storage for the URL `memory:`.

    Raises: InvalidStorageUrl if a path or an option follows.
    """
    if url != "memory:":
        raise InvalidStorageUrl("Invalid storage URL: write memory: without a path or options.")
    return MemoryStorage()


class MemoryStorage:
    """A Storage in the memory of this process. One lock makes every method one transaction."""

    def __init__(self) -> None:
        lock = self._lock = RLock()
        self._organizations = Organizations()
        self._fields = MemoryFieldRepository(lock, self._organizations)
        self._integrations = MemoryIntegrationRepository(lock, self._organizations, self._fields)
        self._api_keys = MemoryApiKeyRepository(lock, self._organizations, self._fields)
        accounts: dict[AdministratorId, Administrator] = {}
        sessions = MemorySessionRepository(lock, accounts)
        self._administrators = MemoryAdministratorRepository(
            lock, self._organizations, accounts, sessions.delete_all
        )
        self.organizations: OrganizationRepository = MemoryOrganizationRepository(
            lock,
            self._organizations,
            self._fields,
            self._integrations,
            self._api_keys,
            self._administrators,
        )
        self.fields: FieldRepository = self._fields
        self.history: HistoryRepository = MemoryHistoryRepository(lock, self._fields.catalog)
        self.integrations: IntegrationRepository = self._integrations
        self.api_keys: ApiKeyRepository = self._api_keys
        self.administrators: AdministratorRepository = self._administrators
        self.sessions: SessionRepository = sessions

    def check(self) -> None:
        """Do nothing: memory is always available."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def identity(self) -> Hashable:
        """Return this object, because nothing else shares its data."""
        return self

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield the records of this moment."""
        with self._lock:
            snapshot = Snapshot(
                organizations=self._organizations.records(self._fields.organization_record),
                integrations=self._integrations.records(),
                api_keys=self._api_keys.records(),
                fields=self._fields.records(),
                history=self._fields.history_records(),
                administrators=self._administrators.records(),
            )
        yield snapshot

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot, under the lock."""
        with self._lock:
            if self._organizations.all():
                raise StorageNotEmpty
            organizations = tuple(snapshot.organizations)
            integrations = tuple(snapshot.integrations)
            api_keys = tuple(snapshot.api_keys)
            fields, history = tuple(snapshot.fields), tuple(snapshot.history)
            administrators = tuple(snapshot.administrators)
            self._integrations.load(integrations, snapshot.integrations.last_id)
            self._api_keys.load(api_keys, snapshot.api_keys.last_id)
            self._administrators.load(administrators, snapshot.administrators.last_id)
            self._fields.load(organizations, fields, history, snapshot.fields.last_id)
            # Last, because everything else belongs to an organization: if an interrupt comes
            # before, the storage is still empty.
            self._organizations.load(organizations, snapshot.organizations.last_id)
