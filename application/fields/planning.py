"""The use case of plans: what a document of fields, or a saved plan, does to a catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum

from attrs import frozen

from recipient_fields.domain import (
    API,
    MAX_BATCH_OPERATIONS,
    AppliedChanges,
    Batch,
    Catalog,
    CatalogChanges,
    FieldId,
    FieldKey,
    RecipientField,
    RefusedDraft,
    plan_fields,
    view_of,
)
from recipient_fields.domain.esp import Integration
from recipient_fields.domain.esp.names.plans import NamesPlan, plan_names, plan_saved_names

from ..clock import system_clock
from .fields_as_code import CatalogDocument, render_definition
from .plan_documents import SavedPlan


class PlanAction(Enum):
    """What a plan does to a field."""

    CREATE = "create"
    CHANGE = "change"
    REPLACE = "replace"
    DELETE = "delete"
    REFUSED = "refused"


@frozen(kw_only=True)
class PlanStep:
    """What happens to one field. `before` and `after` are its members, or None without a field.

    `is_replaceable` is whether the field of a refused step can be deleted and created again.
    """

    action: PlanAction
    key: str
    before: Mapping[str, object] | None = None
    after: Mapping[str, object] | None = None
    reason: str | None = None
    is_replaceable: bool = False


@frozen(kw_only=True)
class CatalogPlan:
    """What a plan does to the API-managed fields of a catalog: its steps, in the order of keys.

    `names` is what it then does to the names at integrations. `unchanged` is the number of
    API-managed fields without a step, and `unplanned` the number of those among them that are not
    in the document. `field_count` is the number of API-managed fields after the batch.
    """

    batch: Batch
    steps: tuple[PlanStep, ...]
    names: NamesPlan
    unchanged: int
    unplanned: int
    field_count: int

    def count(self, action: PlanAction) -> int:
        """Return the number of steps with this action."""
        return sum(step.action is action for step in self.steps)

    @property
    def step_count(self) -> int:
        """The number of changes to fields and names."""
        return len(self.steps) + len(self.names.steps)

    @property
    def is_permitted(self) -> bool:
        """Whether no step is refused. The batch does not contain refused steps."""
        return not self.count(PlanAction.REFUSED) and self.names.is_permitted

    @property
    def is_too_long(self) -> bool:
        """Whether the batch has more operations than can be applied together."""
        return len(self.batch.operations) > MAX_BATCH_OPERATIONS

    def exceeds(self, limit: int) -> bool:
        """Return whether the plan creates fields above this limit of API-managed fields."""
        return self.count(PlanAction.CREATE) > 0 and self.field_count > limit

    def save(self) -> SavedPlan:
        """Return what a file has to contain to apply exactly this plan."""
        return SavedPlan(self.batch, self.names.changes)


def plan_document(
    catalog: Catalog,
    document: CatalogDocument,
    integrations: Collection[Integration] = (),
    *,
    prune: bool = False,
    replaceable: Collection[FieldKey] = (),
) -> CatalogPlan:
    """Return what makes the fields of the catalog, and the names at integrations, as documented.

    `integrations` are all of the organization. The other arguments and the errors are those of
    `plan_fields`. With `prune`, other names at the integrations of the document are removed, too.
    """
    planned = plan_fields(catalog, document.fields, prune=prune, replaceable=replaceable)
    batch = planned.batch()
    changes = _stage(catalog, batch)
    fields = _fields_after(catalog, changes)
    names = plan_names(document.integrations, integrations, fields, prune=prune)
    return _plan(catalog, batch, changes, names, planned.refused, len(planned.unplanned))


def plan_saved(
    catalog: Catalog, plan: SavedPlan, integrations: Collection[Integration] = ()
) -> CatalogPlan:
    """Return what a saved plan does to the catalog and to its integrations.

    Raises: CatalogChanged if the plan is for another version of the catalog; BatchRejected if an
    operation fails; IntegrationNotFound if one of its integrations does not exist.
    """
    changes = _stage(catalog, plan.batch)
    names = plan_saved_names(plan.names, integrations, _fields_after(catalog, changes))
    return _plan(catalog, plan.batch, changes, names)


def _stage(catalog: Catalog, batch: Batch) -> CatalogChanges:
    return batch.stage(view_of(catalog), by=API, at=system_clock()).changes()


def _fields_after(catalog: Catalog, changes: CatalogChanges) -> tuple[RecipientField, ...]:
    """Return the fields after the changes. Only negative ids are certainly free for new fields."""
    created = [
        definition.with_id(FieldId(-number), catalog.organization_id)
        for number, definition in enumerate(changes.created, start=1)
    ]
    return AppliedChanges(changes, tuple(created)).apply_to(catalog.fields)


def _plan(
    catalog: Catalog,
    batch: Batch,
    changes: CatalogChanges,
    names: NamesPlan,
    refused: Sequence[RefusedDraft] = (),
    unplanned: int = 0,
) -> CatalogPlan:
    managed = {str(field.key): field for field in catalog.fields if _is_managed(field)}
    steps = [*_steps(changes), *(_refused_step(each, managed) for each in refused)]
    touched = {step.key for step in steps}
    return CatalogPlan(
        batch=batch,
        steps=tuple(sorted(steps, key=lambda step: step.key)),
        names=names,
        unchanged=len(managed.keys() - touched),
        unplanned=unplanned,
        field_count=len(managed) + len(changes.created) - len(changes.deleted),
    )


def _is_managed(field: RecipientField) -> bool:
    return field.origin.source is API.source


def _steps(changes: CatalogChanges) -> Iterator[PlanStep]:
    created = {str(field.key): render_definition(field) for field in changes.created}
    for field in changes.deleted:
        key, before = str(field.key), render_definition(field)
        after = created.pop(key, None)
        action = PlanAction.DELETE if after is None else PlanAction.REPLACE
        yield PlanStep(action=action, key=key, before=before, after=after)
    for update in changes.updated:
        before, after = render_definition(update.before), render_definition(update.after)
        yield PlanStep(
            action=PlanAction.CHANGE, key=str(update.after.key), before=before, after=after
        )
    for key, members in created.items():
        yield PlanStep(action=PlanAction.CREATE, key=key, after=members)


def _refused_step(refused: RefusedDraft, managed: Collection[str]) -> PlanStep:
    key = str(refused.draft.key)
    return PlanStep(
        action=PlanAction.REFUSED,
        key=key,
        reason=refused.reason,
        is_replaceable=key in managed,
    )
