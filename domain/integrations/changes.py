"""The changes that a sync makes to ESP names, and the fields that it links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from attrs import frozen

from ..esp.names import EspName, NameState
from ..fields.catalog_changes import CatalogChanges
from ..fields.field import FieldDefinition, RecipientField
from ..fields.history import Change
from ..identity import FieldId, IntegrationId
from .esp_names import EspNames
from .integration import Integration, NamedField

__all__ = ["Link"]

_Change: TypeAlias = Change[NamedField[EspName]]


@frozen
class Link:
    """A field of the ESP that becomes the counterpart of another field, which stands for it."""

    definition: RecipientField
    counterpart: FieldDefinition


def plan_name_changes(
    before: EspNames,
    after: EspNames,
    integration_id: IntegrationId,
    changes: CatalogChanges[FieldDefinition],
) -> tuple[_Change, ...]:
    """Return the changes that a sync of the integration makes to ESP names, by field and id.

    `before` and `after` are the names then, and `changes` are those of the fields. A field that is
    removed is not listed, and one that is created only if its name is ambiguous. If a field is
    removed, the names that were set for it at other integrations can become those of other fields.
    """
    affected = {integration_id}
    for field in changes.deleted:
        affected.update(each.id for each in before.integrations.values() if field.id in each.names)
    return tuple(_changes(before, after, sorted(affected)))


def find_links(after: EspNames, created: Iterable[FieldDefinition]) -> Iterator[Link]:
    """Yield the links of the created fields for which another field stands after the sync."""
    for each in created:
        definition = after.definition_of(after.by_key[each.key])
        if definition is not None:
            yield Link(definition, each)


def names_after(
    names: EspNames, integration: Integration, changes: CatalogChanges[FieldDefinition]
) -> EspNames:
    """Return the names after these changes, with the integration as it is then.

    The ids of created fields are provisional.
    """
    gone = {field.id for field in changes.deleted}
    updated = {update.field.id: update.field for update in changes.updated}
    kept = [updated.get(field.id, field) for field in names.fields if field.id not in gone]
    # An id for which no name was set, also not for a field that has been deleted.
    used = chain.from_iterable(each.names for each in names.integrations.values())
    next_id = max([0, *used, *(field.id for field in names.fields)]) + 1
    created = [
        # The storage assigns other ids, in the same order.
        definition.with_id(FieldId(field_id), integration.organization_id)
        for field_id, definition in enumerate(changes.created, start=next_id)
    ]
    integrations = {**names.integrations, integration.id: integration}.values()
    return EspNames([*kept, *created, *changes.restored], integrations)


def _changes(
    before: EspNames, after: EspNames, integration_ids: Iterable[IntegrationId]
) -> Iterator[_Change]:
    old_fields = {field.id: field for field in before.fields}
    for field in after.fields:
        old_field = old_fields.get(field.id)
        for integration_id in integration_ids:
            new = _find(after, field, integration_id)
            if old_field is None and not _is_own_and_ambiguous(new):
                continue
            old = None if old_field is None else _find(before, old_field, integration_id)
            if _shown(old) != _shown(new):
                yield Change.between(old, new)


def _find(
    names: EspNames, field: RecipientField, integration_id: IntegrationId
) -> NamedField[EspName] | None:
    name = names.find(field, integration_id)
    return None if name is None else NamedField(field, names.integrations[integration_id], name)


def _is_own_and_ambiguous(named: NamedField[EspName] | None) -> bool:
    if named is None or named.field.origin.integration_id != named.integration.id:
        return False
    return named.esp_name.state is NameState.AMBIGUOUS


def effect_of(change: _Change) -> object:
    """Return what users see of the change. Equal changes have the same effect."""
    named = change.field
    return named.field.id, named.integration.id, _shown(change.before), _shown(change.after)


def _shown(named: NamedField[EspName] | None) -> object:
    if named is None:
        return None
    return named.esp_name.name, named.esp_name.standard, named.esp_name.state
