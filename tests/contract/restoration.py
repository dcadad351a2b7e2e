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
    CatalogChanges,
    FieldId,
    FieldLimitReached,
    FieldNotFound,
    HistoryQuery,
    KeyTaken,
    OperationForbidden,
    OrganizationId,
    RecipientField,
)

from .assertions import exact
from .catalog_views import look
from .concurrency import assert_one_succeeded, race
from .examples import (
    AUTHOR,
    LATER,
    NEVER_ASSIGNED,
    a_definition,
    must_not_be_called,
    records_of,
    renaming,
    restoring,
)
from .field_changes import add_field, delete_field, restore_field, update_field


def _last_deletion(
    fields: FieldRepository, organization_id: OrganizationId, field_id: FieldId
) -> RecipientField | None:
    return look(fields, organization_id, lambda view: view.last_deletion(field_id))


class RestorationCases:
    """Cases for fields that are restored from the history."""

    threads: int = 8

    @pytest.fixture
    def deleted(
        self, fields: FieldRepository, history: HistoryRepository, ours: OrganizationId
    ) -> RecipientField:
        """Return a field in version 2 that has been deleted, which the history has recorded."""
        field = add_field(fields, ours, a_definition())
        field = update_field(fields, ours, field.id, renaming("Town"))
        delete_field(fields, ours, field.id)
        assert history.select(ours, HistoryQuery()).records
        return field

    def test_a_plan_sees_a_field_as_it_was_before_its_last_deletion(
        self,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        kept = add_field(fields, ours, a_definition("age"))
        assert exact(_last_deletion(fields, ours, deleted.id)) == exact(deleted)
        assert _last_deletion(fields, ours, kept.id) is None
        assert _last_deletion(fields, theirs, deleted.id) is None
        restore_field(fields, ours, deleted.id)
        assert _last_deletion(fields, ours, deleted.id) == deleted
        changed = update_field(fields, ours, deleted.id, renaming("Place"))
        delete_field(fields, ours, deleted.id)
        assert _last_deletion(fields, ours, deleted.id) == changed

    def test_a_plan_sees_no_deletion_that_is_not_recorded(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            assert _last_deletion(fields, ours, FieldId(never_assigned)) is None
            assert _last_deletion(fields, OrganizationId(never_assigned), deleted.id) is None

    def test_a_restored_field_can_have_the_key_of_a_field_deleted_with_the_same_changes(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        other = add_field(fields, ours, a_definition())
        restored = restoring()(deleted)
        changes = CatalogChanges.of(
            deleted=(other,), restored=(restored,), created=(a_definition("age"),)
        )
        applied = fields.change(ours, lambda _: changes, author=AUTHOR, at=LATER)
        assert exact(fields.all(ours).fields) == exact((restored, *applied.created))
        records = records_of(history, ours)[-3:]
        assert [(each.operation.value, each.field_id) for each in records] == [
            ("deleted", other.id),
            ("restored", deleted.id),
            ("created", applied.created[0].id),
        ]

    def test_a_restored_field_differs_only_in_its_version_and_time(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        restored = restore_field(fields, ours, deleted.id, restoring(at=LATER))
        assert exact(restored) == exact(evolve(deleted, updated_at=LATER, version=3))
        assert exact(fields.get(ours, deleted.id)) == exact(restored)
        assert fields.get(ours, deleted.key) == restored

    def test_a_restored_field_keeps_its_place_among_the_others(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        later = add_field(fields, ours, a_definition("age"))
        restored = restore_field(fields, ours, deleted.id)
        assert fields.all(ours).fields == (restored, later)
        newest = add_field(fields, ours, a_definition("zip"))
        assert newest.id > later.id

    def test_a_field_can_be_restored_again(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        for version in (4, 6):
            restore_field(fields, ours, deleted.id)
            field = update_field(fields, ours, deleted.id, renaming(f"{version}"))
            assert (field.name, field.version) == (f"{version}", version)
            delete_field(fields, ours, deleted.id)
        restored = restore_field(fields, ours, deleted.id)
        assert (restored.name, restored.version) == ("6", 7)

    def test_a_restoration_increases_the_revision(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        before = fields.all(ours).revision
        restore_field(fields, ours, deleted.id)
        assert fields.all(ours).revision > before

    def test_a_field_whose_key_is_taken_is_not_restored(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        holder = add_field(fields, ours, a_definition(by=ADMINISTRATOR))
        before, records = fields.all(ours), records_of(history, ours)
        with pytest.raises(KeyTaken) as taken:
            restore_field(fields, ours, deleted.id, limit=0)
        assert (taken.value.key, taken.value.existing_id) == ("city", holder.id)
        assert fields.all(ours) == before
        assert records_of(history, ours) == records

    def test_a_field_that_is_not_deleted_has_its_own_key(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        restore_field(fields, ours, deleted.id)
        before = fields.all(ours)
        with pytest.raises(KeyTaken) as taken:
            restore_field(fields, ours, deleted.id, limit=0)
        assert (taken.value.key, taken.value.existing_id) == ("city", deleted.id)
        assert fields.all(ours) == before

    def test_the_limit_applies_to_restored_fields_of_the_source(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        add_field(fields, ours, a_definition("by_hand", by=ADMINISTRATOR))
        by_api = add_field(fields, ours, a_definition("by_api"))
        before, records = fields.all(ours), records_of(history, ours)
        with pytest.raises(FieldLimitReached) as reached:
            restore_field(fields, ours, deleted.id, limit=1)
        assert reached.value.limit == 1
        assert fields.all(ours) == before
        assert records_of(history, ours) == records
        delete_field(fields, ours, by_api.id)
        restore_field(fields, ours, deleted.id, limit=1)

    def test_a_restoration_that_raises_stores_nothing(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        before, records = fields.all(ours), records_of(history, ours)
        with pytest.raises(OperationForbidden):
            restore_field(
                fields, ours, deleted.id, lambda field: field.restored(by=ADMINISTRATOR, at=LATER)
            )
        assert fields.all(ours) == before
        assert records_of(history, ours) == records

    def test_the_permission_is_checked_before_the_key_and_the_limit(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        add_field(fields, ours, a_definition())
        with pytest.raises(OperationForbidden):
            restore_field(
                fields,
                ours,
                deleted.id,
                lambda field: field.restored(by=ADMINISTRATOR, at=LATER),
                limit=0,
            )

    def test_an_id_that_was_never_assigned_can_not_be_restored(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            for organization_id, field_id in (
                (ours, FieldId(never_assigned)),
                (OrganizationId(never_assigned), deleted.id),
            ):
                with pytest.raises(FieldNotFound):
                    restore_field(fields, organization_id, field_id, must_not_be_called)

    def test_another_organizations_field_can_not_be_restored(
        self,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        deleted: RecipientField,
    ) -> None:
        field = add_field(fields, theirs, a_definition())
        delete_field(fields, theirs, field.id)
        records = records_of(history, ours)
        with pytest.raises(FieldNotFound):
            restore_field(fields, theirs, deleted.id, must_not_be_called)
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
        restore_field(fields, ours, deleted.id)
        delete_field(fields, ours, deleted.id)
        history.prune(ours, LATER + 3 * MILLISECOND)
        with pytest.raises(FieldNotFound):
            restore_field(fields, ours, deleted.id, must_not_be_called)

    def test_exactly_one_concurrent_restoration_of_a_field_succeeds(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        restore = partial(restore_field, fields, ours, deleted.id)
        outcomes = race(*[restore] * self.threads)
        restored = assert_one_succeeded(outcomes, RecipientField, KeyTaken)
        assert fields.all(ours).fields == (restored,)

    def test_a_key_is_unique_under_concurrent_additions_and_restorations(
        self, fields: FieldRepository, ours: OrganizationId, deleted: RecipientField
    ) -> None:
        outcomes = race(
            *[partial(add_field, fields, ours, a_definition())] * (self.threads // 2),
            *[partial(restore_field, fields, ours, deleted.id)] * (self.threads // 2),
        )
        stored = assert_one_succeeded(outcomes, RecipientField, KeyTaken)
        assert stored.origin == API.origin()
        assert fields.all(ours).fields == (stored,)
