"""The use case of plans: what a document of fields, or a saved plan, does to a catalog."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    API,
    MAX_BATCH_OPERATIONS,
    Batch,
    Catalog,
    FieldKey,
    PlanAction,
    PlannedChange,
    RecipientField,
    plan_fields,
    view_of,
)
from recipient_fields.domain.integrations import Integration, SetName
from recipient_fields.domain.integrations.plans import NameChanges, plan_names, plan_saved_names

from ..clock import system_clock
from .fields_as_code import CatalogDocument
from .plan_documents import SavedPlan


@frozen(kw_only=True)
class CatalogPlan:
    """What a plan does to a catalog.

    `fields` are the changes of its API-managed fields, by key, and `names` those of the names at
    integrations, which follow. The batch and `set_names` make them, except refused ones.
    `unchanged` is the number of API-managed fields without a change, `unplanned` the number of
    those among them that are not in the document, and `unchanged_names` that of the names that are
    as the document defines them. `field_count` is the number of API-managed fields after the batch.
    """

    batch: Batch
    set_names: NameChanges = field(factory=dict)
    fields: tuple[PlannedChange[RecipientField], ...]
    names: tuple[PlannedChange[SetName], ...] = ()
    unchanged: int
    unplanned: int = 0
    unchanged_names: int = 0
    field_count: int

    @property
    def changes(self) -> tuple[PlannedChange[RecipientField] | PlannedChange[SetName], ...]:
        """All changes, in their order."""
        return (*self.fields, *self.names)

    @property
    def is_permitted(self) -> bool:
        """Whether no change is refused."""
        return all(each.refusal is None for each in self.changes)

    @property
    def is_too_long(self) -> bool:
        """Whether the batch has more operations than can be applied together."""
        return len(self.batch.operations) > MAX_BATCH_OPERATIONS

    def exceeds(self, limit: int) -> bool:
        """Return whether the plan creates fields above this limit of API-managed fields."""
        creates = any(each.action is PlanAction.CREATE for each in self.fields)
        return creates and self.field_count > limit

    def save(self) -> SavedPlan:
        """Return what a file has to contain to apply exactly this plan."""
        return SavedPlan(self.batch, self.set_names)


def plan_document(
    catalog: Catalog,
    document: CatalogDocument,
    integrations: Collection[Integration] = (),
    *,
    prune: bool = False,
    replaceable: Collection[FieldKey] = (),
) -> CatalogPlan:
    """Return what makes the fields of the catalog, and the names at integrations, as documented.

    `integrations` are all of the organization. The other arguments are those of `plan_fields`. With
    `prune`, other names at the integrations of the document are removed, too.
    """
    batch, refused = plan_fields(catalog, document.fields, prune=prune, replaceable=replaceable)
    after = _fields_after(catalog, batch)
    set_names, names, unchanged = plan_names(
        document.integrations, integrations, after, prune=prune
    )
    documented = {str(each.key) for each in document.fields}
    return evolve(
        _plan(catalog, batch, after, refused),
        set_names=set_names,
        names=names,
        unplanned=0 if prune else len(_managed(catalog.fields).keys() - documented),
        unchanged_names=unchanged,
    )


def plan_saved(
    catalog: Catalog, plan: SavedPlan, integrations: Collection[Integration] = ()
) -> CatalogPlan:
    """Return what a saved plan does to the catalog and to its integrations.

    Raises: CatalogChanged if the plan is for another version of the catalog; BatchRejected if an
    operation fails; IntegrationNotFound if one of its integrations does not exist.
    """
    after = _fields_after(catalog, plan.batch)
    names = plan_saved_names(plan.names, integrations, after)
    return evolve(_plan(catalog, plan.batch, after), set_names=plan.names, names=names)


def _fields_after(catalog: Catalog, batch: Batch) -> tuple[RecipientField, ...]:
    return batch.stage(view_of(catalog), by=API, at=system_clock()).fields()


def _plan(
    catalog: Catalog,
    batch: Batch,
    fields_after: Collection[RecipientField],
    refused: Sequence[PlannedChange[RecipientField]] = (),
) -> CatalogPlan:
    """Return the plan without the names."""
    before, after = _managed(catalog.fields), _managed(fields_after)
    changes = [
        PlannedChange(key=key, before=before.get(key), after=after.get(key))
        for key in before.keys() | after.keys()
        if before.get(key) is not after.get(key)
    ]
    by_key = {str(each.key): each for each in [*changes, *refused]}
    return CatalogPlan(
        batch=batch,
        fields=tuple(by_key[key] for key in sorted(by_key)),
        unchanged=len(before.keys() - by_key.keys()),
        field_count=len(after),
    )


def _managed(fields: Collection[RecipientField]) -> dict[str, RecipientField]:
    """Return the API-managed fields by key."""
    return {str(each.key): each for each in fields if each.origin.source is API.source}
