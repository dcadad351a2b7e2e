"""The storage in memory, for embedding, demonstrations and tests.

It has the repositories of organizations, API keys and integrations, and combines the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from threading import RLock
from typing import TypeVar

from attrs import define, evolve, fields_dict

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    CatalogPlanner,
    ConnectionPlanner,
    EspConnectionRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationCheck,
    IntegrationRepository,
    KeyChange,
    KeySuccession,
    NamePlanner,
    NamesPlanner,
    OrganizationCheck,
    OrganizationRepository,
    Records,
    SessionRepository,
    Snapshot,
    SyncPlanner,
)
from recipient_fields.domain import (
    Administrator,
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    Author,
    Catalog,
    CatalogChanges,
    DigestTaken,
    FoundKey,
    IntegrationId,
    InvalidStorageUrl,
    KeyGrant,
    Organization,
    OrganizationContents,
    OrganizationId,
    RecipientField,
    StorageNotEmpty,
    list_size,
    parse_organization_name,
)
from recipient_fields.domain.integrations import (
    EspConnection,
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    NamesQuery,
    SyncPlan,
)

from .administrators import MemoryAdministratorRepository
from .catalogs import Catalogs
from .fields import MemoryFieldRepository
from .history import MemoryHistoryRepository
from .records import OwnedTable, Table
from .sessions import MemorySessionRepository

T = TypeVar("T")


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
        catalogs = self._catalogs = Catalogs()
        self._keys = KeyTable()
        self._integrations = IntegrationTable()
        self._accounts = Table[Administrator]()
        sessions = MemorySessionRepository(lock, self._accounts)
        administrators = MemoryAdministratorRepository(
            lock, catalogs, self._accounts, sessions.delete_all
        )
        self.organizations: OrganizationRepository = MemoryOrganizationRepository(
            lock, catalogs, self._keys, self._integrations, administrators
        )
        self.fields: FieldRepository = MemoryFieldRepository(lock, catalogs)
        self.history: HistoryRepository = MemoryHistoryRepository(lock, catalogs)
        self.integrations: IntegrationRepository = MemoryIntegrationRepository(
            lock, catalogs, self._integrations
        )
        self.esp_connections: EspConnectionRepository = MemoryEspConnectionRepository(
            lock, self._integrations
        )
        self.api_keys: ApiKeyRepository = MemoryApiKeyRepository(lock, catalogs, self._keys)
        self.administrators: AdministratorRepository = administrators
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
                organizations=self._catalogs.organizations(),
                integrations=self._integrations.records(),
                api_keys=self._keys.records(),
                fields=self._catalogs.fields(),
                history=self._catalogs.history(),
                administrators=self._accounts.records(),
                esp_connections=self._integrations.connections.records(),
            )
        yield snapshot

    def store_snapshot(self, snapshot: Snapshot, /) -> None:
        """Store everything in the snapshot, under the lock."""
        with self._lock:
            if self._catalogs.by_organization:
                raise StorageNotEmpty
            # Everything is read before anything is stored.
            read = Snapshot(**{kind: _read(getattr(snapshot, kind)) for kind in _KINDS})
            self._integrations.load(read.integrations)
            self._integrations.connections.load(read.esp_connections)
            self._keys.load(read.api_keys)
            self._accounts.load(read.administrators)
            # Last, because everything else belongs to an organization: if an interrupt comes
            # before, the storage is still empty.
            self._catalogs.load(read)


_KINDS = tuple(fields_dict(Snapshot))


def _read(records: Records[T]) -> Records[T]:
    return Records(records.count, records.last_id, tuple(records))


@define(slots=False, eq=False)
class MemoryOrganizationRepository(OrganizationRepository):
    """The organizations in memory. Deleting one deletes what it has in the other tables."""

    _lock: RLock
    _catalogs: Catalogs
    _keys: KeyTable
    _integrations: OwnedTable[Integration]
    _administrators: MemoryAdministratorRepository

    def all(self) -> tuple[Organization, ...]:
        with self._lock:
            return tuple(each.organization for each in self._catalogs.by_organization.values())

    def get(self, organization_id: OrganizationId, /) -> Organization:
        with self._lock:
            return self._catalogs.get(organization_id).organization

    def add(self, name: str, created_at: datetime, /) -> Organization:
        with self._lock:
            return self._catalogs.add(name, created_at)

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        parsed = parse_organization_name(name)
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            catalog.organization = evolve(catalog.organization, name=parsed)
            return catalog.organization

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        with self._lock:
            contents = OrganizationContents(
                fields=len(self._catalogs.get(organization_id).all().fields),
                api_keys=len(self._keys.of(organization_id)),
                integrations=len(self._integrations.of(organization_id)),
                administrators=len(self._administrators.all(organization_id)),
            )
            check(contents)
            for owned in (self._keys, self._integrations, self._administrators):
                owned.delete_of(organization_id)
            del self._catalogs.by_organization[organization_id]
            return contents


class KeyTable(OwnedTable[ApiKey]):
    """The API keys, also by digest."""

    def __init__(self) -> None:
        super().__init__(ApiKeyNotFound)
        self.ids_by_digest: dict[bytes, int] = {}

    def put(self, record: ApiKey) -> ApiKey:
        """Store a new or changed key, and return it."""
        self.ids_by_digest[record.digest] = record.id
        return super().put(record)

    def delete(self, record: ApiKey) -> None:
        """Delete the key."""
        del self.ids_by_digest[record.digest]
        super().delete(record)


@define(slots=False, eq=False)
class MemoryApiKeyRepository(ApiKeyRepository):
    """The API keys in memory."""

    _lock: RLock
    _catalogs: Catalogs
    _keys: KeyTable

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        with self._lock:
            self._catalogs.get(organization_id)
            return self._keys.of(organization_id)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        with self._lock:
            return self._keys.get(organization_id, key_id)

    def find(self, digest: bytes, /) -> FoundKey | None:
        with self._lock:
            key_id = self._keys.ids_by_digest.get(digest)
            if key_id is None:
                return None
            key = self._keys.rows[key_id]
            catalog = self._catalogs.get(key.organization_id)
            return key.to_found_key(catalog.revision, list_size(catalog.fields_size()))

    def add(self, grant: KeyGrant, /) -> ApiKey:
        with self._lock:
            self._catalogs.get(grant.organization_id)
            if grant.digest in self._keys.ids_by_digest:
                raise DigestTaken
            return self._keys.put(grant.with_id(ApiKeyId(self._keys.assign_id())))

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        with self._lock:
            key = self._keys.get(organization_id, key_id)
            return self._keys.put(key.with_validity_of(change(key)))

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        with self._lock:
            key = self._keys.get(organization_id, key_id)
            changed, grant = succession(key)
            replaced = key.with_validity_of(changed)
            successor = self.add(grant)
            return self._keys.put(replaced), successor

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        with self._lock, suppress(ApiKeyNotFound):
            key = self._keys.get(organization_id, key_id)
            if key.last_used_at is None or key.last_used_at < at:
                self._keys.put(evolve(key, last_used_at=at))


class IntegrationTable(OwnedTable[Integration]):
    """The integrations, with their connections."""

    def __init__(self) -> None:
        super().__init__(IntegrationNotFound)
        self.connections: OwnedTable[EspConnection] = OwnedTable(IntegrationNotFound)

    def delete(self, record: Integration) -> None:
        """Delete the integration and its connection."""
        self.connections.rows.pop(record.id, None)
        super().delete(record)


@define(slots=False, eq=False)
class MemoryEspConnectionRepository(EspConnectionRepository):
    """The connections of the integrations in memory."""

    _lock: RLock
    _integrations: IntegrationTable

    def all(self) -> tuple[EspConnection, ...]:
        with self._lock:
            rows = self._integrations.connections.rows.values()
            return tuple(sorted(rows, key=lambda each: (each.organization_id, each.id)))

    def get(
        self, organization_id: OrganizationId, integration_id: IntegrationId, /
    ) -> EspConnection:
        with self._lock:
            self._integrations.get(organization_id, integration_id)
            stored = self._integrations.connections.rows.get(integration_id)
            return stored or EspConnection(id=integration_id, organization_id=organization_id)

    def change(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        plan: ConnectionPlanner,
        /,
    ) -> EspConnection:
        with self._lock:
            stored = self.get(organization_id, integration_id)
            return self._integrations.connections.put(plan(stored))


@define(slots=False, eq=False)
class MemoryIntegrationRepository(IntegrationRepository):
    """The integrations in memory. A change of one is a change of its organization's catalog."""

    _lock: RLock
    _catalogs: Catalogs
    _integrations: OwnedTable[Integration]

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        with self._lock:
            self._catalogs.get(organization_id)
            return self._integrations.of(organization_id)

    def read_catalog(
        self, organization_id: OrganizationId, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        with self._lock:
            catalog = self._catalogs.get(organization_id).all()
            return catalog, self._integrations.of(organization_id)

    def select(
        self, organization_id: OrganizationId, query: NamesQuery, /
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        return query.select(*self.read_catalog(organization_id))

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        catalog, _ = self.read_catalog(organization_id)
        ids = (field.origin.integration_id for field in catalog.fields)
        return Counter(each for each in ids if each is not None)

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        with self._lock:
            return self._integrations.get(organization_id, integration_id)

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            integration_id = IntegrationId(self._integrations.assign_id())
            integration = self._integrations.put(draft.with_id(integration_id, organization_id))
            catalog.advance()
            return integration

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        with self._lock:
            integration = self._integrations.get(organization_id, integration_id)
            return self._replace(integration, integration.renamed(name))

    def change_names(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: NamePlanner,
        /,
    ) -> Integration:
        with self._lock:
            integration = self._integrations.get(organization_id, integration_id)
            planned = planner(integration, self._catalogs.get(organization_id).all().fields)
            return self._replace(integration, evolve(integration, names=planned.names))

    def change_with_names(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        name: NamesPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            stored = {each.id: each for each in self._integrations.of(organization_id)}
            applied = catalog.with_ids(plan(catalog))
            named = name(tuple(stored.values()), applied.apply_to(catalog.all().fields))
            names = [(stored[each.id], each.names) for each in named]  # This may still raise.
            catalog.store_applied(applied, author=author, at=at)
            for integration, changed in names:
                self._replace(integration, evolve(integration, names=changed))
            return applied

    def delete(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        check: IntegrationCheck,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> tuple[RecipientField, ...]:
        with self._lock:
            integration = self._integrations.get(organization_id, integration_id)
            catalog = self._catalogs.get(organization_id)
            fields = integration.filter_fields(catalog.all().fields)
            check(fields)
            catalog.store(CatalogChanges.of(deleted=fields), author=author, at=at)
            self._integrations.delete(integration)
            catalog.advance()
            return fields

    def sync(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        planner: SyncPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> SyncPlan:
        with self._lock:
            integration = self._integrations.get(organization_id, integration_id)
            catalog = self._catalogs.get(organization_id)
            integrations = self._integrations.of(organization_id)
            plan = planner(integration, catalog.all().fields, integrations)
            catalog.store(plan.changes, author=author, at=at)
            synced = evolve(
                integration,
                last_synced_at=plan.integration.last_synced_at,
                refused_names=plan.integration.refused_names,
            )
            self._integrations.put(synced)
            if plan.changes_catalog:
                catalog.advance()
            return plan

    def _replace(self, integration: Integration, changed: Integration) -> Integration:
        """Store and return the changed integration, under the lock."""
        if changed != integration:
            self._integrations.put(changed)
            self._catalogs.get(integration.organization_id).advance()
        return changed
