"""The organizations in memory, each with its fields and their history."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter

from recipient_fields.application import OrganizationRecord, Records, Snapshot
from recipient_fields.domain import (
    MILLISECOND,
    Author,
    Catalog,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FieldId,
    FieldReference,
    HistoryRecord,
    HistorySize,
    OldRecord,
    Organization,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    Source,
)

from ..shared_values import RecordSizes, old_records, record_sizes


class StoredCatalog(CatalogView):
    """An organization with its fields by ascending id and by key, their revision and history.

    Callers hold the lock.
    """

    def __init__(self, record: OrganizationRecord, catalogs: Catalogs) -> None:
        """Begin with the state of this record, without fields and without a history."""
        self.organization: Organization = record.organization
        self.revision: int = record.revision
        self.history: list[HistoryRecord] = []
        self._catalogs = catalogs
        self._last_sequence = record.last_sequence
        self._last_change_at = record.last_change_at
        self._by_id: dict[FieldId, RecipientField] = {}
        self._by_key: dict[str, RecipientField] = {}
        self._fields_size = 0
        self._inherited_bytes = 0
        self._sizes: dict[int, RecordSizes] = {}
        """The sizes of records by sequence: they are measured when they are first needed."""

    def to_record(self) -> OrganizationRecord:
        """Return the organization and its state, for a snapshot."""
        return OrganizationRecord(
            self.organization, self.revision, self._last_sequence, self._last_change_at
        )

    def insert(self, field: RecipientField) -> None:
        """Store a field of a snapshot."""
        self._by_id[field.id] = self._by_key[field.key] = field
        self._fields_size += field.size

    def inherit_history(self) -> None:
        """Count the history as that of another storage."""
        self._inherited_bytes = self.history_size().bytes

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        if isinstance(reference, str):
            return self._by_key.get(reference)
        return self._by_id.get(reference)

    def count(self, source: Source, /) -> int:
        return sum(each.origin.source is source for each in self._by_id.values())

    def fields_size(self) -> int:
        return self._fields_size

    def next_id(self) -> FieldId:
        return FieldId(self._catalogs.last_field_id + 1)

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        records = (each for each in reversed(self.history) if each.field_id == field_id)
        return next((each.before for each in records if each.after is None), None)

    def removed_records(self) -> int:
        return self._last_sequence - len(self.history)

    def all(self) -> Catalog:
        return Catalog(self.organization.id, self.revision, tuple(self._by_id.values()))

    def advance(self) -> None:
        """Increase the revision of a catalog whose fields do not change."""
        self.revision += 1

    def store(
        self, changes: CatalogChanges[FieldDefinition], *, author: Author, at: datetime
    ) -> CatalogChanges[RecipientField]:
        """Store and record the changes: all of them, or none if it raises."""
        applied = self.with_ids(changes)
        self.store_applied(applied, author=author, at=at)
        return applied

    def with_ids(self, changes: CatalogChanges[FieldDefinition]) -> CatalogChanges[RecipientField]:
        """Return the changes with the ids of the new fields. Store nothing."""
        return changes.with_ids(
            each.with_id(self._catalogs.assign_field_id(), self.organization.id)
            for each in changes.created
        )

    def store_applied(
        self, applied: CatalogChanges[RecipientField], *, author: Author, at: datetime
    ) -> None:
        """Store and record changes with ids: all of them, or none if it raises."""
        if not applied.changes:
            return
        before, records = vars(self).copy(), len(self.history)
        try:
            self._apply(applied, author, at)
        except BaseException:  # For example, an interrupt.
            vars(self).update(before)
            del self.history[records:]
            raise

    def _apply(self, applied: CatalogChanges[RecipientField], author: Author, at: datetime) -> None:
        at = applied.recorded_at(at)
        if self._last_change_at is not None:
            at = max(at, self._last_change_at + MILLISECOND)
        self._last_change_at = at
        self._by_id, self._by_key = self._by_id.copy(), self._by_key.copy()
        for change in applied.changes:
            if change.after is None:
                del self._by_id[change.field_id], self._by_key[change.field.key]
            else:
                self._by_id[change.after.id] = self._by_key[change.after.key] = change.after
            self.revision += 1
            self._last_sequence += 1
            self.history.append(
                change.with_sequence(self._last_sequence, occurred_at=at, author=author)
            )
        if applied.restored:
            self._by_id = dict(sorted(self._by_id.items()))
        self._fields_size += applied.added_size()

    def history_size(self) -> HistorySize:
        """Return the size of the history."""
        return HistorySize(sum(each.bytes for each in self.old_records()), self._inherited_bytes)

    def old_records(self) -> list[OldRecord]:
        """Return all records, with the bytes that their removal frees."""
        return old_records(self.history, self._sizes_of)

    def remove(self, records: Iterable[OldRecord]) -> int:
        """Remove these records, which are the oldest ones, and return their number."""
        removed = [self._sizes.pop(each.sequence) for each in records]
        del self.history[: len(removed)]
        return len(removed)

    def _sizes_of(self, record: HistoryRecord) -> RecordSizes:
        sizes = self._sizes.get(record.sequence)
        if sizes is None:
            sizes = self._sizes[record.sequence] = record_sizes(record)
        return sizes


class _NoCatalog(CatalogView):
    """The view of a catalog whose organization does not exist."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs

    def find(self, _: FieldReference, /) -> None:
        return None

    def count(self, _: Source, /) -> int:
        raise OrganizationNotFound

    def fields_size(self) -> int:
        raise OrganizationNotFound

    def next_id(self) -> FieldId:
        return FieldId(self._catalogs.last_field_id + 1)

    def last_deletion(self, _: FieldId, /) -> None:
        return None

    def removed_records(self) -> int:
        return 0

    def all(self) -> Catalog:
        raise OrganizationNotFound


