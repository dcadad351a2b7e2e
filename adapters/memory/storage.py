"""The storage in memory, for embedding, demonstrations and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from threading import RLock

from attrs import evolve

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    CatalogPlanner,
    FieldChange,
    FieldCheck,
    FieldRepository,
    HistoryRepository,
    IntegrationCheck,
    IntegrationRepository,
    KeyChange,
    KeySuccession,
    OrganizationCheck,
    OrganizationRecord,
    OrganizationRepository,
    PublishedCatalog,
    Records,
    SessionRepository,
    Snapshot,
    SyncPlanner,
    published,
)
from recipient_fields.domain import (
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    DigestTaken,
    FieldDefinition,
    FieldId,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    FoundKey,
    HistoryRecord,
    IntegrationId,
    InvalidStorageUrl,
    KeyGrant,
    Organization,
    OrganizationContents,
    OrganizationId,
    RecipientField,
    RecordedChange,
    RecordedOperation,
    StorageNotEmpty,
    parse_organization_name,
)
from recipient_fields.domain.esp import (
    Integration,
    IntegrationDraft,
    IntegrationNotFound,
    SyncPlan,
)

from .administrators import MemoryAdministratorRepository, MemorySessionRepository
from .catalogs import StoredCatalog
from .history import MemoryHistoryRepository
from .records import Ids, Organizations


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
        self._administrators = MemoryAdministratorRepository(lock, self._organizations)
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
        self.sessions: SessionRepository = MemorySessionRepository(lock, self._administrators)

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


class MemoryFieldRepository(FieldRepository):
    """The fields in memory, one catalog per organization."""

    def __init__(self, lock: RLock, organizations: Organizations) -> None:
        self._lock = lock
        self._organizations = organizations
        self._ids = Ids()
        self._catalogs: dict[OrganizationId, StoredCatalog] = {}

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        with self._lock:
            return self.catalog(organization_id).to_catalog()

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        return published(self.all(organization_id))

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        return query.select(self.all(organization_id))

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        with self._lock:
            return self._find(organization_id, reference)[1]

    def add(
        self,
        organization_id: OrganizationId,
        definition: FieldDefinition,
        /,
        *,
        limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        with self._lock:
            catalog = self.catalog(organization_id)
            catalog.to_catalog().require_addable(definition, limit=limit)
            field = self._with_new_id(definition, organization_id)
            created = RecordedChange(RecordedOperation.CREATED, None, field)
            catalog.apply([created], author=author, at=field.created_at)
            return field

    def update(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        change: FieldChange,
        /,
        *,
        author: Author,
    ) -> RecipientField:
        with self._lock:
            catalog, field = self._find(organization_id, reference)
            changed = change(field)
            if changed != field:
                updated = RecordedChange(RecordedOperation.UPDATED, field, changed)
                catalog.apply([updated], author=author, at=changed.updated_at)
            return changed

    def delete(
        self,
        organization_id: OrganizationId,
        reference: FieldReference,
        check: FieldCheck,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> None:
        with self._lock:
            catalog, field = self._find(organization_id, reference)
            check(field)
            deleted = RecordedChange(RecordedOperation.DELETED, field, None)
            catalog.apply([deleted], author=author, at=at)

    def restore(
        self,
        organization_id: OrganizationId,
        field_id: FieldId,
        restoration: FieldChange,
        /,
        *,
        limit: int | None = None,
        author: Author,
    ) -> RecipientField:
        with self._lock:
            catalog = self._catalogs.get(organization_id)
            if catalog is None:
                raise FieldNotFound
            field = catalog.find(field_id) or catalog.find_deleted(field_id)
            if field is None:
                raise FieldNotFound
            restored = restoration(field)
            catalog.to_catalog().require_addable(restored, limit=limit)
            change = RecordedChange(RecordedOperation.RESTORED, None, restored)
            catalog.apply([change], author=author, at=restored.updated_at)
            return restored

    def apply(
        self,
        organization_id: OrganizationId,
        planner: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        with self._lock:
            changes = planner(self.all(organization_id))
            return self.store(organization_id, changes, author=author, at=at)

    def store(
        self,
        organization_id: OrganizationId,
        changes: CatalogChanges,
        *,
        author: Author,
        at: datetime,
    ) -> AppliedChanges:
        """Store the changes: all of them, or none if an interrupt comes in between."""
        catalog = self.catalog(organization_id).copy()
        created = tuple(self._with_new_id(each, organization_id) for each in changes.created)
        applied = AppliedChanges(changes, created)
        catalog.apply(applied.recorded(), author=author, at=at)
        self._catalogs[organization_id] = catalog
        return applied

    def catalog(self, organization_id: OrganizationId) -> StoredCatalog:
        """Return the organization's catalog, under the lock.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        organization = self._organizations.get(organization_id)
        return self._catalogs.setdefault(
            organization_id, StoredCatalog(organization_id, organization.first_revision)
        )

    def delete_all(self, organization_id: OrganizationId) -> None:
        """Delete all fields of the organization, and their history."""
        self._catalogs.pop(organization_id, None)

    def organization_record(self, organization: Organization) -> OrganizationRecord:
        """Return the record of the organization, for a snapshot."""
        return self.catalog(organization.id).to_record(organization)

    def records(self) -> Records[RecipientField]:
        """Return the fields of all organizations."""
        return self._ids.records(
            field for each in self._catalogs.values() for field in each.to_catalog().fields
        )

    def history_records(self) -> Records[HistoryRecord]:
        """Return the histories of all organizations."""
        records = tuple(record for each in self._catalogs.values() for record in each.history)
        return Records(len(records), 0, records)

    def load(
        self,
        organizations: Iterable[OrganizationRecord],
        fields: Iterable[RecipientField],
        history: Iterable[HistoryRecord],
        last_id: int,
    ) -> None:
        """Replace all catalogs by those of these organizations."""
        catalogs = {each.organization.id: StoredCatalog.load(each) for each in organizations}
        for field in sorted(fields, key=lambda each: each.id):
            catalogs[field.organization_id].insert(field)
        for record in sorted(history, key=lambda each: each.sequence):
            catalogs[record.organization_id].history.append(record)
        self._ids.skip_to(last_id)
        self._catalogs = catalogs

    def _with_new_id(
        self, definition: FieldDefinition, organization_id: OrganizationId
    ) -> RecipientField:
        return definition.with_id(FieldId(self._ids.assign()), organization_id)

    def _find(
        self, organization_id: OrganizationId, reference: FieldReference
    ) -> tuple[StoredCatalog, RecipientField]:
        catalog = self._catalogs.get(organization_id)
        field = None if catalog is None else catalog.find(reference)
        if catalog is None or field is None:
            raise FieldNotFound
        return catalog, field


