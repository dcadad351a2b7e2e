"""The fields in memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from threading import RLock

from recipient_fields.application import (
    CatalogPlanner,
    FieldChange,
    FieldCheck,
    FieldRepository,
    OrganizationRecord,
    PublishedCatalog,
    Records,
    published,
)
from recipient_fields.domain import (
    AppliedChanges,
    Author,
    Catalog,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    HistoryRecord,
    Organization,
    OrganizationId,
    RecipientField,
    RecordedChange,
    RecordedOperation,
)

from .catalogs import StoredCatalog
from .records import Ids, Organizations


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
