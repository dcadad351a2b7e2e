"""The fields in memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from threading import RLock

from attrs import frozen

from recipient_fields.application import (
    CatalogPlanner,
    FieldRepository,
    OrganizationRecord,
    PublishedCatalog,
    Records,
    published,
)
from recipient_fields.domain import (
    Author,
    Catalog,
    CatalogChanges,
    CatalogView,
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
    Source,
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
            field = self.view(organization_id).find(reference)
        if field is None:
            raise FieldNotFound
        return field

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        with self._lock:
            changes = plan(self.view(organization_id))
            return self.store(organization_id, changes, author=author, at=at)

    def view(self, organization_id: OrganizationId) -> CatalogView:
        """Return what a planner can read, under the lock."""
        return _CatalogView(self, organization_id)

    def store(
        self,
        organization_id: OrganizationId,
        changes: CatalogChanges[FieldDefinition],
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        """Store and record the changes, under the lock: all of them, or none."""
        applied = self.with_ids(organization_id, changes)
        self.store_applied(organization_id, applied, author=author, at=at)
        return applied

    def with_ids(
        self, organization_id: OrganizationId, changes: CatalogChanges[FieldDefinition]
    ) -> CatalogChanges[RecipientField]:
        """Return the changes with the ids of the new fields, under the lock. Store nothing."""
        if changes.created:
            self.catalog(organization_id)  # If there is no such organization, no id is used.
        return changes.with_ids(
            each.with_id(FieldId(self._ids.assign()), organization_id) for each in changes.created
        )

    def store_applied(
        self,
        organization_id: OrganizationId,
        applied: CatalogChanges[RecipientField],
        *,
        author: Author,
        at: datetime,
    ) -> None:
        """Store and record changes with ids, under the lock: all of them, or none."""
        if applied.changes:
            catalog = self.catalog(organization_id)
            catalog.apply(applied.changes, author=author, at=applied.recorded_at(at))

    def find_catalog(self, organization_id: OrganizationId) -> StoredCatalog | None:
        """Return the organization's catalog under the lock, or None if it was never used."""
        return self._catalogs.get(organization_id)

    def catalog(self, organization_id: OrganizationId) -> StoredCatalog:
        """Return the organization's catalog, under the lock.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        organization = self._organizations.get(organization_id)
        return self._catalogs.setdefault(
            organization_id, StoredCatalog(organization_id, organization.first_revision)
        )

    def next_id(self) -> FieldId:
        """Return the id of the next created field, under the lock."""
        return FieldId(self._ids.last + 1)

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
        for catalog in catalogs.values():
            catalog.history_counter.inherit(catalog.history)
        self._ids.skip_to(last_id)
        self._catalogs = catalogs


@frozen
class _CatalogView(CatalogView):
    """The catalog of an organization, under the lock."""

    _fields: MemoryFieldRepository
    _organization_id: OrganizationId

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        catalog = self._fields.find_catalog(self._organization_id)
        return None if catalog is None else catalog.find(reference)

    def count(self, source: Source, /) -> int:
        return self._fields.catalog(self._organization_id).count(source)

    def fields_size(self) -> int:
        return self._fields.catalog(self._organization_id).fields_size

    def next_id(self) -> FieldId:
        return self._fields.next_id()

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        catalog = self._fields.find_catalog(self._organization_id)
        return None if catalog is None else catalog.find_deleted(field_id)

    def removed_records(self) -> int:
        catalog = self._fields.find_catalog(self._organization_id)
        return 0 if catalog is None else catalog.removed_records

    def all(self) -> Catalog:
        return self._fields.all(self._organization_id)