class MemoryIntegrationRepository(IntegrationRepository):
    """The integrations in memory, by ascending id."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._ids = Ids()
        self._integrations: dict[IntegrationId, Integration] = {}

    def all(self, organization_id: OrganizationId, /) -> tuple[Integration, ...]:
        with self._lock:
            self._organizations.get(organization_id)
            integrations = self._integrations.values()
            return tuple(each for each in integrations if each.organization_id == organization_id)

    def count_fields(self, organization_id: OrganizationId, /) -> Mapping[IntegrationId, int]:
        fields = self._fields.all(organization_id).fields
        ids = (field.origin.integration_id for field in fields)
        return Counter(each for each in ids if each is not None)

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId, /) -> Integration:
        with self._lock:
            integration = self._integrations.get(integration_id)
        if integration is None or integration.organization_id != organization_id:
            raise IntegrationNotFound
        return integration

    def add(self, organization_id: OrganizationId, draft: IntegrationDraft, /) -> Integration:
        with self._lock:
            self._organizations.get(organization_id)
            integration = draft.with_id(IntegrationId(self._ids.assign()), organization_id)
            self._integrations[integration.id] = integration
            return integration

    def rename(
        self, organization_id: OrganizationId, integration_id: IntegrationId, name: str, /
    ) -> Integration:
        with self._lock:
            renamed = self.get(organization_id, integration_id).renamed(name)
            self._integrations[integration_id] = renamed
            return renamed

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
            integration = self.get(organization_id, integration_id)
            fields = integration.filter_fields(self._fields.all(organization_id).fields)
            check(fields)
            changes = CatalogChanges(deleted=fields)
            self._fields.store(organization_id, changes, author=author, at=at)
            del self._integrations[integration_id]
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
            integration = self.get(organization_id, integration_id)
            plan = planner(integration, self._fields.all(organization_id).fields)
            self._fields.store(organization_id, plan.changes, author=author, at=at)
            synced_at = plan.integration.last_synced_at
            self._integrations[integration_id] = evolve(integration, last_synced_at=synced_at)
            return plan

    def delete_all(self, organization_id: OrganizationId) -> None:
        """Delete all integrations of the organization."""
        for integration in self.all(organization_id):
            del self._integrations[integration.id]

    def records(self) -> Records[Integration]:
        """Return the integrations of all organizations."""
        return self._ids.records(self._integrations.values())

    def load(self, integrations: Iterable[Integration], last_id: int) -> None:
        """Replace all integrations by these."""
        self._ids.skip_to(last_id)
        self._integrations = {each.id: each for each in sorted(integrations, key=lambda i: i.id)}


class MemoryApiKeyRepository(ApiKeyRepository):
    """The API keys in memory, by ascending id and by digest."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._ids = Ids()
        self._keys: dict[ApiKeyId, ApiKey] = {}
        self._ids_by_digest: dict[bytes, ApiKeyId] = {}

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        with self._lock:
            self._organizations.get(organization_id)
            return tuple(k for k in self._keys.values() if k.organization_id == organization_id)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        with self._lock:
            key = self._keys.get(key_id)
        if key is None or key.organization_id != organization_id:
            raise ApiKeyNotFound
        return key

    def find(self, digest: bytes, /) -> FoundKey | None:
        with self._lock:
            key_id = self._ids_by_digest.get(digest)
            if key_id is None:
                return None
            key = self._keys[key_id]
            return key.to_found_key(self._fields.catalog(key.organization_id).revision)

    def add(self, grant: KeyGrant, /) -> ApiKey:
        with self._lock:
            self._organizations.get(grant.organization_id)
            if grant.digest in self._ids_by_digest:
                raise DigestTaken
            key = grant.with_id(ApiKeyId(self._ids.assign()))
            self._keys[key.id] = key
            self._ids_by_digest[key.digest] = key.id
            return key

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        with self._lock:
            key = self.get(organization_id, key_id)
            changed = change(key)
            key = key.with_validity_of(changed)
            self._keys[key_id] = key
            return key

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        with self._lock:
            key = self.get(organization_id, key_id)
            replaced, grant = succession(key)
            replaced = key.with_validity_of(replaced)
            successor = self.add(grant)
            self._keys[key_id] = replaced
            return replaced, successor

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        with self._lock, suppress(ApiKeyNotFound):
            key = self.get(organization_id, key_id)
            if key.last_used_at is None or key.last_used_at < at:
                self._keys[key_id] = evolve(key, last_used_at=at)

    def delete_all(self, organization_id: OrganizationId) -> None:
        """Delete all API keys of the organization."""
        for key in self.all(organization_id):
            del self._ids_by_digest[key.digest], self._keys[key.id]

    def records(self) -> Records[ApiKey]:
        """Return the API keys of all organizations."""
        return self._ids.records(self._keys.values())

    def load(self, keys: Iterable[ApiKey], last_id: int) -> None:
        """Replace all API keys by these."""
        self._ids.skip_to(last_id)
        self._keys = {key.id: key for key in sorted(keys, key=lambda key: key.id)}
        self._ids_by_digest = {key.digest: key.id for key in self._keys.values()}


