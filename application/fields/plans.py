"""Plans: what a document of fields, or a saved plan, does to a catalog and to names at ESPs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    API,
    MAX_BATCH_OPERATIONS,
    Batch,
    Catalog,
    Change,
    FieldKey,
    IntegrationId,
    RecipientField,
    RecordedOperation,
    Rule,
    Violation,
    plan_fields,
    view_of,
)
from recipient_fields.domain.esp import BUILT_IN, Profiles
from recipient_fields.domain.integrations import EspNames, Integration, IntegrationNotFound, SetName
from recipient_fields.domain.integrations.setting import (
    NameChange,
    NamesToSet,
    plan_names,
    plan_set_names,
    set_names,
)

from ..clock import system_clock
from ..documents.conversion import checked, parse_document
from ..documents.strict_json import NotJson, parse_json, render_json
from .batch_documents import parse_batch, render_batch
from .fields_as_code import CatalogDocument

FieldChange: TypeAlias = Change[RecipientField]


@frozen(kw_only=True)
class Plan:
    """The changes that make a catalog, and names at integrations, equal to a document.

    `fields` are the changes of its API-managed fields, by key, and `names` those of the names at
    integrations, which follow. A field with another id than before is deleted and created again. A
    violation is a refused change. Its path is `fields` and the key, or `integrations`, the name of
    the integration, and the key unless all names there are refused.

    The `batch` changes the fields. `unchanged` is the number of API-managed fields without a
    change, `unplanned` the number of those among them that are not in the document, and
    `unchanged_names` that of the names that are as the document defines them. `field_count` is the
    number of API-managed fields after the batch, and `after` contains all fields then.
    """

    batch: Batch
    fields: tuple[FieldChange | Violation, ...]
    names: tuple[NameChange | Violation, ...] = ()
    unchanged: int
    unplanned: int = 0
    unchanged_names: int = 0
    field_count: int
    _after: tuple[RecipientField, ...] = field(alias="after")

    @property
    def changes(self) -> tuple[FieldChange | NameChange | Violation, ...]:
        """All changes, in their order."""
        return (*self.fields, *self.names)

    @property
    def is_permitted(self) -> bool:
        """Whether no change is refused."""
        return not any(isinstance(each, Violation) for each in self.changes)

    @property
    def is_too_long(self) -> bool:
        """Whether the batch has more operations than can be applied together."""
        return len(self.batch.operations) > MAX_BATCH_OPERATIONS

    @property
    def names_to_set(self) -> NamesToSet:
        """The names that the plan sets or removes."""
        names: dict[IntegrationId, dict[str, SetName | None]] = {}
        for each in self.names:
            if isinstance(each, Change):
                set_name = None if each.after is None else each.after.esp_name
                names.setdefault(each.field.integration.id, {})[each.field.key] = set_name
        return names

    def names_after(self, names: EspNames) -> EspNames:
        """Return the names of all fields after the plan, from those before it."""
        fields = self._after
        integrations = dict(names.integrations)
        for integration_id, changes in self.names_to_set.items():
            integration = integrations[integration_id]
            integrations[integration_id] = set_names(integration, fields, changes, names.profiles)
        return EspNames(fields, integrations.values(), names.profiles)

    def refuse(self, reasons: Mapping[str, str]) -> Plan:
        """Return the plan with refusals of the changes of fields, and of their names, by key.

        A field that the plan does not change itself is refused, too, if a name of another does.
        """
        if not reasons:
            return self
        refused = {
            key: Violation(Rule.NOT_APPLICABLE, reason, ("fields", key))
            for key, reason in reasons.items()
        }
        kept = {_key_of(each): each for each in self.fields}
        steps = {**kept, **refused}
        names = tuple(
            each
            for each in self.names
            if isinstance(each, Violation) or each.field.key not in reasons
        )
        return evolve(self, fields=tuple(steps[key] for key in sorted(steps)), names=names)

    def exceeds(self, limit: int) -> bool:
        """Return whether the plan creates fields above this limit of API-managed fields."""
        creates = any(
            isinstance(each, Change) and each.operation is RecordedOperation.CREATED
            for each in self.fields
        )
        return creates and self.field_count > limit


def _key_of(step: FieldChange | Violation) -> str:
    return str(step.path[-1]) if isinstance(step, Violation) else str(step.field.key)


def plan_document(
    catalog: Catalog,
    document: CatalogDocument,
    integrations: Collection[Integration] = (),
    *,
    prune: bool = False,
    replaceable: Collection[FieldKey] = (),
    profiles: Profiles = BUILT_IN,
) -> Plan:
    """Return what makes the fields of the catalog, and the names at integrations, as documented.

    `integrations` are all of the organization. The other arguments are those of `plan_fields`. With
    `prune`, other names at the integrations of the document are removed, too.
    """
    batch, refused = plan_fields(catalog, document.fields, prune=prune, replaceable=replaceable)
    after = _fields_after(catalog, batch)
    names = [
        plan_names(name, esp, by_key, integrations, after, prune=prune, profiles=profiles)
        for (name, esp), by_key in document.names.items()
    ]
    documented = {each.key for each in document.fields}
    return evolve(
        _plan(catalog, batch, after, refused),
        names=tuple(change for changes, _ in names for change in changes),
        unplanned=0 if prune else len(_managed(catalog.fields).keys() - documented),
        unchanged_names=sum(unchanged for _, unchanged in names),
    )


def plan_saved(
    catalog: Catalog,
    batch: Batch,
    names: NamesToSet,
    integrations: Collection[Integration] = (),
    profiles: Profiles = BUILT_IN,
) -> Plan:
    """Return what the saved batch and names do to the catalog and to its integrations.

    Raises: CatalogChanged if the batch is for another version of the catalog; BatchRejected if an
    operation fails; IntegrationNotFound if one of the integrations does not exist.
    """
    after, by_id = _fields_after(catalog, batch), {each.id: each for each in integrations}
    if not names.keys() <= by_id.keys():
        raise IntegrationNotFound
    planned = [
        plan_set_names(by_id[each], after, by_key, profiles) for each, by_key in names.items()
    ]
    changes = tuple(change for changes in planned for change in changes)
    return evolve(_plan(catalog, batch, after), names=changes)


def _fields_after(catalog: Catalog, batch: Batch) -> tuple[RecipientField, ...]:
    return batch.stage(view_of(catalog), by=API, at=system_clock()).fields()


def _plan(
    catalog: Catalog,
    batch: Batch,
    fields_after: Collection[RecipientField],
    refused: Sequence[Violation] = (),
) -> Plan:
    """Return the plan without the names."""
    before, after = _managed(catalog.fields), _managed(fields_after)
    by_key: dict[str, FieldChange | Violation] = {
        key: Change.between(before.get(key), after.get(key))
        for key in before.keys() | after.keys()
        if before.get(key) is not after.get(key)
    }
    by_key |= {str(each.path[-1]): each for each in refused}
    return Plan(
        batch=batch,
        fields=tuple(by_key[key] for key in sorted(by_key)),
        unchanged=len(before.keys() - by_key.keys()),
        field_count=len(after),
        after=tuple(fields_after),
    )


def _managed(fields: Iterable[RecipientField]) -> dict[str, RecipientField]:
    """Return the API-managed fields by key."""
    return {str(each.key): each for each in fields if each.origin.source is API.source}


@frozen
class _Names:
    integration_id: IntegrationId
    names: Mapping[str, SetName | None]


@frozen
class _Integrations:
    integrations: Sequence[_Names] = ()


def parse_plan(content: bytes) -> tuple[Batch, NamesToSet] | None:
    """Return the batch and the names of a saved plan, or None if the content is not one.

    Raises: InvalidDocument if the operations or the names of the plan are invalid.
    """
    try:
        document = parse_json(content)
    except NotJson:
        return None
    if not isinstance(document, dict) or "operations" not in document:
        return None
    sections = {name: document.pop(name) for name in ["integrations"] if name in document}
    names = _parse_names(sections)
    batch = parse_batch(document, can_be_empty=True)
    if not batch.operations and not names:  # A plan without changes fits every catalog.
        batch = Batch(())
    return batch, names


def render_plan(plan: Plan) -> bytes:
    """Return the document with what has to be applied to apply exactly this plan."""
    document: dict[str, Any] = dict(render_batch(plan.batch))
    if plan.names:
        document["integrations"] = [
            {"integration_id": integration_id, "names": _render_names(names)}
            for integration_id, names in plan.names_to_set.items()
        ]
    return render_json(document) + b"\n"


def _parse_names(sections: object) -> NamesToSet:
    """Return the changes of names. An integration can be in the document only once."""
    with checked(sections) as violations:
        names: dict[IntegrationId, Mapping[str, SetName | None]] = {}
        for index, each in enumerate(parse_document(sections, _Integrations).integrations):
            if each.integration_id in names:
                message = "The plan already has this integration. Add the names to it."
                path = ("integrations", index, "integration_id")
                violations.append(Violation(Rule.DUPLICATE_ITEM, message, path))
            names[each.integration_id] = each.names
    return names


def _render_names(names: Mapping[str, SetName | None]) -> dict[str, object]:
    return {
        key: None if name is None else {"name": name.name, "custom": name.custom}
        for key, name in names.items()
    }
