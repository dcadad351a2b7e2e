"""The use cases of recipient fields, for every channel."""

from __future__ import annotations

from datetime import timedelta

import pytest
from attrs import evolve

from recipient_fields.application import DEFAULT_FIELD_LIMIT
from recipient_fields.domain import (
    ADMINISTRATOR,
    ANY_VERSION,
    API,
    Author,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    FieldQuery,
    IntegrationId,
    InvalidField,
    KeyTaken,
    OperationForbidden,
    OrganizationId,
    OrganizationNotFound,
    Precondition,
    Source,
    VersionConflict,
    sync_channel,
)

SYNC, OTHER_SYNC = sync_channel(IntegrationId(7)), sync_channel(IntegrationId(8))
CHANNELS = [API, ADMINISTRATOR, SYNC, OTHER_SYNC]
UNKNOWN_ORGANIZATION = OrganizationId(404)
RENAMED = FieldChanges(name="New name")
STALE = Precondition(match=frozenset({"1-0-0"}))

through_every_channel = pytest.mark.parametrize(
    "channel", CHANNELS, ids=["API", "administrators", "sync", "other sync"]
)
of_every_channel = pytest.mark.parametrize(
    "owner", CHANNELS, ids=["api", "manual", "integration", "other integration"]
)


def drafted(channel=API, name="Size", **members):
    esp_field_name = None if channel.integration_id is None else "SIZE"
    return FieldDraft(name=name, data_type=DataType.TEXT, esp_field_name=esp_field_name, **members)


@pytest.fixture
def created(service, acme):
    def create(channel=API, name="Size", **members):
        return service.by(Author(channel)).create_field(acme, drafted(channel, name, **members))

    return create


@through_every_channel
@of_every_channel
class TestEveryChannel:
    def test_reads_every_field_by_id_and_by_key(self, channel, owner, service, acme, created):
        field, reader = created(owner), service.by(Author(channel))
        assert reader.get_field(acme, field.id) == field
        assert reader.get_field(acme, FieldKey("size")) == field

    def test_lists_every_field(self, channel, owner, service, acme, created):
        field = created(owner)
        assert service.by(Author(channel)).list_fields(acme).fields == (field,)

    def test_finds_every_field(self, channel, owner, service, acme, created):
        field, query = created(owner), FieldQuery(sources=frozenset({owner.source}))
        assert service.by(Author(channel)).find_fields(acme, query).fields == (field,)

    def test_updates_only_its_own_fields(self, channel, owner, service, acme, created):
        field, editor = created(owner), service.by(Author(channel))
        if channel is owner:
            assert editor.update_field(acme, field.id, RENAMED).name == "New name"
        else:
            with pytest.raises(OperationForbidden):
                editor.update_field(acme, field.id, RENAMED)
            assert service.get_field(acme, field.id) == field

    def test_deletes_only_its_own_fields(self, channel, owner, service, acme, created):
        field, editor = created(owner), service.by(Author(channel))
        if channel is owner:
            editor.delete_field(acme, field.id)
            assert service.list_fields(acme).fields == ()
        else:
            with pytest.raises(OperationForbidden):
                editor.delete_field(acme, field.id)
            assert service.list_fields(acme).fields == (field,)


class TestCreating:
    @through_every_channel
    def test_creates_a_field_with_the_origin_of_the_channel(self, channel, created, clock):
        field = created(channel)
        assert field.origin == channel.origin(field.origin.esp_field_name)
        assert (field.created_at, field.version) == (clock.now, 1)

    @of_every_channel
    @through_every_channel
    def test_rejects_a_key_that_a_field_of_any_origin_has(self, channel, owner, created):
        field = created(owner)
        with pytest.raises(KeyTaken) as taken:
            created(channel)
        assert (taken.value.key, taken.value.existing_id) == (field.key, field.id)

    def test_repeated_with_the_same_name_creates_one_field(self, service, acme, created):
        created(name="City")
        with pytest.raises(KeyTaken):
            created(name=" CITY ")
        assert len(service.list_fields(acme).fields) == 1

    def test_permits_two_fields_with_one_name_and_different_keys(self, created):
        assert created(name="City").name == created(name="City", key="town").name

    def test_assigns_ascending_ids_and_reuses_none(self, service, acme, created):
        first = created()
        service.delete_field(acme, first.id)
        assert created().id > first.id

    def test_in_an_unknown_organization_is_rejected(self, service):
        with pytest.raises(OrganizationNotFound):
            service.create_field(UNKNOWN_ORGANIZATION, drafted())

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
    def test_with_an_esp_field_name_requires_a_sync_run(self, channel, service, acme):
        with pytest.raises(InvalidField):
            service.by(Author(channel)).create_field(acme, drafted(SYNC))


