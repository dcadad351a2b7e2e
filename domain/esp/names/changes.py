"""The changes that a sync makes to ESP names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from attrs import frozen

from ...fields.catalog_changes import CatalogChanges
from ...fields.field import RecipientField
from ...identity import FieldId, IntegrationId
from ..integrations import Integration
from .esp_names import EspName, EspNames

__all__ = ["NameChange"]


@frozen(kw_only=True)
class NameChange:
    """A field whose ESP name, or the state of it, changes at one integration."""

    field: RecipientField
    integration_id: IntegrationId
    before: EspName | None
    after: EspName | None

    @property
    def effect(self) -> object:
        """What users see of the change. Equal changes have the same effect."""
        return self.field.id, self.integration_id, _shown(self.before), _shown(self.after)


def plan_name_changes(
    names: EspNames, integration: Integration, changes: CatalogChanges
) -> tuple[NameChange, ...]:
    """Return the changes that a sync makes to the ESP names of stored fields, by field and id.

    `integration` is the integration after the sync, and `changes` are those of the fields. A field
    that is created or removed is not listed. If one is removed, the names that were set for it at
    other integrations can become those of other fields.
    """
    after = _names_after(names, integration, changes)
    affected = {integration.id}
    for field in changes.deleted:
        affected.update(each.id for each in names.integrations.values() if field.id in each.names)
    return tuple(_changes(names, after, sorted(affected)))


def _names_after(names: EspNames, integration: Integration, changes: CatalogChanges) -> EspNames:
    gone = {field.id for field in changes.deleted}
    updated = {update.after.id: update.after for update in changes.updated}
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
) -> Iterator[NameChange]:
    old_fields = {field.id: field for field in before.fields}
    for field in after.fields:
        old = old_fields.get(field.id)
        for integration_id in integration_ids:
            if old is None or field.origin.integration_id == integration_id:
                continue
            old_name, new_name = before.find(old, integration_id), after.find(field, integration_id)
            if _shown(old_name) != _shown(new_name):
                yield NameChange(
                    field=field,
                    integration_id=integration_id,
                    before=old_name,
                    after=new_name,
                )


def _shown(name: EspName | None) -> object:
    return None if name is None else (name.name, name.standard, name.state)
