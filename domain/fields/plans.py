"""Plans: the changes that make the API-managed fields of an organization equal to a document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar

from attrs import frozen

from ..arguments import require_type
from ..errors import Rule, Violation
from ..permissions import Denied, Operation, decide
from .batches import Batch, BatchOperation, CreateField, DeleteField, UpdateField
from .field import Catalog, FieldChanges, FieldDraft, RecipientField
from .members import WRITABLE_MEMBERS
from .origins import API
from .values import AllowedValues, FieldKey

__all__ = ["PlanAction", "PlannedChange", "plan_fields"]

T = TypeVar("T")


class PlanAction(Enum):
    """What a plan does to a field, or to the name of a field at an integration."""

    CREATE = "create"
    CHANGE = "change"
    REPLACE = "replace"
    DELETE = "delete"
    REFUSED = "refused"


@frozen(kw_only=True)
class PlannedChange(Generic[T]):
    """A change that a plan makes, or that it refuses.

    It is about the field with the key, or about the name of that field at `integration`, which is
    the name of an integration. `key` is None if a whole integration is refused. `before` and
    `after` are None if there is no field or no name then, and if the change is refused.
    """

    key: str | None
    integration: str | None = None
    before: T | None = None
    after: T | None = None
    refusal: Violation | None = None

    @property
    def action(self) -> PlanAction:
        """What the plan does. A field that is deleted and created again has another id."""
        if self.refusal is not None:
            return PlanAction.REFUSED
        if self.after is None:
            return PlanAction.DELETE
        if self.before is None:
            return PlanAction.CREATE
        is_replaced = getattr(self.before, "id", None) != getattr(self.after, "id", None)
        return PlanAction.REPLACE if is_replaced else PlanAction.CHANGE


def plan_fields(
    catalog: Catalog,
    drafts: Iterable[FieldDraft],
    *,
    prune: bool = False,
    replaceable: Collection[FieldKey] = (),
) -> tuple[Batch, tuple[PlannedChange[RecipientField], ...]]:
    """Return the batch that makes the API-managed fields of the catalog equal to the drafts.

    Also return the refused changes, by key, which the batch does not contain. It fails if the
    catalog has changed since.

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
    refused: list[PlannedChange[RecipientField]] = []
    for draft in sorted(drafts, key=lambda each: each.key):
        field = stored.pop(draft.key, None)
        if field is None:
            created.append(CreateField(draft))
            continue
        refusal = _refusal(field, draft, replaceable)
        if refusal is not None:
            refused.append(PlannedChange(key=str(draft.key), refusal=refusal))
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
        return Violation(Rule.NOT_APPLICABLE, decision.reason)
    if field.data_type is draft.data_type or draft.key in replaceable:
        return None
    message = (
        f"The data type of a field can't be changed from {field.data_type.value} to"
        f" {draft.data_type.value}. The field can only be deleted and created again."
    )
    return Violation(Rule.IMMUTABLE, message)


def _changed_members(field: RecipientField, draft: FieldDraft) -> Mapping[str, Any]:
    """Return the changed members only, so that a plan shows what it changes."""
    changed = {name: getattr(draft, name) for name in WRITABLE_MEMBERS}
    return {
        name: value.values if isinstance(value, AllowedValues) else value
        for name, value in changed.items()
        if value != getattr(field, name)
    }
