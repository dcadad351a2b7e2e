"""Cases for the limit of the fields of one source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

import pytest

from recipient_fields.application import FieldRepository, IntegrationStorage, Storage
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    CatalogChanges,
    Change,
    FieldKey,
    FieldLimitReached,
    OrganizationId,
    RecordedOperation,
)

from .examples import (
    AUTHOR,
    LATER,
    NOW,
    a_definition,
    an_esp_field,
    an_integration_draft,
    delete_integration,
    permit_organization,
    renaming,
    reporting,
    run_sync,
)
from .field_changes import add_field, delete_field, restore_field, update_field

StorageChange: TypeAlias = Callable[[Storage, OrganizationId], object]
SyncedChange: TypeAlias = Callable[[IntegrationStorage, OrganizationId], object]

S = TypeVar("S", bound=Storage)

_CITY: Final = FieldKey("city")


def _restore(storage: Storage, ours: OrganizationId) -> None:
    city = storage.fields.get(ours, _CITY)
    delete_field(storage.fields, ours, city.id)
    restore_field(storage.fields, ours, city.id)


def _apply(storage: Storage, ours: OrganizationId) -> None:
    city, age = (storage.fields.get(ours, FieldKey(key)) for key in ("city", "age"))
    changes = CatalogChanges.of(
        deleted=(city,),
        updated=(Change(RecordedOperation.UPDATED, age, renaming("Years")(age)),),
        created=(
            *(a_definition(key) for key in ("street", "house", "floor")),
            a_definition("village", by=ADMINISTRATOR),
        ),
    )
    storage.fields.change(ours, lambda _: changes, author=AUTHOR, at=LATER)


def _delete_integration(storage: IntegrationStorage, ours: OrganizationId) -> None:
    integration = storage.integrations.add(ours, an_integration_draft())
    planner = reporting(an_esp_field("TOWN"), an_esp_field("STREET"))
    run_sync(storage.integrations, integration, planner)
    delete_integration(storage.integrations, integration)


def _delete_other_organization(storage: Storage, _: OrganizationId) -> None:
    theirs = storage.organizations.add("Theirs", NOW)
    add_field(storage.fields, theirs.id, a_definition())
    storage.organizations.delete(theirs.id, permit_organization)


CHANGES: Final[dict[str, StorageChange]] = {
    "no change": lambda *_: None,
    "an addition": lambda storage, ours: add_field(storage.fields, ours, a_definition("street")),
    "an addition by an administrator": lambda storage, ours: add_field(
        storage.fields, ours, a_definition("street", by=ADMINISTRATOR)
    ),
    "an update": lambda storage, ours: update_field(storage.fields, ours, _CITY, renaming("Town")),
    "a deletion": lambda storage, ours: delete_field(storage.fields, ours, _CITY),
    "several changes at once": _apply,
    "the deletion of another organization": _delete_other_organization,
}
"""Calls after which a storage must still know the number of fields. The organization has `city`
and `age`, which the API manages, and `zip`, which an administrator manages."""

SYNCED_CHANGES: Final[dict[str, SyncedChange]] = {
    "the deletion of a synced integration": _delete_integration,
}
"""The same for changes by integrations."""


class FieldLimitCases:
    """Cases for the limit of fields, which counts those with the source of the new field."""

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_after_every_change_the_limit_counts_exactly_the_fields_of_the_source(
        self, storage: Storage, fields: FieldRepository, ours: OrganizationId, change: StorageChange
    ) -> None:
        _assert_exact_limit(storage, fields, ours, change)


class RestoredFieldLimitCases:
    """Cases for the limit of fields after a restoration."""

    def test_after_a_restoration_the_limit_counts_exactly_the_fields_of_the_source(
        self, storage: Storage, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        _assert_exact_limit(storage, fields, ours, _restore)


class SyncedFieldLimitCases:
    """Cases for the limit of fields after changes by integrations."""

    @pytest.mark.parametrize("change", SYNCED_CHANGES.values(), ids=SYNCED_CHANGES)
    def test_after_changes_by_integrations_the_limit_counts_exactly_the_fields_of_the_source(
        self,
        storage: IntegrationStorage,
        fields: FieldRepository,
        ours: OrganizationId,
        change: SyncedChange,
    ) -> None:
        _assert_exact_limit(storage, fields, ours, change)


def _assert_exact_limit(
    storage: S,
    fields: FieldRepository,
    ours: OrganizationId,
    change: Callable[[S, OrganizationId], object],
) -> None:
    for key in ("city", "age"):
        add_field(fields, ours, a_definition(key))
    add_field(fields, ours, a_definition("zip", by=ADMINISTRATOR))
    change(storage, ours)
    for channel in (API, ADMINISTRATOR):
        sources = [field.origin.source for field in fields.all(ours).fields]
        count = sources.count(channel.source)
        added = a_definition(f"by_{channel.source.value}", by=channel)
        with pytest.raises(FieldLimitReached):
            add_field(fields, ours, added, limit=count)
        add_field(fields, ours, added, limit=count + 1)
