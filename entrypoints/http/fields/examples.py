"""Typical fields and changes, which the OpenAPI document shows as examples."""

from __future__ import annotations

from recipient_fields.domain import FIELD_MEMBERS, RecordedOperation, Source

from ..resource import EXAMPLE_REQUEST_ID


def example_field(**members: object) -> dict[str, object]:
    """Return a field as in a response, with these members and typical other ones."""
    field: dict[str, object] = {
        **{each.name: each.default for each in FIELD_MEMBERS},
        "id": 4,
        "data_type": "text",
        "source": Source.API.value,
        "created_at": "2026-11-20T09:15:00.123Z",
        "updated_at": "2026-11-20T09:15:00.123Z",
    }
    return {"recipient_field": {**field, **members}}


def example_body(**members: object) -> dict[str, object]:
    """Return a request body with these members of a field."""
    return {"recipient_field": members}


SHOE_SIZE: dict[str, object] = {
    "name": "Shoe size",
    "data_type": "number",
    "allowed_values": [38, 39.5, 41],
}
BIRTHDAY: dict[str, object] = {
    "name": "Birthday",
    "key": "date_of_birth",
    "data_type": "date",
    "insertable": False,
    "custom_insertion_code": "%%=v(@birthday)=%%",
    "custom_value_expression": "@birthday",
}
RENAMED: dict[str, object] = {
    "name": "Loyalty level",
    "allowed_values": ["platinum", "gold", "silver"],
}
NEWSLETTER: dict[str, object] = {"name": "Newsletter", "data_type": "boolean"}
TIER = example_field(
    id=1, name="Loyalty tier", key="loyalty_tier", allowed_values=["gold", "silver", "bronze"]
)
RENAMED_TIER = example_field(id=1, key="loyalty_tier", **RENAMED)
SHOP = example_field(id=2, name="Preferred shop", key="preferred_shop", source=Source.MANUAL.value)
FIRST_NAME = example_field(
    id=3,
    name="First name",
    key="first_name",
    source=Source.INTEGRATION.value,
    integration_id=1,
    esp_field_name="FNAME",
)
CHANGE: dict[str, object] = {
    "sequence": 4,
    "occurred_at": "2026-11-20T09:15:00.126Z",
    "operation": RecordedOperation.UPDATED.value,
    "actor": {"channel": Source.API.value, "id": 1, "name": "rfk_0123…AuoE"},
    "request_id": EXAMPLE_REQUEST_ID,
    "field_id": 1,
    "key": "loyalty_tier",
    "before": TIER["recipient_field"],
    "after": example_field(
        id=1, key="loyalty_tier", updated_at="2026-11-20T09:15:00.124Z", **RENAMED
    )["recipient_field"],
}
