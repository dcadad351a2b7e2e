"""Changes to the fields of an organization, which one transaction stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from typing import Generic, Protocol, TypeVar, cast

from attrs import frozen

from ..identity import FieldId
from .errors import CatalogTooLarge, FieldLimitReached, FieldNotFound, HistoryRemoved, KeyTaken
from .field import Catalog, FieldDefinition, FieldReference, RecipientField
from .history import Change, RecordedOperation
from .origins import Channel, Source
from .sizes import id_size, list_size
from .values import MAX_SAFE_INTEGER

__all__ = [
    "CatalogChanges",
    "CatalogView",
    "plan_creation",
    "plan_restoration",
    "require_addable",
    "require_room",
]

F = TypeVar("F", bound=FieldDefinition, covariant=True)

_DELETED = RecordedOperation.DELETED
_UPDATED = RecordedOperation.UPDATED
_RESTORED = RecordedOperation.RESTORED
_CREATED = RecordedOperation.CREATED


@frozen
class CatalogChanges(Generic[F]):
    """The changes to the fields of an organization, in the order in which they are stored.

    Deletions come first, then updates, restorations and creations, so that a new field can have the
    key of a deleted field. A restored field was deleted before, and keeps its id. Those that a plan
    returns have a FieldDefinition for each new field, and those that a storage returns the field.
    """

    changes: tuple[Change[F], ...] = ()

    @classmethod
    def of(
        cls,
        *,
        deleted: Iterable[RecipientField] = (),
        updated: Iterable[Change[RecipientField]] = (),
        restored: Iterable[RecipientField] = (),
        created: Iterable[FieldDefinition] = (),
    ) -> CatalogChanges[FieldDefinition]:
        """Return the changes that do this, in their order."""
        return CatalogChanges(
            (
                *(Change(_DELETED, each, None) for each in deleted),
                *updated,
                *(Change(_RESTORED, None, each) for each in restored),
                *(Change(_CREATED, None, each) for each in created),
            )
        )

    @cached_property
    def deleted(self) -> tuple[RecipientField, ...]:
        """The deleted fields."""
        found = (each.before for each in self.changes if each.operation is _DELETED)
        return cast("tuple[RecipientField, ...]", tuple(found))

    @cached_property
    def updated(self) -> tuple[Change[RecipientField], ...]:
        """The updates."""
        found = (each for each in self.changes if each.operation is _UPDATED)
        return cast("tuple[Change[RecipientField], ...]", tuple(found))

    @cached_property
    def restored(self) -> tuple[RecipientField, ...]:
        """The restored fields."""
        found = (each.after for each in self.changes if each.operation is _RESTORED)
        return cast("tuple[RecipientField, ...]", tuple(found))

    @cached_property
    def created(self) -> tuple[F, ...]:
        """The new fields."""
        found = (each.after for each in self.changes if each.operation is _CREATED)
        return cast("tuple[F, ...]", tuple(found))

    def with_ids(self, created: Iterable[RecipientField]) -> CatalogChanges[RecipientField]:
        """Return the changes with these new fields, which have the ids that a storage assigned."""
        others = [each for each in self.changes if each.operation is not _CREATED]
        stored = [Change(_CREATED, None, each) for each in created]
        return CatalogChanges((*cast("list[Change[RecipientField]]", others), *stored))

    def added_size(self) -> int:
        """Return the bytes that the changes add to the list of the fields. It can be negative.

        The digits of ids that are not assigned yet are not counted.
        """
        return sum(each.added_size for each in self.changes)

    def max_added_size(self) -> int:
        """Return the bytes that the changes add to the list at most.

        The created fields have no ids yet, so the greatest id is counted for each.
        """
        return self.added_size() + len(self.created) * id_size(MAX_SAFE_INTEGER)

    def recorded_at(self, at: datetime) -> datetime:
        """Return the earliest time of the records of these changes, which are made at this time.

        A field can have a later time: each change of a field moves its `updated_at` forward.
        """
        changed = (*(each.field for each in self.updated), *self.restored)
        return max([at, *(field.updated_at for field in changed)])

    def apply_to(
        self: CatalogChanges[RecipientField], fields: Iterable[RecipientField]
    ) -> tuple[RecipientField, ...]:
        """Return the fields of the organization after the changes, by ascending id.

        `fields` are all its fields before the changes.
        """
        by_id = {each.id: each for each in fields}
        for change in self.changes:
            if change.after is None:
                del by_id[change.field.id]
            else:
                by_id[change.after.id] = change.after
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
) -> CatalogChanges[FieldDefinition]:
    """Return the changes that create this field.

    `limit` is the maximum of fields of its source, `size_limit` that of the bytes of the list.
    Raises: the errors of `require_addable`, then those of `require_room`.
    """
    holder = catalog.find(definition.key)
    require_addable(definition, holder=holder, count=catalog.count, limit=limit)
    if size_limit is not None:
        added = definition.size_without_id + id_size(catalog.next_id())
        require_room(catalog.fields_size, added=added, limit=size_limit)
    return CatalogChanges.of(created=[definition])


def plan_restoration(
    catalog: CatalogView,
    field_id: FieldId,
    *,
    by: Channel,
    at: datetime,
    limit: int | None = None,
    size_limit: int | None = None,
) -> CatalogChanges[FieldDefinition]:
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
    return CatalogChanges.of(restored=[restored])


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
