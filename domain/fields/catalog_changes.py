"""Changes to the fields of an organization, which one transaction stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Protocol

from attrs import frozen

from ..identity import FieldId
from .errors import CatalogTooLarge, FieldLimitReached, FieldNotFound, HistoryRemoved, KeyTaken
from .field import Catalog, FieldDefinition, FieldReference, RecipientField
from .history import RecordedChange, RecordedOperation
from .origins import Channel, Source
from .sizes import id_size, list_size, size_difference
from .values import MAX_SAFE_INTEGER

__all__ = [
    "AppliedChanges",
    "CatalogChanges",
    "CatalogView",
    "FieldUpdate",
    "plan_creation",
    "plan_restoration",
    "require_addable",
    "require_room",
]


@frozen
class FieldUpdate:
    """A field before and after a change."""

    before: RecipientField
    after: RecipientField

    @property
    def added_size(self) -> int:
        """The bytes that the change adds to the list of the fields. It can be negative."""
        return size_difference(self.before, self.after)


@frozen(kw_only=True)
class CatalogChanges:
    """The deleted, updated, restored and created fields of an organization.

    They are stored and recorded in this order, so that a new field can have the key of a deleted
    field. A restored field was deleted before, and keeps its id.
    """

    deleted: tuple[RecipientField, ...] = ()
    updated: tuple[FieldUpdate, ...] = ()
    restored: tuple[RecipientField, ...] = ()
    created: tuple[FieldDefinition, ...] = ()

    def added_size(self) -> int:
        """Return the bytes that the changes add to the list, without those of created fields.

        It can be negative.
        """
        return (
            sum(each.size for each in self.restored)
            + sum(each.added_size for each in self.updated)
            - sum(each.size for each in self.deleted)
        )

    def max_added_size(self) -> int:
        """Return the bytes that the changes add to the list at most.

        The created fields have no ids yet, so the greatest id is counted for each.
        """
        id_digits = id_size(MAX_SAFE_INTEGER)
        return self.added_size() + sum(each.size_without_id + id_digits for each in self.created)

    def recorded_at(self, at: datetime) -> datetime:
        """Return the earliest time of the records of these changes, which are made at this time.

        A field can have a later time: each change of a field moves its `updated_at` forward.
        """
        changed = (*(each.after for each in self.updated), *self.restored)
        return max([at, *(field.updated_at for field in changed)])


@frozen
class AppliedChanges:
    """Changes that a storage has stored, and the created fields with the ids that it assigned."""

    changes: CatalogChanges
    created: tuple[RecipientField, ...]

    def recorded(self) -> Iterator[RecordedChange]:
        """Yield the change of each field, in the order of their records."""
        for field in self.changes.deleted:
            yield RecordedChange(RecordedOperation.DELETED, field, None)
        for update in self.changes.updated:
            yield RecordedChange(RecordedOperation.UPDATED, update.before, update.after)
        for field in self.changes.restored:
            yield RecordedChange(RecordedOperation.RESTORED, None, field)
        for field in self.created:
            yield RecordedChange(RecordedOperation.CREATED, None, field)

    def added_size(self) -> int:
        """Return the bytes that the changes add to the list of the fields. It can be negative."""
        return self.changes.added_size() + sum(each.size for each in self.created)

    def apply_to(self, fields: Iterable[RecipientField]) -> tuple[RecipientField, ...]:
        """Return the fields of the organization after the changes, by ascending id.

        `fields` are all its fields before the changes.
        """
        by_id = {each.id: each for each in fields}
        for change in self.recorded():
            if change.after is None:
                del by_id[change.field_id]
            else:
                by_id[change.field_id] = change.after
        return tuple(by_id[each] for each in sorted(by_id))


class CatalogView(Protocol):
    """The catalog of an organization, as a transaction that has locked it sees it.

    Each method reads only what it returns. If the organization does not exist, `find` and
    `last_deletion` return None, `count`, `fields_size` and `all` raise OrganizationNotFound.
    """

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        """Return the field with this id or key, or None."""

    def count(self, source: Source, /) -> int:
        """Return the number of fields of this source."""

    def fields_size(self) -> int:
        """Return the sum of the sizes of the fields, of all sources."""

    def next_id(self) -> FieldId:
        """Return the id that the next created field gets.

        If another organization creates a field first, the field gets a greater id. A storage that
        can't read the id returns the greatest one.
        """

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        """Return the field as it was before its last deletion.

        Return None if the history has no record of a deletion.
        """

    def removed_records(self) -> int:
        """Return the number of records that were removed from the history, which are the oldest.

        Return 0 if the organization does not exist.
        """

    def all(self) -> Catalog:
        """Return all fields by ascending id, and the revision."""


def plan_creation(
    catalog: CatalogView,
    definition: FieldDefinition,
    *,
    limit: int | None = None,
    size_limit: int | None = None,
) -> CatalogChanges:
    """Return the changes that create this field.

    `limit` is the maximum of fields of its source, `size_limit` that of the bytes of the list.
    Raises: the errors of `require_addable`, then those of `require_room`.
    """
    holder = catalog.find(definition.key)
    require_addable(definition, holder=holder, count=catalog.count, limit=limit)
    if size_limit is not None:
        added = definition.size_without_id + id_size(catalog.next_id())
        require_room(catalog.fields_size, added=added, limit=size_limit)
    return CatalogChanges(created=(definition,))


def plan_restoration(
    catalog: CatalogView,
    field_id: FieldId,
    *,
    by: Channel,
    at: datetime,
    limit: int | None = None,
    size_limit: int | None = None,
) -> CatalogChanges:
    """Return the changes that store a deleted field again, as it was before its last deletion.

    If the field is not deleted, it has its own key, so KeyTaken is raised.

    Raises, in this order: if the organization has no such field and the history has no deletion of
    it, HistoryRemoved if records were removed, otherwise FieldNotFound; OperationForbidden if the
    channel may not create fields of its origin; the errors of `require_addable`,
    then those of `require_room`.
    """
    field = catalog.last_deletion(field_id) or catalog.find(field_id)
    if field is None:
        raise HistoryRemoved if catalog.removed_records() else FieldNotFound
    restored = field.restored(by=by, at=at)
    require_key_free(restored, catalog.find(restored.key))
    require_addable(restored, holder=None, count=catalog.count, limit=limit)
    if size_limit is not None:
        require_room(catalog.fields_size, added=restored.size, limit=size_limit)
    return CatalogChanges(restored=(restored,))


def require_key_free(restored: RecipientField, holder: RecipientField | None) -> None:
    """Check that no field of the catalog has the key of a field that is restored.

    `holder` is the field with the key. Raises: KeyTaken if there is one. Its message does not
    suggest another key, which a restored field can't have.
    """
    if holder is None:
        return
    message = (
        f"Field {restored.id} is not deleted."
        if holder.id == restored.id
        else f"Field {holder.id} has the key of field {restored.id}."
        f" Delete field {holder.id} first."
    )
    raise KeyTaken(restored.key, holder.id, message)


def require_addable(
    definition: FieldDefinition,
    *,
    holder: RecipientField | None,
    count: Callable[[Source], int],
    limit: int | None,
) -> None:
    """Check that this field can be added to a catalog.

    `holder` is the field of the catalog with the same key, of any origin. `count` returns the
    number of its fields of a source. It is only called if there is a limit.

    Raises, in this order: KeyTaken if there is a holder; FieldLimitReached if the catalog has
    `limit` or more fields of the source of this field.
    """
    if holder is not None:
        is_synced = holder.origin.integration_id is not None
        raise KeyTaken(definition.key, holder.id, is_synced=is_synced)
    if limit is not None and count(definition.origin.source) >= limit:
        raise FieldLimitReached(limit)


def require_room(fields_size: Callable[[], int], *, added: int, limit: int) -> None:
    """Check that a change can add this many bytes to the list of the fields.

    `fields_size` returns the sum of the sizes of the fields before the change. A list above the
    limit can shrink, or keep its size.

    Raises: CatalogTooLarge if the change adds bytes, and the list would exceed the limit.
    """
    if added <= 0:
        return
    size = fields_size()
    if list_size(size + added) > limit:
        raise CatalogTooLarge(limit, list_size(size))
