"""Cases for unique keys and the field limit."""

from __future__ import annotations

import pytest

from recipient_fields.application import FieldRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Channel,
    FieldLimitReached,
    IntegrationId,
    KeyTaken,
    OrganizationId,
    sync_channel,
)

from .examples import a_definition, renaming
from .field_changes import add_field, delete_field, update_field

CHANNELS = (API, ADMINISTRATOR, sync_channel(IntegrationId(1)), sync_channel(IntegrationId(2)))


class UniquenessCases:
    """Cases for one field per key, and a limited number of fields per source."""

    @pytest.mark.parametrize("holder", CHANNELS)
    def test_a_key_is_unique_across_all_origins(
        self, fields: FieldRepository, ours: OrganizationId, holder: Channel
    ) -> None:
        field = add_field(fields, ours, a_definition(by=holder))
        before = fields.all(ours)
        for other in CHANNELS:
            with pytest.raises(KeyTaken) as taken:
                add_field(fields, ours, a_definition(by=other, name="Town"))
            assert (taken.value.key, taken.value.existing_id) == ("city", field.id)
            assert fields.all(ours) == before

    def test_field_names_need_not_be_unique(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition("city"))
        assert add_field(fields, ours, a_definition("town")).name == "City"

    def test_the_key_of_a_changed_field_is_still_taken(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        update_field(fields, ours, field.id, renaming("Town"))
        with pytest.raises(KeyTaken):
            add_field(fields, ours, a_definition())

    @pytest.mark.parametrize("limit", [0, 1, 3])
    def test_a_limit_is_reached_exactly(
        self, fields: FieldRepository, ours: OrganizationId, limit: int
    ) -> None:
        for number in range(limit):
            add_field(fields, ours, a_definition(f"city_{number}"), limit=limit)
        before = fields.all(ours)
        with pytest.raises(FieldLimitReached) as reached:
            add_field(fields, ours, a_definition(), limit=limit)
        assert reached.value.limit == limit
        assert fields.all(ours) == before

    def test_a_limit_below_the_number_of_fields_rejects_every_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for key in ("city", "town"):
            add_field(fields, ours, a_definition(key))
        with pytest.raises(FieldLimitReached):
            add_field(fields, ours, a_definition("age"), limit=1)

    def test_without_a_limit_a_field_can_always_be_added(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition("city"), limit=1)
        add_field(fields, ours, a_definition("town"))
        assert len(fields.all(ours).fields) == 2

    @pytest.mark.parametrize("channel", CHANNELS[:3])
    def test_a_limit_counts_only_the_fields_of_its_source(
        self, fields: FieldRepository, ours: OrganizationId, channel: Channel
    ) -> None:
        for other in CHANNELS:
            if other.source is not channel.source:
                name = f"{other.source.value}_{other.integration_id or 0}"
                add_field(fields, ours, a_definition(name, by=other))
        add_field(fields, ours, a_definition("city", by=channel), limit=1)
        with pytest.raises(FieldLimitReached):
            add_field(fields, ours, a_definition("town", by=channel), limit=1)

    def test_a_limit_counts_only_the_fields_of_one_organization(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        add_field(fields, theirs, a_definition(), limit=1)
        add_field(fields, ours, a_definition(), limit=1)

    def test_a_deleted_field_makes_room_below_the_limit(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition("city"), limit=1)
        delete_field(fields, ours, field.id)
        add_field(fields, ours, a_definition("town"), limit=1)

    def test_a_taken_key_is_reported_before_a_reached_limit(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition(), limit=1)
        with pytest.raises(KeyTaken):
            add_field(fields, ours, a_definition(), limit=1)
