"""The restoration of fields that a sync run has removed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ..arguments import require_type
from ..esp.profiles import PROFILES
from ..fields.catalog_changes import CatalogChanges, require_key_free, require_room
from ..fields.field import RecipientField
from .errors import EspFieldTaken
from .integration import Integration
from .sync import SyncPlan, esp_identity

__all__ = ["plan_restorations"]


def plan_restorations(
    integration: Integration,
    catalog: Iterable[RecipientField],
    removed: Iterable[RecipientField],
    *,
    at: datetime,
    size_limit: int | None = None,
) -> SyncPlan:
    """Return the plan that stores removed fields again, as they were before their removal.

    They are restored through the channel of the integration, which must be stored: the fields of a
    deleted integration could never change again. The next sync run updates them, or removes them if
    the ESP still does not report them.

    `size_limit` is the maximum of the bytes of the list of all fields.

    Raises: OperationForbidden if a field came from elsewhere; KeyTaken if a field is not deleted or
    if another one has its key; EspFieldTaken if the integration has another field for the same
    field of its ESP; CatalogTooLarge if the list would exceed its limit.
    """
    require_type(Integration, integration=integration)
    require_type(Iterable, catalog=catalog, removed=removed)
    require_type(int | None, size_limit=size_limit)
    fields = tuple(catalog)
    holders = {each.key: each for each in fields}
    counterparts = {_place(integration, each): each for each in integration.filter_fields(fields)}
    restored = []
    for before in removed:
        field = before.restored(by=integration.channel, at=at)
        require_key_free(field, holders.get(field.key))
        counterpart = counterparts.get(_place(integration, field))
        if counterpart is not None:
            raise EspFieldTaken(field.id, counterpart.id)
        holders[field.key] = counterparts[_place(integration, field)] = field
        restored.append(field)
    changes = CatalogChanges.of(restored=restored)
    if size_limit is not None:
        size = sum(each.size for each in fields)
        require_room(lambda: size, added=changes.max_added_size(), limit=size_limit)
    return SyncPlan(integration=integration, changes=changes, unchanged=0, refused=())


def _place(integration: Integration, field: RecipientField) -> object:
    """Return what only one field of the integration can have: its variable, if the ESP has these.

    Variables are case-insensitive.
    """
    if PROFILES[integration.esp].insertion.prelude is None:
        return esp_identity(field)
    return (field.custom_value_expression or "").lower()
