"""Batches: their operations take effect together, as the use cases of single operations do."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.domain import (
    Batch,
    BatchOperation,
    BatchRejected,
    CreateField,
    DataType,
    DeleteField,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldLimitReached,
    HistoryQuery,
    KeyRepeated,
    KeyTaken,
    RecipientFieldsError,
    RecordedOperation,
    ReplaceField,
    UpdateField,
)

SIZE, CITY = FieldKey("size"), FieldKey("city")
REPLACEMENT = FieldDraft(name="Size", data_type="text").changes()


def creating(key: str) -> CreateField:
    return CreateField(FieldDraft(name=key, key=FieldKey(key), data_type=DataType.TEXT))


def renaming(reference: FieldKey | FieldId, name: str = "Renamed") -> UpdateField:
    return UpdateField(reference, FieldChanges(name=name))


class TestSuccess:
    def test_a_new_field_can_have_the_key_of_a_field_that_the_batch_deletes(self, service, acme):
        old = service.create_field(acme, creating("size").draft)
        _, new = service.apply_batch(acme, Batch((DeleteField(SIZE), creating("size"))))
        assert new.id > old.id
        assert service.list_fields(acme).fields == (new,)

    def test_a_replacement_with_a_free_key_creates_the_field(self, service, acme):
        replace = ReplaceField(SIZE, REPLACEMENT)
        first, second = service.apply_batch(acme, Batch((replace, replace)))
        assert first == second == service.get_field(acme, SIZE)

    def test_the_history_has_one_record_for_each_changed_field(self, service, acme):
        service.create_field(acme, creating("size").draft)
        service.apply_batch(
            acme, Batch((creating("city"), renaming(SIZE), renaming(CITY), DeleteField(SIZE)))
        )
        _, deleted, created = service.list_changes(acme, HistoryQuery()).records
        assert deleted.operation is RecordedOperation.DELETED
        assert deleted.before.name == "size"
        assert created.operation is RecordedOperation.CREATED
        assert (created.after.name, created.after.version) == ("Renamed", 1)
        assert deleted.occurred_at == created.occurred_at

    def test_a_batch_without_effect_keeps_the_revision(self, service, acme):
        service.create_field(acme, creating("size").draft)
        before = service.list_fields(acme)
        service.apply_batch(acme, Batch((creating("city"), DeleteField(CITY))))
        assert service.list_fields(acme) == before


class TestFailure:
    def test_all_failures_are_reported(self, service, acme):
        with pytest.raises(BatchRejected, match=r"^Operation 1: ") as rejected:
            service.apply_batch(acme, Batch((creating("size"), renaming(CITY), creating("size"))))
        assert list(rejected.value.failures) == [1, 2]
        # The field that has the key is not stored, so it has no id.
        assert isinstance(rejected.value.failures[2], KeyRepeated)

    def test_the_limit_counts_the_fields_after_each_operation(self, service, acme):
        limited = evolve(service, limit=2)
        limited.apply_batch(acme, Batch((creating("a"), creating("b"))))
        limited.apply_batch(acme, Batch((DeleteField(FieldKey("a")), creating("c"))))
        with pytest.raises(BatchRejected) as rejected:
            limited.apply_batch(acme, Batch((creating("d"), DeleteField(FieldKey("b")))))
        assert isinstance(rejected.value.failures[0], FieldLimitReached)


KEYS = st.sampled_from([FieldKey(key) for key in "abc"])
REPLACEMENTS = st.sampled_from(
    [FieldDraft(name="New", data_type=data_type).changes() for data_type in ("text", "date")]
)
OPERATIONS = st.one_of(
    KEYS.map(creating),
    st.builds(renaming, KEYS, st.sampled_from(["One", "Two"])),
    st.builds(ReplaceField, KEYS, REPLACEMENTS),
    st.builds(DeleteField, KEYS),
)


@given(stored=st.lists(OPERATIONS, max_size=5), batch=st.lists(OPERATIONS, max_size=8))
def test_a_batch_has_the_effect_of_its_operations_one_after_another(stored, batch):
    together, separately = Organization(), Organization()
    for operation in stored:
        assert together.perform(operation) == separately.perform(operation)
    errors = [separately.perform(operation) for operation in batch]
    if errors == [None] * len(batch):
        together.core.fields.apply_batch(together.id, Batch(tuple(batch)))
        assert together.contents() == separately.contents()
        return
    with pytest.raises(BatchRejected) as rejected:
        together.core.fields.apply_batch(together.id, Batch(tuple(batch)))
    failures = {
        index: KeyTaken if isinstance(error, KeyRepeated) else type(error)
        for index, error in rejected.value.failures.items()
    }
    assert failures == {index: error for index, error in enumerate(errors) if error is not None}


class Organization:
    """An organization in a new storage in memory."""

    def __init__(self) -> None:
        self.core = Core.over(MemoryStorage())
        self.id = self.core.administration.create_organization("Acme").id

    def contents(self) -> list[tuple[str, str, DataType]]:
        """Return the fields without their ids, versions and times, by key."""
        fields = self.core.fields.list_fields(self.id).fields
        return sorted((each.key, each.name, each.data_type) for each in fields)

    def perform(self, operation: BatchOperation) -> type[RecipientFieldsError] | None:
        """Perform the operation with its own use case. Return the class of its error."""
        try:
            self._perform(operation)
        except RecipientFieldsError as error:
            return type(error)
        return None

    def _perform(self, operation: BatchOperation) -> None:
        fields = self.core.fields
        match operation:
            case CreateField(draft):
                fields.create_field(self.id, draft)
            case UpdateField(reference, changes):
                fields.update_field(self.id, reference, changes)
            case ReplaceField(reference, changes):
                fields.replace_field(self.id, reference, changes)
            case DeleteField(reference):
                fields.delete_field(self.id, reference)
