"""Cases for values, which a storage must return with the same value and type."""

from __future__ import annotations

from typing import Final

import pytest
from attrs import evolve

from recipient_fields.application import FieldRepository
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
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
    INSERTION_CODES,
    INSTANTS,
    LINES,
    MAX_INTEGRATION_ID,
    a_definition,
    changing,
)
from .field_changes import add_field, delete_field, update_field

_SYNC: Final = sync_channel(MAX_INTEGRATION_ID)

STORED: Final[dict[str, FieldDefinition]] = {
    **{f"name, {name}": a_definition(name=line) for name, line in LINES.items()},
    **{f"key {key:.7}": a_definition(key) for key in ("a", "a1_2_b", "k" * 63)},
    **{f"type {each.value}": a_definition(data_type=each) for each in DataType},
    "not insertable": a_definition(insertable=False),
    **{
        f"allowed values, {name}": a_definition(data_type=each.data_type, allowed_values=each)
        for name, each in ALLOWED_VALUES.items()
    },
    **{
        f"code, {name}": a_definition(custom_insertion_code=code, custom_value_expression=code)
        for name, code in INSERTION_CODES.items()
    },
    "the longest code": a_definition(custom_insertion_code="😀" * 10_000),
    **{f"by {each.phrase}": a_definition(by=each) for each in (API, ADMINISTRATOR, _SYNC)},
    **{
        f"ESP name, {name}": a_definition(by=_SYNC, esp_field_name=code[:255])
        for name, code in INSERTION_CODES.items()
    },
    **{f"at {at}": evolve(a_definition(), created_at=at) for at in INSTANTS},
}
"""Fields with each value that storages often change, or round."""


class RoundTripCases:
    """Cases for every member of a field, with values that storages often change."""

    @pytest.mark.parametrize("definition", STORED.values(), ids=STORED)
    def test_a_field_is_stored_unchanged(
        self, fields: FieldRepository, ours: OrganizationId, definition: FieldDefinition
    ) -> None:
        added = add_field(fields, ours, definition)
        expected = exact(definition.with_id(added.id, ours))
        assert exact(added) == expected
        assert exact(fields.get(ours, added.id)) == expected
        assert exact(fields.get(ours, added.key)) == expected
        catalog = fields.all(ours)
        assert exact(catalog.fields) == (expected,)
        assert_published(fields.publish(ours), catalog)

    def test_a_published_catalog_is_ordered_by_id(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        assert_published(fields.publish(ours), fields.all(ours))
        for key in ("zebra", "apple", "mango"):
            add_field(fields, ours, a_definition(key))
        update_field(fields, ours, FieldKey("zebra"), changing(insertable=False))
        delete_field(fields, ours, FieldKey("apple"))
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
        field = add_field(fields, ours, a_definition())
        for change in (changing(**filled), changing(**cleared)):
            expected = change(field)
            field = update_field(fields, ours, field.id, change)
            assert exact(field) == exact(expected)
            assert exact(fields.get(ours, field.id)) == exact(expected)
        assert field.version == 3
