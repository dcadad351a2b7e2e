"""Replacing or creating a field by its key: idempotent and safe in concurrent calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from attrs import evolve

from recipient_fields.domain import (
    ADMINISTRATOR,
    ANY_VERSION,
    API,
    Author,
    DataType,
    FieldDraft,
    FieldKey,
    FieldLimitReached,
    FieldReplacement,
    IntegrationId,
    InvalidField,
    OperationForbidden,
    OrganizationId,
    OrganizationNotFound,
    Precondition,
    VersionConflict,
    sync_channel,
)

SIZE = FieldKey("size")
SYNC = sync_channel(IntegrationId(7))
REPLACEMENT = FieldReplacement(name="Size", data_type="text", insertable=False)
CREATE_ONLY = Precondition(none_match=ANY_VERSION)
REPLACE_ONLY = Precondition(match=ANY_VERSION)


@pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
class TestForTheApiAndAdministrators:
    def test_a_field_with_a_free_key_is_created_with_the_origin_of_the_channel(
        self, channel, service, acme
    ):
        field, created = service.by(Author(channel)).replace_or_create_field(
            acme, SIZE, REPLACEMENT
        )
        assert (created, field.key, field.insertable) == (True, SIZE, False)
        assert field.origin == channel.origin()
        assert service.get_field(acme, SIZE) == field

    def test_a_repetition_changes_nothing(self, channel, service, acme):
        service = service.by(Author(channel))
        first, _ = service.replace_or_create_field(acme, SIZE, REPLACEMENT)
        assert service.replace_or_create_field(acme, SIZE, REPLACEMENT) == (first, False)

    def test_a_field_that_exists_is_replaced(self, channel, service, acme):
        service = service.by(Author(channel))
        first, _ = service.replace_or_create_field(acme, SIZE, REPLACEMENT)
        other = FieldReplacement(name="Other", data_type="text")
        replaced, created = service.replace_or_create_field(acme, SIZE, other)
        assert (created, replaced.id, replaced.version) == (False, first.id, 2)
        assert (replaced.name, replaced.insertable) == ("Other", True)


class TestForASyncRun:
    def test_a_field_that_exists_is_replaced(self, service, acme):
        sync = service.by(Author(SYNC))
        draft = FieldDraft(name="Size", data_type=DataType.TEXT, esp_field_name="SIZE")
        sync.create_field(acme, draft)
        replaced, created = sync.replace_or_create_field(acme, SIZE, REPLACEMENT)
        assert (created, replaced.insertable) == (False, False)
        assert replaced.origin.esp_field_name == "SIZE"

    def test_no_field_is_created_because_the_esp_field_name_is_missing(self, service, acme):
        with pytest.raises(InvalidField, match="esp_field_name"):
            service.by(Author(SYNC)).replace_or_create_field(acme, SIZE, REPLACEMENT)
        assert service.list_fields(acme).fields == ()


@pytest.mark.parametrize("channel", [ADMINISTRATOR, SYNC])
def test_another_channel_s_field_is_not_replaced(channel, service, acme):
    service.replace_or_create_field(acme, SIZE, REPLACEMENT)
    with pytest.raises(OperationForbidden):
        service.by(Author(channel)).replace_or_create_field(acme, SIZE, REPLACEMENT, CREATE_ONLY)


def test_a_field_of_another_organization_is_not_replaced(service, acme, rival):
    service.replace_or_create_field(acme, SIZE, REPLACEMENT)
    assert service.replace_or_create_field(rival, SIZE, REPLACEMENT)[1]


def test_no_field_is_created_in_an_unknown_organization(service):
    with pytest.raises(OrganizationNotFound):
        service.replace_or_create_field(OrganizationId(404), SIZE, REPLACEMENT)


def test_create_only_creates_a_field_and_replaces_none(service, acme):
    field, _ = service.replace_or_create_field(acme, SIZE, REPLACEMENT, CREATE_ONLY)
    with pytest.raises(VersionConflict) as conflict:
        service.replace_or_create_field(acme, SIZE, REPLACEMENT, CREATE_ONLY)
    assert conflict.value.current == field.version_tag


def test_replace_only_creates_no_field(service, acme):
    invalid = evolve(REPLACEMENT, data_type="string")
    with pytest.raises(VersionConflict) as conflict:
        service.replace_or_create_field(acme, SIZE, invalid, REPLACE_ONLY)
    assert conflict.value.current is None
    assert service.list_fields(acme).fields == ()


def test_no_invalid_field_is_created(service, acme):
    invalid = evolve(REPLACEMENT, data_type="string", read_only_members={"id": 5})
    with pytest.raises(InvalidField) as rejected:
        service.replace_or_create_field(acme, SIZE, invalid)
    assert {v.path for v in rejected.value.violations} == {("data_type",), ("id",)}
    assert service.list_fields(acme).fields == ()


def test_a_field_keeps_its_data_type(service, acme):
    field, _ = service.replace_or_create_field(acme, SIZE, REPLACEMENT)
    with pytest.raises(InvalidField, match="data type"):
        service.replace_or_create_field(acme, SIZE, evolve(REPLACEMENT, data_type="number"))
    assert service.get_field(acme, SIZE) == field


def test_no_field_is_created_above_the_limit(service, acme):
    service = evolve(service, limit=1)
    service.replace_or_create_field(acme, SIZE, REPLACEMENT)
    with pytest.raises(FieldLimitReached):
        service.replace_or_create_field(acme, FieldKey("other"), REPLACEMENT)
    assert not service.replace_or_create_field(acme, SIZE, REPLACEMENT)[1]


class TestARace:
    """The other caller acts when the clock is called, between the look-up and the creation."""

    @pytest.fixture
    def overtaken(self, service, clock, acme):
        def by(other):
            moments = iter([lambda: other.replace_or_create_field(acme, SIZE, REPLACEMENT)])

            def racing_clock():
                for happens in moments:
                    happens()
                return clock()

            return evolve(service, clock=racing_clock)

        return by

    def test_that_is_lost_replaces_the_field_of_the_winner(self, service, overtaken, acme):
        late = FieldReplacement(name="Late", data_type="text")
        field, created = overtaken(service).replace_or_create_field(acme, SIZE, late)
        assert (created, field.name, field.version) == (False, "Late", 2)

    def test_that_is_lost_is_a_conflict_if_only_creation_is_requested(
        self, service, overtaken, acme
    ):
        with pytest.raises(VersionConflict):
            overtaken(service).replace_or_create_field(acme, SIZE, REPLACEMENT, CREATE_ONLY)

    def test_that_another_channel_wins_is_forbidden(self, service, overtaken, acme):
        with pytest.raises(OperationForbidden):
            overtaken(service.by(Author(ADMINISTRATOR))).replace_or_create_field(
                acme, SIZE, REPLACEMENT
            )

    @pytest.mark.parametrize("callers", [2, 8])
    def test_of_several_threads_creates_one_field(self, callers, service, clock, acme):
        all_found_it_free = Barrier(callers, timeout=10)
        arrivals = iter(range(callers))

        def racing_clock():
            if next(arrivals, None) is not None:
                all_found_it_free.wait()
            return clock()

        racing = evolve(service, clock=racing_clock)
        with ThreadPoolExecutor(callers) as threads:
            racers = [
                threads.submit(
                    racing.replace_or_create_field,
                    acme,
                    SIZE,
                    FieldReplacement(name=f"Racer {i}", data_type="text"),
                )
                for i in range(callers)
            ]
        outcomes = [racer.result() for racer in racers]
        (field,) = service.list_fields(acme).fields
        assert sum(created for _, created in outcomes) == 1
        assert {created.id for created, _ in outcomes} == {field.id}
        assert field.version == callers
