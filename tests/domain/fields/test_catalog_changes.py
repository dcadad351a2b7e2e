"""Plans of changes to a catalog: a creation, and the restoration of a deleted field."""

from __future__ import annotations

import pytest
from attrs import evolve, frozen

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MILLISECOND,
    Catalog,
    CatalogChanges,
    CatalogView,
    FieldId,
    FieldLimitReached,
    FieldNotFound,
    FieldReference,
    IntegrationId,
    KeyTaken,
    OperationForbidden,
    OrganizationId,
    RecipientField,
    Source,
    plan_creation,
    plan_restoration,
    sync_channel,
)

SYNC = sync_channel(IntegrationId(7))
CHANNELS = [API, ADMINISTRATOR, SYNC]
DELETED = FieldId(5)


@frozen
class View(CatalogView):
    """A catalog with some fields, whose history has the deletion of another one."""

    catalog: Catalog
    deleted: RecipientField
    removed: int = 0

    def find(self, reference: FieldReference, /) -> RecipientField | None:
        return next((f for f in self.catalog.fields if reference in (f.id, f.key)), None)

    def count(self, source: Source, /) -> int:
        return sum(field.origin.source is source for field in self.catalog.fields)

    def fields_size(self) -> int:
        return sum(field.size for field in self.catalog.fields)

    def next_id(self) -> FieldId:
        return FieldId(9)

    def last_deletion(self, field_id: FieldId, /) -> RecipientField | None:
        return self.deleted if field_id == self.deleted.id else None

    def removed_records(self) -> int:
        return self.removed

    def all(self) -> Catalog:
        return self.catalog


@pytest.fixture
def view(make_field):
    fields = (
        evolve(make_field(API, name="City"), id=FieldId(3)),
        evolve(make_field(ADMINISTRATOR, name="Town"), id=FieldId(7)),
    )
    deleted = evolve(make_field(API, name="Zip"), id=DELETED, version=2)
    return View(Catalog(OrganizationId(1), 5, fields), deleted)


class TestACreation:
    def test_creates_the_field(self, view, make_field):
        zip_code = make_field(name="Zip")
        assert plan_creation(view, zip_code) == CatalogChanges.of(created=(zip_code,))

    @pytest.mark.parametrize("holder", [0, 1])
    def test_requires_a_key_that_no_field_of_any_origin_has(self, view, make_field, holder):
        field = view.catalog.fields[holder]
        for by in CHANNELS:
            with pytest.raises(KeyTaken) as taken:
                plan_creation(view, make_field(by, name="Other", key=field.key), limit=0)
            assert (taken.value.key, taken.value.existing_id) == (field.key, field.id)
            assert taken.value.is_synced is (field.origin.integration_id is not None)

    @pytest.mark.parametrize("by", [API, ADMINISTRATOR])
    def test_requires_less_fields_of_its_source_than_the_limit(self, view, make_field, by):
        zip_code = make_field(by, name="Zip")
        assert plan_creation(view, zip_code, limit=2) == plan_creation(view, zip_code)
        for limit in (1, 0):
            with pytest.raises(FieldLimitReached) as reached:
                plan_creation(view, zip_code, limit=limit)
            assert reached.value.limit == limit

    def test_does_not_count_fields_of_another_source(self, view, make_field):
        plan_creation(view, make_field(SYNC, name="Zip"), limit=1)
        with pytest.raises(FieldLimitReached):
            plan_creation(view, make_field(SYNC, name="Zip"), limit=0)


class TestARestoration:
    def test_stores_the_next_version_of_the_deleted_field(self, view, noon):
        at = noon + MILLISECOND
        changes = plan_restoration(view, DELETED, by=API, at=at, limit=2)
        restored = evolve(view.deleted, updated_at=at, version=3)
        assert changes == CatalogChanges.of(restored=(restored,))

    def test_requires_a_field_of_the_history_or_of_the_catalog(self, view, noon):
        with pytest.raises(FieldNotFound):
            plan_restoration(view, FieldId(6), by=API, at=noon)

    def test_requires_the_permission_to_create_before_it_looks_at_the_key(self, view, noon):
        for field_id in (DELETED, FieldId(3)):
            with pytest.raises(OperationForbidden):
                plan_restoration(view, field_id, by=ADMINISTRATOR, at=noon, limit=0)

    def test_finds_that_a_field_which_is_not_deleted_has_its_key(self, view, noon):
        with pytest.raises(KeyTaken) as taken:
            plan_restoration(view, FieldId(3), by=API, at=noon, limit=0)
        assert taken.value.existing_id == 3

    def test_requires_a_free_key(self, view, noon):
        view = evolve(view, deleted=evolve(view.deleted, key=view.catalog.fields[1].key))
        with pytest.raises(KeyTaken) as taken:
            plan_restoration(view, DELETED, by=API, at=noon, limit=0)
        assert taken.value.existing_id == 7

    def test_requires_less_fields_than_the_limit(self, view, noon):
        with pytest.raises(FieldLimitReached):
            plan_restoration(view, DELETED, by=API, at=noon, limit=1)