class Catalogs:
    """The catalogs of all organizations, by ascending id. Callers hold the lock."""

    def __init__(self) -> None:
        self.by_organization: dict[OrganizationId, StoredCatalog] = {}
        self.last_organization_id: int = 0
        self.last_field_id: int = 0

    def add(self, name: str, created_at: datetime) -> Organization:
        """Store a new organization with an empty catalog."""
        organization_id = OrganizationId(self.last_organization_id + 1)
        organization = Organization(id=organization_id, name=name, created_at=created_at)
        record = OrganizationRecord(organization, organization.first_revision)
        self.by_organization[organization_id] = StoredCatalog(record, self)
        self.last_organization_id = organization_id
        return organization

    def get(self, organization_id: OrganizationId) -> StoredCatalog:
        """Return the catalog. Raises: OrganizationNotFound if the organization does not exist."""
        catalog = self.by_organization.get(organization_id)
        if catalog is None:
            raise OrganizationNotFound
        return catalog

    def view(self, organization_id: OrganizationId) -> CatalogView:
        """Return what a planner can read, also if the organization does not exist."""
        return self.by_organization.get(organization_id) or _NoCatalog(self)

    def assign_field_id(self) -> FieldId:
        """Return an id that no field has had."""
        self.last_field_id += 1
        return FieldId(self.last_field_id)

    def organizations(self) -> Records[OrganizationRecord]:
        """Return the organizations, for a snapshot."""
        records = tuple(each.to_record() for each in self.by_organization.values())
        return Records(len(records), self.last_organization_id, records)

    def fields(self) -> Records[RecipientField]:
        """Return the fields of all organizations, for a snapshot."""
        fields = tuple(f for each in self.by_organization.values() for f in each.all().fields)
        return Records(len(fields), self.last_field_id, fields)

    def history(self) -> Records[HistoryRecord]:
        """Return the histories of all organizations, for a snapshot."""
        records = tuple(r for each in self.by_organization.values() for r in each.history)
        return Records(len(records), 0, records)

    def load(self, snapshot: Snapshot) -> None:
        """Store the organizations of a snapshot, with their fields and their histories."""
        records = sorted(snapshot.organizations, key=lambda each: each.organization.id)
        catalogs = {each.organization.id: StoredCatalog(each, self) for each in records}
        for field in sorted(snapshot.fields, key=attrgetter("id")):
            catalogs[field.organization_id].insert(field)
        for record in sorted(snapshot.history, key=attrgetter("sequence")):
            catalogs[record.organization_id].history.append(record)
        for catalog in catalogs.values():
            catalog.inherit_history()
        self.last_organization_id = max(self.last_organization_id, snapshot.organizations.last_id)
        self.last_field_id = max(self.last_field_id, snapshot.fields.last_id)
        self.by_organization = catalogs
