"""Cases for values, which a storage must return with the same value and type."""

from __future__ import annotations

from datetime import datetime

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    AllowedValues,
    Channel,
    DataType,
    FieldDefinition,
    FieldKey,
    FieldName,
    InsertionCode,
    OrganizationId,
    ValueExpression,
    sync_channel,
)

from .assertions import assert_published, exact
from .examples import (
    ALLOWED_VALUES,
    AUTHOR,
    INSERTION_CODES,
    INSTANTS,
    LATER,
    LINES,
    MAX_INTEGRATION_ID,
    a_definition,
    changing,
    permit,
)
from .field_changes import add_field, delete_field, update_field


class RoundTripCases:
    """Cases for every member of a field, with values that storages often change."""

    @pytest.mark.parametrize("name", LINES.values(), ids=LINES)
    def test_field_names_are_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId, name: str
    ) -> None:
        assert_stored_unchanged(fields, ours, a_definition(name=name))

    @pytest.mark.parametrize("key", ["a", "a1_2_b", "k" * 63])
    def test_field_keys_are_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId, key: str
    ) -> None:
        assert_stored_unchanged(fields, ours, a_definition(key))

    @pytest.mark.parametrize("data_type", DataType)
    def test_every_data_type_is_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId, data_type: DataType
    ) -> None:
        assert_stored_unchanged(fields, ours, a_definition(data_type=data_type))

    def test_insertable_is_stored_unchanged_if_false(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        assert_stored_unchanged(fields, ours, a_definition(insertable=False))

    @pytest.mark.parametrize("allowed", ALLOWED_VALUES.values(), ids=ALLOWED_VALUES)
    def test_allowed_values_keep_their_order_and_types(
        self, fields: FieldRepository, ours: OrganizationId, allowed: AllowedValues
    ) -> None:
        definition = a_definition(data_type=allowed.data_type, allowed_values=allowed)
        assert_stored_unchanged(fields, ours, definition)

    @pytest.mark.parametrize("code", INSERTION_CODES.values(), ids=INSERTION_CODES)
    def test_insertion_code_and_value_expression_are_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId, code: str
    ) -> None:
        definition = a_definition(custom_insertion_code=code, custom_value_expression=code)
        assert_stored_unchanged(fields, ours, definition)

    def test_the_longest_insertion_code_is_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        assert_stored_unchanged(fields, ours, a_definition(custom_insertion_code="😀" * 10_000))

    @pytest.mark.parametrize("channel", [API, ADMINISTRATOR, sync_channel(MAX_INTEGRATION_ID)])
    def test_every_origin_is_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId, channel: Channel
    ) -> None:
        assert_stored_unchanged(fields, ours, a_definition(by=channel))

    @pytest.mark.parametrize("code", INSERTION_CODES.values(), ids=INSERTION_CODES)
    def test_esp_field_names_are_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId, code: str
    ) -> None:
        channel = sync_channel(MAX_INTEGRATION_ID)
        assert_stored_unchanged(fields, ours, a_definition(by=channel, esp_field_name=code[:255]))

    @pytest.mark.parametrize("created_at", INSTANTS)
    def test_times_of_fields_are_stored_to_the_millisecond(
        self, fields: FieldRepository, ours: OrganizationId, created_at: datetime
    ) -> None:
        assert_stored_unchanged(fields, ours, evolve(a_definition(), created_at=created_at))

    def test_a_published_catalog_is_ordered_by_id(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        assert_published(fields.publish(ours), fields.all(ours))
        for key in ("zebra", "apple", "mango"):
            add_field(fields, ours, a_definition(key), author=AUTHOR)
        update_field(fields, ours, FieldKey("zebra"), changing(insertable=False), author=AUTHOR)
        delete_field(fields, ours, FieldKey("apple"), permit, author=AUTHOR, at=LATER)
        assert_published(fields.publish(ours), fields.all(ours))

    def test_every_member_can_be_changed_and_changed_back(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        cleared = {
            "name": FieldName("City"),
            "allowed_values": None,
            "insertable": True,
            "custom_insertion_code": None,
            "custom_value_expression": None,
        }
        filled = {
            "name": FieldName("Größe 😀"),
            "allowed_values": tuple(LINES.values()),
            "insertable": False,
            "custom_insertion_code": InsertionCode(INSERTION_CODES["controls"]),
            "custom_value_expression": ValueExpression(INSERTION_CODES["lines"]),
        }
        field = add_field(fields, ours, a_definition(), author=AUTHOR)
        for change in (changing(**filled), changing(**cleared)):
            expected = change(field)
            field = update_field(fields, ours, field.id, change, author=AUTHOR)
            assert exact(field) == exact(expected)
            assert exact(fields.get(ours, field.id)) == exact(expected)
        assert field.version == 3


def assert_stored_unchanged(
    fields: FieldRepository, organization_id: OrganizationId, definition: FieldDefinition
) -> None:
    """Assert that the added field equals its definition, read by id, by key and in the list."""
    added = add_field(fields, organization_id, definition, author=AUTHOR)
    expected = exact(definition.with_id(added.id, organization_id))
    assert exact(added) == expected
    assert exact(fields.get(organization_id, added.id)) == expected
    assert exact(fields.get(organization_id, added.key)) == expected
    catalog = fields.all(organization_id)
    assert exact(catalog.fields) == (expected,)
    assert_published(fields.publish(organization_id), catalog)
