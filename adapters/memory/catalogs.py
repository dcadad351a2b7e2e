"""The catalogs in memory, with their histories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recipient_fields.application import OrganizationRecord
from recipient_fields.domain import (
    MILLISECOND,
    Author,
    Catalog,
    Change,
    FieldId,
    FieldReference,
    HistoryRecord,
    HistorySize,
    OldRecord,
    Organization,
    OrganizationId,
    RecipientField,
    RecordedOperation,
    Source,
)

from ..shared_values import shared_record


class StoredCatalog:
    """The fields of one organization by ascending id and by key, their revision and history.

    Callers hold the lock.
    """

    def __init__(self, organization_id: OrganizationId, revision: int) -> None:
        self.organization_id: OrganizationId = organization_id
        self.revision: int = revision
        self.fields_size: int = 0
        self.history: list[HistoryRecord] = []
        self.history_counter: HistoryCounter = HistoryCounter()
        self._last_sequence = 0
        self._last_change_at: datetime | None = None
        self._by_id: dict[FieldId, RecipientField] = {}
        self._by_key: dict[str, RecipientField] = {}
        self._sizes: dict[FieldId, int] = {}

    @classmethod
    def load(cls, record: OrganizationRecord) -> StoredCatalog:
        """Return the catalog of this organization, without fields and records."""
        catalog = cls(record.organization.id, record.revision)
        catalog._last_sequence = record.last_sequence
        catalog._last_change_at = record.last_change_at
        return catalog

    def to_catalog(self) -> Catalog:
        return Catalog(self.organization_id, self.revision, tuple(self._by_id.values()))

    def to_record(self, organization: Organization) -> OrganizationRecord:
        return OrganizationRecord(
            organization, self.revision, self._last_sequence, self._last_change_at
        )

    def find(self, reference: FieldReference) -> RecipientField | None:
        if isinstance(reference, str):
            return self._by_key.get(reference)
        return self._by_id.get(reference)

    def count(self, source: Source) -> int:
        return sum(each.origin.source is source for each in self._by_id.values())

    def find_deleted(self, field_id: FieldId) -> RecipientField | None:
        """Return the field as it was before its deletion, or None if that is not recorded."""
        records = (each for each in reversed(self.history) if each.field_id == field_id)
        return next((each.before for each in records if each.after is None), None)

    @property
    def removed_records(self) -> int:
        """The number of records that were removed, which are the oldest ones."""
        return self._last_sequence - len(self.history)

    def insert(self, field: RecipientField) -> None:
        holder = self._by_key.get(field.key)
        if holder is not None and holder.id != field.id:
            # A change returned another field than it received. Only one field can have a key.
            self._remove(holder)
        self._by_id[field.id] = self._by_key[field.key] = field
        size = field.size
        self.fields_size += size - self._sizes.get(field.id, 0)
        self._sizes[field.id] = size

    def advance(self) -> None:
        """Increase the revision of a catalog whose fields do not change."""
        self.revision += 1

    def apply(
        self, changes: Sequence[Change[RecipientField]], *, author: Author, at: datetime
    ) -> None:
        """Make and record the changes of one transaction: all of them, or none if it raises."""
        before = self.revision, self._last_sequence, self._last_change_at, len(self.history)
        try:
            if self._last_change_at is not None:
                at = max(at, self._last_change_at + MILLISECOND)
            self._last_change_at = at
            for change in changes:
                self._apply(change, author=author, at=at)
        except BaseException:  # For example, an interrupt.
            self._undo(changes)
            self.revision, self._last_sequence, self._last_change_at, length = before
            del self.history[length:]
            raise

    def _apply(self, change: Change[RecipientField], *, author: Author, at: datetime) -> None:
        if change.after is None:
            self._remove(self._by_id[change.field_id])
        else:
            self.insert(change.after)
        if change.operation is RecordedOperation.RESTORED:
            self._sort()
        self.revision += 1
        self._last_sequence += 1
        record = change.with_sequence(self._last_sequence, occurred_at=at, author=author)
        self.history.append(record)

    def _remove(self, field: RecipientField) -> None:
        del self._by_id[field.id], self._by_key[field.key]
        self.fields_size -= self._sizes.pop(field.id)

    def _undo(self, changes: Sequence[Change[RecipientField]]) -> None:
        """Restore the fields before the changes, of which some are made."""
        changed = {each.field_id for each in changes}
        before = [each.before for each in changes if each.before is not None]
        fields = [*(each for each in self._by_id.values() if each.id not in changed), *before]
        self._by_id = {each.id: each for each in fields}
        self._by_key = {each.key: each for each in fields}
        self._sizes = {each.id: each.size for each in fields}
        self.fields_size = sum(self._sizes.values())
        self._sort()

    def _sort(self) -> None:
        self._by_id = dict(sorted(self._by_id.items()))


class HistoryCounter:
    """Counts the bytes that the records of a history would have in a database.

    It counts new records when the size is needed, because the documents of a record take as long as
    a change in memory. Callers hold the lock.
    """

    def __init__(self) -> None:
        self._counted: dict[int, tuple[int, dict[str, int]]] = {}
        """By ascending sequence, the size of a record and the sizes of its shared values."""
        self._inherited = 0

    def size(self, history: Sequence[HistoryRecord]) -> HistorySize:
        """Return the size of the history."""
        return HistorySize(sum(each.bytes for each in self.oldest(history)), self._inherited)

    def inherit(self, history: Sequence[HistoryRecord]) -> None:
        """Count a history that another storage has recorded."""
        self._inherited = self.size(history).bytes

    def oldest(self, history: Sequence[HistoryRecord]) -> list[OldRecord]:
        """Return all records, with the bytes that their removal frees."""
        last = next(reversed(self._counted), 0)
        for record in history[_index_after(history, last) :]:
            shared = shared_record(record)
            values = {digest: len(value.encode()) for digest, value in shared.values.items()}
            self._counted[record.sequence] = shared.bytes, values
        freed: dict[int, int] = {}
        last_uses: dict[str, tuple[int, int]] = {}
        for sequence, (size, values) in self._counted.items():
            freed[sequence] = size
            last_uses.update((each, (sequence, values[each])) for each in values)
        for sequence, size in last_uses.values():
            freed[sequence] += size
        return [OldRecord(r.sequence, r.occurred_at, freed[r.sequence]) for r in history]

    def remove(self, records: Sequence[OldRecord]) -> None:
        """Forget these records, which are the oldest ones."""
        for record in records:
            del self._counted[record.sequence]


def _index_after(history: Sequence[HistoryRecord], sequence: int) -> int:
    """Return the index of the first record after this sequence. Sequences have no gaps."""
    return max(0, sequence + 1 - history[0].sequence) if history else 0
