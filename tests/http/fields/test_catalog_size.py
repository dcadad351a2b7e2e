"""The limits of bytes: of the list of all fields, and of the allowed values of one field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recipient_fields.domain import ADMINISTRATOR, AllowedValues, DataType, OrganizationId
from recipient_fields.testing.examples import AUTHOR, a_definition
from recipient_fields.testing.field_changes import add_field

from ..api import Api, ApiResponse
from ..conftest import Harness

LIMIT = 4_096
FIELD = {"name": "Padding", "key": "padding", "data_type": "text"}

VALUES_OF_64_KIB = [f"{number:04}{'x' * 248}" for number in range(257)]
"""Allowed values of exactly 65,536 bytes as JSON."""


@pytest.fixture
def small(harness: Harness, bakery: OrganizationId) -> Api:
    """Return a client of an organization whose list has at most 4 KiB."""
    small = Harness(harness.storage, harness.clock, size_limit=LIMIT)
    return small.client_with_key(bakery)


def padding(api: Api, **members: Any) -> dict[str, Any]:
    """Return a new field with which the list has exactly the limit of bytes."""
    first = api.post({**FIELD, "custom_insertion_code": "x"})
    missing = LIMIT - size_of(api)
    assert api.delete("padding").status == 204
    assert len(str(first.field["id"] + 1)) == len(str(first.field["id"])), "an id of more digits"
    return {**FIELD, "custom_insertion_code": "x" * (1 + missing), **members}


def size_of(api: Api) -> int:
    """Return the bytes of the list as JSON without white space."""
    document = json.dumps(api.list().json, ensure_ascii=False, separators=(",", ":"))
    return len(document.encode())


def too_large(response: ApiResponse, used: int) -> bool:
    """Return whether the response reports the limit, and this size."""
    error = response.error
    assert response.status_and_code == (409, "catalog_too_large")
    return (error["limit"], error["used"]) == (LIMIT, used)


def test_a_list_of_exactly_the_limit_can_be_reached_but_not_exceeded(small):
    """The story: an organization fills its list, is told so, and makes room."""
    assert small.post({**FIELD, "key": "first", "allowed_values": ["a", "ä"]}).status == 201
    used = size_of(small)
    last = padding(small)
    larger = {**last, "custom_insertion_code": last["custom_insertion_code"] + "x"}
    assert too_large(small.post(larger), used)
    assert too_large(small.put("padding", larger), used)
    assert size_of(small) == used

    assert small.post(last).status == 201
    assert size_of(small) == len(small.list().content) == LIMIT
    assert too_large(small.patch("first", {"name": "Paddings"}), LIMIT)
    assert too_large(small.post({"name": "One more", "data_type": "text"}), LIMIT)
    assert small.patch("first", {"name": "Passing"}).status == 200
    assert small.get("first").field["name"] == "Passing"

    assert small.patch("padding", {"custom_insertion_code": None}).status == 200
    assert small.post({"name": "One more", "data_type": "text"}).status == 201


def test_a_batch_beyond_the_limit_names_the_operation(small):
    creation = {"operation": "create", "recipient_field": FIELD}
    large = {**FIELD, "key": "large", "custom_insertion_code": "x" * LIMIT}
    empty = size_of(small)
    response = small.apply(creation, {"operation": "create", "recipient_field": large})
    assert response.status_and_code == (409, "catalog_too_large")
    (detail,) = response.error["details"]
    assert (detail["pointer"], detail["code"]) == ("/operations/1", "catalog_too_large")
    assert detail["limit"] == response.error["limit"] == LIMIT
    assert detail["used"] == response.error["used"] > empty
    assert size_of(small) == empty


def test_a_restoration_beyond_the_limit_is_rejected(small):
    deleted = small.post({**FIELD, "key": "deleted", "custom_insertion_code": "x" * 200}).field
    assert small.delete("deleted").status == 204
    last = padding(small)
    assert small.post(last).status == 201
    path = f"/api/v1/recipient_fields/{deleted['id']}/restore"
    assert too_large(small.send("POST", path), LIMIT)
    assert small.delete("padding").status == 204
    assert small.send("POST", path).status == 200


def test_fields_of_all_sources_count(small, harness, bakery):
    harness.add_field(bakery, ADMINISTRATOR, custom_insertion_code="x" * LIMIT)
    used = size_of(small)
    assert used > LIMIT
    assert too_large(small.post(FIELD), used)


def test_the_limit_is_that_of_each_organization(small, harness, bakery):
    assert small.post(padding(small)).status == 201
    other = Harness(harness.storage, harness.clock, size_limit=LIMIT)
    theirs = other.client_with_key(other.organization("Florist"))
    assert theirs.post(FIELD).status == 201


class TestAllowedValues:
    def test_64_kib_can_be_created_and_changed_and_not_exceeded(self, api):
        assert len(json.dumps(VALUES_OF_64_KIB, separators=(",", ":"))) == 65_536
        larger = [*VALUES_OF_64_KIB[:-1], VALUES_OF_64_KIB[-1] + "x"]
        for response in (
            api.post({**FIELD, "allowed_values": larger}),
            api.put("padding", {"name": "A", "data_type": "text", "allowed_values": larger}),
        ):
            assert response.violations == ["/recipient_field/allowed_values: too_large"]
        assert api.post({**FIELD, "allowed_values": VALUES_OF_64_KIB}).status == 201
        for response in (
            api.patch("padding", {"allowed_values": larger}),
            api.put("padding", {"name": "A", "data_type": "text", "allowed_values": larger}),
        ):
            assert response.violations == ["/recipient_field/allowed_values: too_large"]
        batch = api.apply(
            {
                "operation": "update",
                "reference": "padding",
                "recipient_field": {"allowed_values": larger},
            }
        )
        assert [(each["pointer"], each["code"]) for each in batch.error["details"]] == [
            ("/operations/0/recipient_field/allowed_values", "too_large")
        ]
        assert api.get("padding").field["allowed_values"] == VALUES_OF_64_KIB

    def test_the_bytes_of_utf_8_count(self, api):
        values = [f"{number:03}{'😀' * 250}" for number in range(66)]
        response = api.post({**FIELD, "allowed_values": values})
        assert response.violations == ["/recipient_field/allowed_values: too_large"]

    def test_larger_values_that_are_stored_stay(self, api, storage, bakery):
        values = [f"{number:04}{'x' * 250}" for number in range(1_000)]
        stored = a_definition("stored", allowed_values=AllowedValues(DataType.TEXT, values))
        add_field(storage.fields, bakery, stored, author=AUTHOR)
        assert api.get("stored").field["allowed_values"] == values
        assert api.patch("stored", {"name": "Renamed"}).field["name"] == "Renamed"
        same = {"name": "Town", "data_type": "text", "allowed_values": values}
        assert api.put("stored", same).field["name"] == "Town"
        fewer = api.patch("stored", {"allowed_values": values[:-1]})
        assert fewer.violations == ["/recipient_field/allowed_values: too_large"]
        assert api.delete("stored").status == 204
