"""Batches: operations on the fields of an organization that take effect together, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import Any, TypeAlias

from attrs import fields, frozen

from ..arguments import require_type
from ..errors import InvalidInput, RecipientFieldsError, Rule, Violation
from ..identity import FieldId, OrganizationId
from ..permissions import Denied, Operation, decide
from .catalog_changes import CatalogChanges, CatalogView, require_addable, require_room
from .errors import CatalogChanged, FieldNotFound, KeyRepeated
from .field import (
    Catalog,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldReference,
    RecipientField,
)
from .history import Change, RecordedOperation
from .members import WRITABLE_MEMBERS
from .origins import API, Channel, Source
from .preconditions import UNCONDITIONAL, Precondition
from .sizes import id_size
from .values import MAX_SAFE_INTEGER, AllowedValues, FieldKey

__all__ = [
    "MAX_BATCH_OPERATIONS",
    "Batch",
    "BatchOperation",
    "BatchRejected",
    "CreateField",
    "DeleteField",
    "FieldIdentity",
    "ReplaceField",
    "StagedBatch",
    "UpdateField",
    "plan_fields",
    "view_of",
]

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

    The changes have a value for each writable member, and repeat the data type, as
    `FieldDraft.changes` returns them. If `expected_version` is not None, the field must exist with
    this `version_tag`.
    """

    reference: FieldReference
    changes: FieldChanges
    expected_version: str | None = None


@frozen
class DeleteField:
    """The operation that deletes a field.

    If `expected_version` is not None, the field must have this `version_tag`.
    """

    reference: FieldReference
    expected_version: str | None = None


BatchOperation: TypeAlias = CreateField | UpdateField | ReplaceField | DeleteField