class MemoryOrganizationRepository(OrganizationRepository):
    """The organizations in memory. Deleting one deletes its records in the other repositories."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
        integrations: MemoryIntegrationRepository,
        api_keys: MemoryApiKeyRepository,
        administrators: MemoryAdministratorRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._integrations = integrations
        self._api_keys = api_keys
        self._administrators = administrators

    def all(self) -> tuple[Organization, ...]:
        with self._lock:
            return self._organizations.all()

    def get(self, organization_id: OrganizationId, /) -> Organization:
        with self._lock:
            return self._organizations.get(organization_id)

    def add(self, name: str, created_at: datetime, /) -> Organization:
        with self._lock:
            return self._organizations.add(name, created_at)

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        parsed = parse_organization_name(name)
        with self._lock:
            renamed = evolve(self._organizations.get(organization_id), name=parsed)
            self._organizations.replace(renamed)
            return renamed

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        with self._lock:
            contents = OrganizationContents(
                fields=len(self._fields.all(organization_id).fields),
                api_keys=len(self._api_keys.all(organization_id)),
                integrations=len(self._integrations.all(organization_id)),
                administrators=len(self._administrators.all(organization_id)),
            )
            check(contents)
            for owned in (
                self._api_keys,
                self._integrations,
                self._fields,
                self._administrators,
            ):
                owned.delete_all(organization_id)
            self._organizations.remove(organization_id)
            return contents
