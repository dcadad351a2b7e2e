"""Plans: the changes that make the API-managed fields of an organization equal to a document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from attrs import frozen

from ..arguments import require_type
from ..permissions import Denied, Operation, decide
from .batches import Batch, BatchOperation, CreateField, DeleteField, UpdateField
from .catalog_changes import FieldUpdate
from .field import Catalog, FieldChanges, FieldDefinition, FieldDraft, RecipientField
from .members import WRITABLE_MEMBERS
from .origins import API
from .values import AllowedValues, FieldKey

__all__ = ["FieldPlan", "FieldSwap", "RefusedDraft", "plan_fields"]


@frozen
class FieldSwap:
    """A field to delete, and the draft of the field that gets its key."""

    deleted: RecipientField
    created: FieldDraft


@frozen
class RefusedDraft:
    """A field of the document that can't be created or changed, and a sentence with the reason."""

    draft: FieldDraft
    reason: str


@frozen(kw_only=True)
class FieldPlan:
    """The changes that make the API-managed fields of a catalog equal to a document.

    `unplanned` contains the API-managed fields that are not in the document and stay as they are.
    `unchanged` is the number of fields that are already as the document defines them. The plan
    applies to the version of the catalog with the tag `version_tag`, and only if `refused` is
    empty.
    """

    version_tag: str
    created: tuple[FieldDraft, ...]
    updated: tuple[FieldUpdate, ...]
    swapped: tuple[FieldSwap, ...]
    deleted: tuple[RecipientField, ...]
    unplanned: tuple[RecipientField, ...]
    unchanged: int
    refused: tuple[RefusedDraft, ...]

    def batch(self) -> Batch:
        """Return the batch that applies the plan. It fails if the catalog has changed since."""
        return Batch(tuple(self._operations()), self.version_tag)

    def _operations(self) -> Iterator[BatchOperation]:
        for each in self.deleted:
            yield DeleteField(each.key)
        for swap in self.swapped:
            yield DeleteField(swap.deleted.key)
            yield CreateField(swap.created)
        for update in self.updated:
            yield UpdateField(update.after.key, _changes(update))
        for draft in self.created:
            yield CreateField(draft)


def plan_fields(
    catalog: Catalog,
    drafts: Iterable[FieldDraft],
    *,
    prune: bool = False,
    replaceable: Collection[FieldKey] = (),
) -> FieldPlan:
    """Return the changes that make the API-managed fields of the catalog equal to the drafts.

    No two drafts have the same key. Other API-managed fields are deleted only if `prune` is true.
    If the data type of a field changes, it is deleted and created again, but only if its key is
    `replaceable`.

    Raises: InvalidField if the data type of a draft does not permit its allowed values.
    """
    require_type(Catalog, catalog=catalog)
    require_type(Iterable, drafts=drafts)
    stored = {each.key: each for each in catalog.fields}
    planned = [
        _plan_field(stored.pop(draft.key, None), draft, replaceable)
        for draft in sorted(drafts, key=lambda each: each.key)
    ]
    others = tuple(each for _, each in sorted(stored.items()) if each.origin.source is API.source)
    return FieldPlan(
        version_tag=catalog.version_tag,
        created=tuple(each for each in planned if isinstance(each, FieldDraft)),
        updated=tuple(each for each in planned if isinstance(each, FieldUpdate)),
        swapped=tuple(each for each in planned if isinstance(each, FieldSwap)),
        deleted=others if prune else (),
        unplanned=() if prune else others,
        unchanged=planned.count(None),
        refused=tuple(each for each in planned if isinstance(each, RefusedDraft)),
    )


def _plan_field(
    stored: RecipientField | None, draft: FieldDraft, replaceable: Collection[FieldKey]
) -> FieldDraft | FieldUpdate | FieldSwap | RefusedDraft | None:
    """Return what makes the field equal to the draft, or None if it is."""
    if stored is None:
        return draft
    decision = decide(API, Operation.UPDATE, stored.origin)
    if isinstance(decision, Denied):
        return RefusedDraft(draft, decision.reason)
    if stored.data_type is not draft.data_type:
        if draft.key in replaceable:
            return FieldSwap(stored, draft)
        return RefusedDraft(draft, _data_type_reason(stored, draft))
    defined = draft.define(by=API, at=stored.created_at)
    changes = FieldChanges(**{name: _member(defined, name) for name in WRITABLE_MEMBERS})
    changed = stored.with_changes(changes, by=API, at=stored.updated_at)
    return None if changed is stored else FieldUpdate(stored, changed)


def _changes(update: FieldUpdate) -> FieldChanges:
    """Return the changed members only, so that a plan shows what it changes."""
    return FieldChanges(
        **{
            name: _member(update.after, name)
            for name in WRITABLE_MEMBERS
            if getattr(update.before, name) != getattr(update.after, name)
        }
    )


def _member(field: FieldDefinition, name: str) -> Any:
    value = getattr(field, name)
    return value.values if isinstance(value, AllowedValues) else value


def _data_type_reason(stored: RecipientField, draft: FieldDraft) -> str:
    return (
        f"The data type of a field can't be changed from {stored.data_type.value} to"
        f" {draft.data_type.value}. The field can only be deleted and created again."
    )