@frozen
class FieldIdentity:
    """The id and the key of a field, which never change."""

    id: FieldId
    key: FieldKey


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
        self,
        catalog: CatalogView,
        *,
        by: Channel,
        at: datetime,
        limit: int | None = None,
        size_limit: int | None = None,
    ) -> StagedBatch:
        """Return the effect of the operations on this catalog, which is not stored yet.

        `limit` is the maximum of API-managed fields, `size_limit` that of the bytes of the list.

        An operation sees the effects of earlier ones. After a failed operation, the others are
        still checked, so that the error contains all failures, unless these have 1,000 violations.

        Raises: CatalogChanged if the catalog does not have the expected version; BatchRejected if
        an operation fails with an error that the use case of the single operation raises, or with
        KeyRepeated.
        """
        read = catalog.all()
        if self.expected_version not in {None, read.version_tag}:
            raise CatalogChanged(read.version_tag)
        staged = StagedBatch(
            _ReadCatalog(read, catalog),
            read.organization_id,
            by=by,
            at=at,
            limit=limit,
            size_limit=size_limit,
        )
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
    """Changes to a catalog that are not stored yet. Each one sees the effects of earlier ones.

    A new field has a provisional id, which is negative, until the storage assigns its id. `limit`
    is the maximum of API-managed fields, `size_limit` that of the bytes of the list.
    """

    def __init__(
        self,
        catalog: CatalogView,
        organization_id: OrganizationId,
        *,
        by: Channel,
        at: datetime,
        limit: int | None,
        size_limit: int | None = None,
    ) -> None:
        self._catalog, self._organization_id = catalog, organization_id
        self._by, self._at, self._limit, self._size_limit = by, at, limit, size_limit
        self._stored: dict[FieldId, RecipientField] = {}
        # By id and by key, None if deleted. A provisional id is absent: nothing may refer to it.
        self._changed: dict[FieldReference, RecipientField | None] = {}
        self._created: dict[FieldId, RecipientField] = {}
        self._updates: dict[FieldId, Change[RecipientField]] = {}
        self._added: Counter[Source] = Counter()
        self._added_size = 0  # Not counted without a limit.
        self._provisional_ids = map(FieldId, count(-1, -1))
        self._targets: list[FieldId] = []

    def perform(self, operation: BatchOperation) -> None:
        """Perform one operation.

        Raises: the errors of the method for this operation.
        """
        match operation:
            case CreateField(draft):
                field = self.create(draft)
            case UpdateField(reference, changes, version):
                field = self.update(reference, changes, _precondition(version))
            case ReplaceField(reference, changes, version):
                field = self.replace(reference, changes, _precondition(version))
            case DeleteField(reference, version):
                field = self.delete(reference, _precondition(version))
        self._targets.append(field.id)

    def create(self, draft: FieldDraft) -> RecipientField:
        """Create a field, and return it with a provisional id.

        Raises: the errors of `RecipientFields.create_field`; KeyRepeated if an earlier change
        creates a field with the same key.
        """
        return self._create(draft, self._find(draft.key))

    def update(
        self,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """Update a field, and return it.

        Raises: the errors of `RecipientFields.update_field`.
        """
        return self._update(self._get(reference), changes, precondition)

    def replace(
        self,
        reference: FieldReference,
        changes: FieldChanges,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """Replace a field, or create it if the reference is a free key. Return the field.

        Raises: the errors of `RecipientFields.replace_or_create_field`.
        """
        field = self._find(reference)
        if field is not None:
            return self._update(field, changes, precondition)
        if not isinstance(reference, str):
            raise FieldNotFound
        precondition.require(None)
        return self._create(changes.draft(reference, by=self._by), None)

    def delete(
        self, reference: FieldReference, precondition: Precondition = UNCONDITIONAL
    ) -> RecipientField:
        """Delete a field, and return it as it was before.

        Raises: the errors of `RecipientFields.delete_field`.
        """
        field = self._get(reference)
        field.require_deletable(by=self._by, precondition=precondition)
        self._resize(lambda: -self._size(field))
        self._change(field, None)
        self._added[field.origin.source] -= 1
        return field

    def changes(self) -> CatalogChanges[FieldDefinition]:
        """Return the changes to the stored catalog. One field has at most one of them."""
        stored = [self._stored[field_id] for field_id in sorted(self._stored)]
        results = [(before, self._changed[before.id]) for before in stored]
        return CatalogChanges.of(
            deleted=[before for before, after in results if after is None],
            updated=[
                self._update_of(before, after)
                for before, after in results
                if after is not None and after is not before
            ],
            created=map(_definition, self._created.values()),
        )

    def fields(self) -> tuple[RecipientField, ...]:
        """Return the fields after the changes, by ascending id. New fields have provisional ids."""
        changed = {field_id: self._changed[field_id] for field_id in self._stored}
        stored = {each.id: each for each in self._catalog.all().fields}
        after = {**stored, **changed, **self._created}
        return tuple(field for _, field in sorted(after.items()) if field is not None)

    def results(self, created: Iterable[RecipientField]) -> tuple[RecipientField | None, ...]:
        """Return the field of each operation after the batch, or None if it does not exist then.

        `created` contains the created fields of `changes` with the ids that the storage assigned.
        """
        assigned = dict(zip(self._created, created, strict=True))
        return tuple(assigned.get(each) or self._changed.get(each) for each in self._targets)

    def provisional_results(self) -> tuple[RecipientField | None, ...]:
        """Return the results, in which the created fields have provisional ids."""
        return self.results(self._created.values())

    def _create(self, draft: FieldDraft, holder: RecipientField | None) -> RecipientField:
        definition = draft.define(by=self._by, at=self._at)
        if holder is not None and holder.id in self._created:
            raise KeyRepeated(definition.key)
        source = definition.origin.source
        limit = self._limit if source is Source.API else None
        require_addable(definition, holder=holder, count=self._count, limit=limit)
        field = definition.with_id(next(self._provisional_ids), self._organization_id)
        self._resize(
            lambda: definition.size_without_id + id_size(self._first_id + len(self._created))
        )
        self._created[field.id] = self._changed[field.key] = field
        self._added[source] += 1
        return field

    def _update(
        self, field: RecipientField, changes: FieldChanges, precondition: Precondition
    ) -> RecipientField:
        changed = field.with_changes(changes, by=self._by, at=self._at, precondition=precondition)
        if changed is not field:
            self._updates[field.id] = update = Change(RecordedOperation.UPDATED, field, changed)
            self._resize(lambda: update.added_size)
        self._change(field, changed)
        return changed

    def _update_of(self, before: RecipientField, after: RecipientField) -> Change[RecipientField]:
        """Return the change, whose size may be known if it is the only one of the field."""
        last = self._updates.get(before.id)
        if last is not None and last.before is before and last.after is after:
            return last
        return Change(RecordedOperation.UPDATED, before, after)

    def _change(self, field: RecipientField, changed: RecipientField | None) -> None:
        self._changed[field.key] = changed
        if field.id not in self._created:
            self._stored.setdefault(field.id, field)
            self._changed[field.id] = changed
        elif changed is not None:
            self._created[field.id] = changed
        else:
            del self._created[field.id]

    def _resize(self, added_size: Callable[[], int]) -> None:
        """Check that a change that adds this many bytes has room, and count them."""
        if self._size_limit is None:
            return
        added = added_size()
        require_room(self._fields_size, added=added, limit=self._size_limit)
        self._added_size += added

    def _size(self, field: RecipientField) -> int:
        """Return the size of a field, with the last new id if the field is not stored yet."""
        if field.id not in self._created:
            return field.size
        return field.size_without_id + id_size(self._first_id + len(self._created) - 1)

    def _get(self, reference: FieldReference) -> RecipientField:
        field = self._find(reference)
        if field is None:
            raise FieldNotFound
        return field

    def _find(self, reference: FieldReference) -> RecipientField | None:
        if reference in self._changed:
            return self._changed[reference]
        return self._catalog.find(reference)

    @cached_property
    def _first_id(self) -> int:
        """The id that the first new field gets."""
        return self._catalog.next_id()

    @cached_property
    def _stored_size(self) -> int:
        return self._catalog.fields_size()

    def _fields_size(self) -> int:
        return self._stored_size + self._added_size

    def _count(self, source: Source) -> int:
        return self._catalog.count(source) + self._added[source]


def plan_fields(
    catalog: Catalog,
    drafts: Iterable[FieldDraft],
    *,
    prune: bool = False,
    replaceable: Collection[FieldKey] = (),
) -> tuple[Batch, tuple[Violation, ...]]:
    """Return the batch that makes the API-managed fields of the catalog equal to the drafts.

    Also return a violation for each change that is refused, at `fields` and the key. The batch does
    not contain these changes. It fails if the catalog has changed since.

    No two drafts have the same key. Other API-managed fields are deleted only if `prune` is true.
    If the data type of a field changes, it is deleted and created again, but only if its key is
    `replaceable`.
    """
    require_type(Catalog, catalog=catalog)
    require_type(Iterable, drafts=drafts)
    stored = {each.key: each for each in catalog.fields}
    replaced: list[BatchOperation] = []
    updated: list[BatchOperation] = []
    created: list[BatchOperation] = []
    refused: list[Violation] = []
    for draft in sorted(drafts, key=lambda each: each.key):
        field = stored.pop(draft.key, None)
        if field is None:
            created.append(CreateField(draft))
            continue
        refusal = _refusal(field, draft, replaceable)
        if refusal is not None:
            refused.append(refusal)
        elif field.data_type is not draft.data_type:
            replaced += [DeleteField(draft.key), CreateField(draft)]
        elif changed := _changed_members(field, draft):
            updated.append(UpdateField(draft.key, FieldChanges(**changed)))
    others = [each for _, each in sorted(stored.items()) if each.origin.source is API.source]
    deleted = [DeleteField(each.key) for each in others] if prune else []
    return Batch((*deleted, *replaced, *updated, *created), catalog.version_tag), tuple(refused)


def _refusal(
    field: RecipientField, draft: FieldDraft, replaceable: Collection[FieldKey]
) -> Violation | None:
    """Return the reason why the field can't be as the draft defines it, or None if it can."""
    decision = decide(API, Operation.UPDATE, field.origin)
    if isinstance(decision, Denied):
        return Violation(Rule.NOT_APPLICABLE, decision.reason, ("fields", draft.key))
    if field.data_type is draft.data_type or draft.key in replaceable:
        return None
    message = (
        f"The data type of a field can't be changed from {field.data_type.value} to"
        f" {draft.data_type.value}. The field can only be deleted and created again."
    )
    return Violation(Rule.IMMUTABLE, message, ("fields", draft.key))


def _changed_members(field: RecipientField, draft: FieldDraft) -> Mapping[str, Any]:
    """Return the changed members only, so that a plan shows what it changes."""
    changed = {name: getattr(draft, name) for name in WRITABLE_MEMBERS}
    return {
        name: value.values if isinstance(value, AllowedValues) else value
        for name, value in changed.items()
        if value != getattr(field, name)
    }


def view_of(catalog: Catalog) -> CatalogView:
    """Return the view of a catalog that was read as a whole. It does not contain the history.

    Its next id is the greatest one.
    """
    require_type(Catalog, catalog=catalog)
    return _ReadCatalog(catalog)


class _ReadCatalog(CatalogView):
    """The view of a catalog that was read as a whole. It does not contain the history.

    `stored` is the view of the storage, which has the size of the fields and the next id. Without
    it, the sizes are added up, and the next id is the greatest one.
    """

    def __init__(self, catalog: Catalog, stored: CatalogView | None = None) -> None:
        self._catalog, self._stored = catalog, stored
        self._fields: dict[FieldReference, RecipientField] = {}
        for each in catalog.fields:
            self._fields[each.id] = self._fields[each.key] = each
        self._counts = Counter(each.origin.source for each in catalog.fields)

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        return self._fields.get(reference)

    def count(self, source: Source, /) -> int:
        return self._counts[source]

    def fields_size(self) -> int:
        if self._stored is not None:
            return self._stored.fields_size()
        return sum(each.size for each in self._catalog.fields)

    def next_id(self) -> FieldId:
        return FieldId(MAX_SAFE_INTEGER) if self._stored is None else self._stored.next_id()

    def last_deletion(self, _: FieldId, /) -> RecipientField | None:
        return None

    def removed_records(self) -> int:
        return 0

    def all(self) -> Catalog:
        return self._catalog


def _precondition(expected_version: str | None) -> Precondition:
    if expected_version is None:
        return UNCONDITIONAL
    return Precondition(match=frozenset({expected_version}))


def _definition(field: RecipientField) -> FieldDefinition:
    """Return the definition of a field whose id is provisional."""
    members = (each.name for each in fields(FieldDefinition))
    return FieldDefinition(**{member: getattr(field, member) for member in members})
