"""Changes to several fields of an organization, which one transaction stores."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from .fields import FieldDefinition, RecipientField
from .history import RecordedChange, RecordedOperation


@frozen
class FieldUpdate:
    """A field before and after a change."""

    before: RecipientField
    after: RecipientField


@frozen(kw_only=True)
class CatalogChanges:
    """The deleted, updated and created fields of an organization.

    They are stored and recorded in this order, so that a new field can have the key of a deleted
    field.
    """

    deleted: tuple[RecipientField, ...] = ()
    updated: tuple[FieldUpdate, ...] = ()
    created: tuple[FieldDefinition, ...] = ()


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
        for field in self.created:
            yield RecordedChange(RecordedOperation.CREATED, None, field)
