"""The contract suite for the storage in memory, and what its transactions leave behind."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Storage
from recipient_fields.domain import (
    CatalogChanges,
    Change,
    FieldId,
    FieldKey,
    HistoryRecord,
    OrganizationId,
    OrganizationNotFound,
)
from recipient_fields.domain.integrations import SetName
from recipient_fields.testing import StorageContract, machine_for
from recipient_fields.testing.catalog_changes import change_everything
from recipient_fields.testing.examples import (
    AUTHOR,
    LATER,
    NOW,
    a_definition,
    an_integration_draft,
    records_of,
)
from recipient_fields.testing.field_changes import add_field


class TestMemoryStorage(StorageContract):
    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        with closing(MemoryStorage()) as storage:
            yield storage


TestMemoryMachine = machine_for(lambda: closing(MemoryStorage())).TestCase


@pytest.mark.parametrize("completed", range(4))
def test_interrupted_changes_leave_nothing_behind(completed, monkeypatch):
    storage = MemoryStorage()
    ours = storage.organizations.add("Ours", NOW).id
    for key in ("city", "age", "zip"):
        add_field(storage.fields, ours, a_definition(key), author=AUTHOR)
    before = storage.fields.all(ours), records_of(storage.history, ours)
    with_sequence = Change.with_sequence
    calls = count()

    def interrupted(change: Change[Any], *values: Any, **named: Any) -> HistoryRecord:
        if next(calls) == completed:
            raise KeyboardInterrupt
        return with_sequence(change, *values, **named)

    monkeypatch.setattr(Change, "with_sequence", interrupted)
    with pytest.raises(KeyboardInterrupt):
        storage.fields.change(ours, change_everything, author=AUTHOR, at=LATER)
    monkeypatch.undo()

    assert (storage.fields.all(ours), records_of(storage.history, ours)) == before
    assert storage.fields.get(ours, FieldKey("city")) == before[0].get(FieldKey("city"))
    storage.fields.change(ours, change_everything, author=AUTHOR, at=LATER)
    assert [each.sequence for each in records_of(storage.history, ours)] == [*range(1, 8)]


def test_names_can_not_be_changed_at_an_integration_of_another_organization() -> None:
    storage = MemoryStorage()
    ours, theirs = (storage.organizations.add(name, NOW).id for name in ("Ours", "Theirs"))
    integration = storage.integrations.add(theirs, an_integration_draft())
    renamed = evolve(integration, names={FieldId(1): SetName("TIER")})
    changes = CatalogChanges.of(created=(a_definition(),))
    with pytest.raises(KeyError):
        storage.integrations.change_with_names(
            ours, lambda _: changes, lambda _, __: [renamed], author=AUTHOR, at=LATER
        )
    assert storage.integrations.get(theirs, integration.id) == integration
    assert not storage.fields.all(ours).fields


def test_changes_of_an_organization_that_does_not_exist_use_no_id() -> None:
    storage = MemoryStorage()
    changes = CatalogChanges.of(created=(a_definition(),))
    with pytest.raises(OrganizationNotFound):
        storage.fields.change(OrganizationId(99), lambda _: changes, author=AUTHOR, at=NOW)
    ours = storage.organizations.add("Ours", NOW).id

    assert add_field(storage.fields, ours, a_definition(), author=AUTHOR).id == 1
