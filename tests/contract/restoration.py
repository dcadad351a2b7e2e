"""Cases for the restoration of deleted fields."""

from __future__ import annotations

from functools import partial

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository, HistoryRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MILLISECOND,
    FieldId,
    FieldLimitReached,
    FieldNotFound,
    KeyTaken,
    OperationForbidden,
    OrganizationId,
    RecipientField,
)

from .assertions import exact
from .concurrency import race
from .examples import (
    AUTHOR,
    LATER,
    NEVER_ASSIGNED,
    a_definition,
    must_not_be_called,
    permit,
    records_of,
    renaming,
    restoring,
)


class RestorationCases:
    """Cases for fields that are restored from the history."""

    threads: int = 8

    @pytest.fixture
    def deleted(self, fields: FieldRepository, ours: OrganizationId) -> RecipientField:
        """Return a field in version 2 that has been deleted."""
        field = fields.add(ours, a_definition(), author=AUTHOR)
        field = fields.update(ours, field.id, renaming("Town"), author=AUTHOR)
        fields.delete(ours, field.id, permit, author=AUTHOR, at=LATER)
        return field

    def test_a_restored_field_differs_only_in_its_version_and_time(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        restored = fields.restore(ours, deleted.id, restoring(at=LATER), author=AUTHOR)
        assert exact(restored) == exact(evolve(deleted, updated_at=LATER, version=3))
        assert exact(fields.get(ours, deleted.id)) == exact(restored)
        assert fields.get(ours, deleted.key) == restored

    def test_a_restored_field_keeps_its_place_among_the_others(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        later = fields.add(ours, a_definition("age"), author=AUTHOR)
        restored = fields.restore(ours, deleted.id, restoring(), author=AUTHOR)
        assert fields.all(ours).fields == (restored, later)
        newest = fields.add(ours, a_definition("zip"), author=AUTHOR)
        assert newest.id > later.id

    def test_a_field_can_be_restored_again(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        for version in (4, 6):
            fields.restore(ours, deleted.id, restoring(), author=AUTHOR)
            field = fields.update(ours, deleted.id, renaming(f"{version}"), author=AUTHOR)
            assert (field.name, field.version) == (f"{version}", version)
            fields.delete(ours, deleted.id, permit, author=AUTHOR, at=LATER)
        restored = fields.restore(ours, deleted.id, restoring(), author=AUTHOR)
        assert (restored.name, restored.version) == ("6", 7)

    def test_a_restoration_increases_the_revision(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        before = fields.all(ours).revision
        fields.restore(ours, deleted.id, restoring(), author=AUTHOR)
        assert fields.all(ours).revision > before

    def test_a_field_whose_key_is_taken_is_not_restored(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        holder = fields.add(ours, a_definition(by=ADMINISTRATOR), author=AUTHOR)
        before, records = fields.all(ours), records_of(history, ours)
        with pytest.raises(KeyTaken) as taken:
            fields.restore(ours, deleted.id, restoring(), limit=0, author=AUTHOR)
        assert (taken.value.key, taken.value.existing_id) == ("city", holder.id)
        assert fields.all(ours) == before
        assert records_of(history, ours) == records

    def test_a_field_that_is_not_deleted_has_its_own_key(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        fields.restore(ours, deleted.id, restoring(), author=AUTHOR)
        before = fields.all(ours)
        with pytest.raises(KeyTaken) as taken:
            fields.restore(ours, deleted.id, restoring(), limit=0, author=AUTHOR)
        assert (taken.value.key, taken.value.existing_id) == ("city", deleted.id)
        assert fields.all(ours) == before

    def test_the_limit_applies_to_restored_fields_of_the_source(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        fields.add(ours, a_definition("by_hand", by=ADMINISTRATOR), author=AUTHOR)
        by_api = fields.add(ours, a_definition("by_api"), author=AUTHOR)
        before, records = fields.all(ours), records_of(history, ours)
        with pytest.raises(FieldLimitReached) as reached:
            fields.restore(ours, deleted.id, restoring(), limit=1, author=AUTHOR)
        assert reached.value.limit == 1
        assert fields.all(ours) == before
        assert records_of(history, ours) == records
        fields.delete(ours, by_api.id, permit, author=AUTHOR, at=LATER)
        fields.restore(ours, deleted.id, restoring(), limit=1, author=AUTHOR)

    def test_a_restoration_that_raises_stores_nothing(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        before, records = fields.all(ours), records_of(history, ours)
        with pytest.raises(OperationForbidden):
            fields.restore(
                ours,
                deleted.id,
                lambda field: field.restored(by=ADMINISTRATOR, at=LATER),
                author=AUTHOR,
            )
        assert fields.all(ours) == before
        assert records_of(history, ours) == records

    def test_the_permission_is_checked_before_the_key_and_the_limit(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        fields.add(ours, a_definition(), author=AUTHOR)
        with pytest.raises(OperationForbidden):
            fields.restore(
                ours,
                deleted.id,
                lambda field: field.restored(by=ADMINISTRATOR, at=LATER),
                limit=0,
                author=AUTHOR,
            )

    @pytest.mark.parametrize("never_assigned", NEVER_ASSIGNED)
    def test_an_id_that_was_never_assigned_can_not_be_restored(
        self,
        fields: FieldRepository,
        ours: OrganizationId,
        deleted: RecipientField,
        never_assigned: int,
    ) -> None:
        for organization_id, field_id in (
            (ours, FieldId(never_assigned)),
            (OrganizationId(never_assigned), deleted.id),
        ):
            with pytest.raises(FieldNotFound):
                fields.restore(organization_id, field_id, must_not_be_called, author=AUTHOR)

    def test_another_organizations_field_can_not_be_restored(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        field = fields.add(theirs, a_definition(), author=AUTHOR)
        fields.delete(theirs, field.id, permit, author=AUTHOR, at=LATER)
        records = records_of(history, ours)
        with pytest.raises(FieldNotFound):
            fields.restore(theirs, deleted.id, must_not_be_called, author=AUTHOR)
        assert fields.all(ours).fields == fields.all(theirs).fields == ()
        assert records_of(history, ours) == records

    def test_a_field_whose_deletion_was_pruned_can_not_be_restored(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        history.prune(ours, LATER)
        assert len(records_of(history, ours)) == 1
        fields.restore(ours, deleted.id, restoring(), author=AUTHOR)
        fields.delete(ours, deleted.id, permit, author=AUTHOR, at=LATER)
        history.prune(ours, LATER + 3 * MILLISECOND)
        with pytest.raises(FieldNotFound):
            fields.restore(ours, deleted.id, must_not_be_called, author=AUTHOR)

    def test_exactly_one_concurrent_restoration_of_a_field_succeeds(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        restore = partial(fields.restore, ours, deleted.id, restoring(), author=AUTHOR)
        outcomes = race(*[restore] * self.threads)
        assert [type(each) for each in outcomes].count(KeyTaken) == self.threads - 1
        (restored,) = (each for each in outcomes if isinstance(each, RecipientField))
        assert fields.all(ours).fields == (restored,)

    def test_a_key_is_unique_under_concurrent_additions_and_restorations(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        outcomes = race(
            *[partial(fields.add, ours, a_definition(), author=AUTHOR)] * (self.threads // 2),
            *[partial(fields.restore, ours, deleted.id, restoring(), author=AUTHOR)]
            * (self.threads // 2),
        )
        assert [type(each) for each in outcomes].count(KeyTaken) == self.threads - 1
        (stored,) = (each for each in outcomes if isinstance(each, RecipientField))
        assert stored.origin == API.origin()
        assert fields.all(ours).fields == (stored,)
