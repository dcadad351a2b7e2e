"""Batches: operations on the fields of an organization that take effect together, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import count
from typing import TypeAlias

from attrs import fields, frozen

from .catalog_changes import CatalogChanges, FieldUpdate
from .errors import (
    CatalogChanged,
    FieldNotFound,
    InvalidInput,
    KeyRepeated,
    RecipientFieldsError,
)
from .fields import (
    Catalog,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldReference,
    FieldReplacement,
    RecipientField,
    require_addable,
)
from .identity import FieldId
from .origins import Channel, Source
from .preconditions import UNCONDITIONAL, Precondition
from .values import FieldKey

MAX_BATCH_OPERATIONS = 1_000
"""The maximum number of operations of a batch."""

_MAX_VIOLATIONS = 1_000
"""Violations after which no further operations are checked: each one costs CPU time."""


@frozen
class CreateField:
    """The operation that creates a field."""

    draft: FieldDraft

    @property
    def reference(self) -> FieldKey:
        """The key of the new field."""
        return self.draft.key


@frozen
class UpdateField:
    """The operation that changes some members of a field.

    If `expected_version` is not None, the field must have this `version_tag`.
    """

    reference: FieldReference
    changes: FieldChanges
    expected_version: str | None = None


@frozen
class ReplaceField:
    """The operation that replaces all members of a field. With a free key, it creates the field.

    If `expected_version` is not None, the field must exist with this `version_tag`.
    """

    reference: FieldReference
    replacement: FieldReplacement
    expected_version: str | None = None


@frozen
class DeleteField:
    """The operation that deletes a field.

    If `expected_version` is not None, the field must have this `version_tag`.
    """

    reference: FieldReference
    expected_version: str | None = None


BatchOperation: TypeAlias = CreateField | UpdateField | ReplaceField | DeleteField


class BatchRejected(RecipientFieldsError):
    """Operations of a batch failed, so none took effect.

    `failures` contains the error of each failed operation, by its index in the batch.
    """

    def __init__(self, failures: Mapping[int, RecipientFieldsError]) -> None:
        self.failures = failures
        index, error = min(failures.items(), key=lambda failure: failure[0])
        super().__init__(f"Operation {index}: {error}")


@frozen
class Batch:
    """Operations on the fields of one organization, which take effect in this order.

    If `expected_version` is not None, the catalog must have this `version_tag` before the batch.
    """

    operations: tuple[BatchOperation, ...]
    expected_version: str | None = None

    def stage(
        self, catalog: Catalog, *, by: Channel, at: datetime, limit: int | None = None
    ) -> StagedBatch:
        """Return the effect of the operations on this catalog, which is not stored yet.

        An operation sees the effects of earlier ones. After a failed operation, the others are
        still checked, so that the error contains all failures, unless these have 1,000 violations.

        Raises: CatalogChanged if the catalog does not have the expected version; BatchRejected if
        an operation fails with an error that the use case of the single operation raises, or with
        KeyRepeated.
        """
        if self.expected_version not in {None, catalog.version_tag}:
            raise CatalogChanged(catalog.version_tag)
        staged = StagedBatch(catalog, by=by, at=at, limit=limit)
        failures: dict[int, RecipientFieldsError] = {}
        violations = 0
        for index, operation in enumerate(self.operations):
            try:
                staged.perform(operation)
            except RecipientFieldsError as error:
                failures[index] = error
                violations += len(error.violations) if isinstance(error, InvalidInput) else 1
            if violations >= _MAX_VIOLATIONS:
                break
        if failures:
            raise BatchRejected(failures)
        return staged


class StagedBatch:
    """The effect of operations on a catalog, which is not stored yet.

    A new field has a provisional id, which is negative, until the storage assigns its id.
    """

    def __init__(self, catalog: Catalog, *, by: Channel, at: datetime, limit: int | None) -> None:
        self._stored = {each.id: each for each in catalog.fields}
        self._organization_id = catalog.organization_id
        self._by, self._at, self._limit = by, at, limit
        self._fields = dict(self._stored)
        self._ids = {each.key: each.id for each in catalog.fields}
        self._counts = Counter(each.origin.source for each in catalog.fields)
        self._provisional_ids = map(FieldId, count(-1, -1))
        self._targets: list[FieldId] = []

    def perform(self, operation: BatchOperation) -> None:
        """Perform one operation.

        Raises: the errors of the use case of the single operation; KeyRepeated if an earlier
        operation creates a field with the same key.
        """
        match operation:
            case CreateField(draft):
                field = self._create(draft)
            case UpdateField(reference, changes, version):
                field = self._update(reference, changes, _precondition(version))
            case ReplaceField(reference, replacement, version):
                field = self._replace(reference, replacement, _precondition(version))
            case DeleteField(reference, version):
                field = self._delete(reference, _precondition(version))
        self._targets.append(field.id)

    def changes(self) -> CatalogChanges:
        """Return the changes to the stored catalog. One field has at most one of them."""
        return CatalogChanges(
            deleted=tuple(each for each in self._stored.values() if each.id not in self._fields),
            updated=tuple(
                FieldUpdate(before, after)
                for before in self._stored.values()
                if (after := self._fields.get(before.id, before)) is not before
            ),
            created=tuple(map(_definition, self._created())),
        )

    def results(self, created: Iterable[RecipientField]) -> tuple[RecipientField | None, ...]:
        """Return the field of each operation after the batch, or None if it does not exist then.

        `created` contains the created fields of `changes` with the ids that the storage assigned.
        """
        provisional_ids = (each.id for each in self._created())
        stored = {**self._fields, **dict(zip(provisional_ids, created, strict=True))}
        return tuple(stored.get(target) for target in self._targets)

    def _create(self, draft: FieldDraft) -> RecipientField:
        definition = draft.define(by=self._by, at=self._at)
        key, source = definition.key, definition.origin.source
        holder = self._find(key)
        if holder is not None and holder.id not in self._stored:
            raise KeyRepeated(key)
        limit = self._limit if source is Source.API else None
        require_addable(key, holder=holder, count=self._counts[source], limit=limit)
        field = definition.with_id(next(self._provisional_ids), self._organization_id)
        self._fields[field.id], self._ids[key] = field, field.id
        self._counts[source] += 1
        return field

    def _update(
        self, reference: FieldReference, changes: FieldChanges, precondition: Precondition
    ) -> RecipientField:
        field = self._get(reference).with_changes(
            changes, by=self._by, at=self._at, precondition=precondition
        )
        self._fields[field.id] = field
        return field

    def _replace(
        self, reference: FieldReference, replacement: FieldReplacement, precondition: Precondition
    ) -> RecipientField:
        if isinstance(reference, str) and self._find(reference) is None:
            precondition.require(None)
            return self._create(replacement.draft(reference, by=self._by))
        return self._update(reference, replacement.changes(), precondition)

    def _delete(self, reference: FieldReference, precondition: Precondition) -> RecipientField:
        field = self._get(reference)
        field.require_deletable(by=self._by, precondition=precondition)
        del self._fields[field.id], self._ids[field.key]
        self._counts[field.origin.source] -= 1
        return field

    def _get(self, reference: FieldReference) -> RecipientField:
        field = self._find(reference)
        if field is None:
            raise FieldNotFound
        return field

    def _find(self, reference: FieldReference) -> RecipientField | None:
        if isinstance(reference, str):
            field_id = self._ids.get(reference)
        else:  # Operations can't refer to a provisional id.
            field_id = reference if reference in self._stored else None
        return None if field_id is None else self._fields.get(field_id)

    def _created(self) -> Iterator[RecipientField]:
        return (each for each in self._fields.values() if each.id not in self._stored)


def _precondition(expected_version: str | None) -> Precondition:
    if expected_version is None:
        return UNCONDITIONAL
    return Precondition(match=frozenset({expected_version}))


def _definition(field: RecipientField) -> FieldDefinition:
    """Return the definition of a field whose id is provisional."""
    members = (each.name for each in fields(FieldDefinition))
    return FieldDefinition(**{member: getattr(field, member) for member in members})