class TestUpdating:
    def test_stores_what_it_returns(self, service, acme, created, clock):
        field = created()
        clock.move(timedelta(seconds=5))
        updated = service.update_field(acme, field.key, RENAMED)
        assert (updated.name, updated.version, updated.updated_at) == ("New name", 2, clock.now)
        assert service.get_field(acme, field.id) == updated

    def test_without_changes_keeps_the_field_and_the_revision(self, service, acme, created):
        field, before = created(), service.list_fields(acme)
        assert service.update_field(acme, field.id, FieldChanges(name=field.name)) == field
        assert service.list_fields(acme) == before

    def test_increases_the_revision(self, service, acme, created):
        field = created()
        before = service.list_fields(acme).revision
        service.update_field(acme, field.id, RENAMED)
        assert service.list_fields(acme).revision > before

    def test_with_an_outdated_version_is_rejected(self, service, acme, created):
        field = created()
        given = Precondition(match=frozenset({field.version_tag}))
        current = service.update_field(acme, field.id, RENAMED, given)
        with pytest.raises(VersionConflict) as conflict:
            service.update_field(acme, field.id, FieldChanges(insertable=False), given)
        assert conflict.value.current == current.version_tag

    def test_of_an_unknown_field_is_rejected(self, service, acme):
        with pytest.raises(FieldNotFound):
            service.update_field(acme, FieldId(404), RENAMED, STALE)

    def test_validates_allowed_values_last(self, service, acme, created):
        field, invalid = created(), FieldChanges(allowed_values=[])
        with pytest.raises(VersionConflict):
            service.update_field(acme, field.id, invalid, STALE)
        with pytest.raises(InvalidField):
            service.update_field(acme, field.id, invalid)
        assert service.get_field(acme, field.id) == field


class TestDeleting:
    def test_frees_the_key_at_once(self, service, acme, created):
        service.delete_field(acme, created().key)
        assert created(ADMINISTRATOR).key == "size"

    def test_repeated_is_not_found(self, service, acme, created):
        field = created()
        service.delete_field(acme, field.id)
        with pytest.raises(FieldNotFound):
            service.delete_field(acme, field.id)

    def test_with_an_outdated_version_is_rejected(self, service, acme, created):
        field = created()
        with pytest.raises(VersionConflict):
            service.delete_field(acme, field.id, STALE)
        service.delete_field(acme, field.id, Precondition(match=ANY_VERSION))


class TestAnotherOrganization:
    def test_does_not_see_the_field(self, service, rival, created):
        field = created()
        assert service.list_fields(rival).fields == ()
        for reference in (field.id, field.key):
            with pytest.raises(FieldNotFound):
                service.get_field(rival, reference)

    def test_neither_changes_nor_deletes_the_field(self, service, acme, rival, created):
        field = created()
        for attempt in (
            lambda: service.update_field(rival, field.id, RENAMED),
            lambda: service.delete_field(rival, field.id),
        ):
            with pytest.raises(FieldNotFound):
                attempt()
        assert service.get_field(acme, field.id) == field

    def test_may_use_the_same_key(self, service, rival, created):
        assert service.create_field(rival, drafted()).key == created().key

    def test_keeps_its_revision(self, service, rival, created):
        before = service.list_fields(rival)
        created()
        assert service.list_fields(rival) == before


@pytest.mark.parametrize("read", ["list_fields", "get_field", "find_fields"])
def test_an_organization_that_does_not_exist_has_no_fields(read, service):
    arguments = {"list_fields": (), "get_field": (FieldId(1),), "find_fields": (FieldQuery(),)}
    with pytest.raises((OrganizationNotFound, FieldNotFound)):
        getattr(service, read)(UNKNOWN_ORGANIZATION, *arguments[read])


class TestTheLimit:
    @pytest.fixture
    def service(self, service):
        return evolve(service, limit=2)

    @pytest.fixture(autouse=True)
    def reached(self, created):
        return created(name="One"), created(name="Two")

    def test_is_a_thousand_by_default(self):
        assert DEFAULT_FIELD_LIMIT == 1_000

    def test_applies_to_fields_of_the_api(self, created, service, acme):
        with pytest.raises(FieldLimitReached) as reached:
            created(name="Three")
        assert reached.value.limit == 2
        assert len(service.list_fields(acme).fields) == 2

    @pytest.mark.parametrize("channel", [ADMINISTRATOR, SYNC])
    def test_applies_to_no_other_fields(self, channel, created):
        assert [created(channel, name=f"Field {i}").version for i in range(3)] == [1, 1, 1]

    def test_does_not_count_other_fields(self, service, acme, created, reached):
        created(ADMINISTRATOR, name="By hand")
        service.delete_field(acme, reached[0].id)
        assert created(name="Three").origin.source is Source.API

    def test_is_reported_after_a_taken_key(self, created):
        with pytest.raises(KeyTaken):
            created(name="One")

    def test_does_not_prevent_updates(self, service, acme, reached):
        assert service.update_field(acme, reached[0].id, RENAMED).name == "New name"

    def test_is_counted_per_organization(self, service, rival):
        assert service.create_field(rival, drafted()).version == 1
