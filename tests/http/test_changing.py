"""PATCH: missing members keep their values (HTTP contract, section 4)."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import RecipientField

from .api import FIELDS, Api, enveloped
from .conftest import Clock

FULL: dict[str, Any] = {
    "name": "City",
    "data_type": "text",
    "allowed_values": ["Wien", "Graz"],
    "insertable": False,
    "custom_insertion_code": "%%=v(@city)=%%",
    "custom_value_expression": "@city",
}
CHANGES: dict[str, Any] = {
    "name": "Town",
    "allowed_values": ["Linz"],
    "insertable": True,
    "custom_insertion_code": "*|CITY|*",
    "custom_value_expression": "CITY",
}
NULLABLE = ("allowed_values", "custom_insertion_code", "custom_value_expression")
READ_ONLY = ("id", "source", "integration_id", "esp_field_name", "created_at", "updated_at")
OTHERS: list[object] = [None, 5, 1.0, True, "town", "", "NOT A KEY", " city ", [], {}, "x" * 1_000]


@pytest.fixture
def field(api: Api, clock: Clock) -> dict[str, Any]:
    created = api.post(FULL).field
    clock.advance(seconds=1)
    return created


def without_time(field: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name != "updated_at"}


@pytest.mark.parametrize("by", ["id", "key"])
@pytest.mark.parametrize("member", CHANGES)
def test_a_change_of_one_member_keeps_the_others(api: Api, field, member: str, by: str):
    response = api.patch(field[by], {member: CHANGES[member]})
    assert response.status == 200
    expected = {**without_time(field), member: CHANGES[member]}
    assert without_time(response.field) == expected
    assert api.get("city").field == response.field


@pytest.mark.parametrize("member", NULLABLE)
def test_null_clears_what_can_be_null(api: Api, field, member: str):
    assert api.patch("city", {member: None}).field[member] is None
    assert without_time(api.get("city").field) == {**without_time(field), member: None}


@pytest.mark.parametrize("member", ["name", "insertable"])
def test_null_is_rejected_for_other_members(api: Api, field, member: str):
    response = api.patch("city", {member: None})
    assert response.violations == [f"/recipient_field/{member}: type"]


def test_several_members_can_change_in_one_request(api: Api, field):
    assert without_time(api.patch("city", CHANGES).field) == {**without_time(field), **CHANGES}


def test_a_change_updates_the_time_and_the_entity_tags(api: Api, field, clock: Clock):
    before = api.get("city"), api.list()
    changed = api.patch("city", {"name": "Town"})
    assert changed.field["updated_at"] == "2026-11-20T09:15:01.123Z"
    assert changed.field["created_at"] == field["created_at"]
    assert changed.etag == api.get("city").etag != before[0].etag
    assert api.list().etag != before[1].etag


@pytest.mark.parametrize("seconds", [0, -3_600])
def test_updated_at_increases_even_if_the_clock_goes_back(api: Api, field, clock: Clock, seconds):
    first = api.patch("city", {"name": "Town"}).field["updated_at"]
    clock.advance(seconds=seconds)
    second = api.patch("city", {"name": "Village"}).field["updated_at"]
    assert (first, second) == ("2026-11-20T09:15:01.123Z", "2026-11-20T09:15:01.124Z")


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"name": "City"},
        {"name": " City "},
        {"allowed_values": ["Wien", "Graz"]},
        {"insertable": False},
        FULL,
        {"key": "city", "source": "api", "integration_id": None, "esp_field_name": None},
    ],
)
def test_a_change_to_equal_values_changes_nothing(api: Api, field, members: dict[str, Any]):
    before, etag = api.state(), api.get("city").etag
    response = api.patch("city", members)
    assert (response.status, response.field, response.etag) == (200, field, etag)
    assert api.state() == before


def test_a_new_order_of_allowed_values_is_a_change(api: Api, field):
    response = api.patch("city", {"allowed_values": ["Graz", "Wien"]})
    assert response.field["allowed_values"] == ["Graz", "Wien"]
    assert response.field["updated_at"] > field["updated_at"]


def test_a_field_that_was_read_can_be_sent_back(api: Api, field):
    before = api.state()
    assert api.patch("city", api.get("city").field).field == field
    assert api.state() == before


def test_a_field_that_was_read_can_be_sent_back_with_a_change(api: Api, field):
    response = api.patch("city", {**api.get("city").field, "name": "Town"})
    assert without_time(response.field) == {**without_time(field), "name": "Town"}


def test_an_outdated_copy_is_rejected(api: Api, field):
    api.patch("city", {"name": "Town"})
    before = api.state()
    response = api.patch("city", field)
    assert response.violations == ["/recipient_field/updated_at: read_only"]
    assert api.state() == before


@pytest.mark.parametrize("member", READ_ONLY)
@pytest.mark.parametrize("value", [5, True, "manual", "2026-11-20T09:15:00Z", [], {}])
def test_read_only_members_can_not_change(api: Api, field, member: str, value: object):
    before = api.state()
    response = api.patch("city", {member: value, "name": "Town"})
    assert response.violations == [f"/recipient_field/{member}: read_only"]
    assert api.state() == before


def test_a_time_in_another_format_is_rejected_as_a_change(api: Api, field):
    for form in ("2026-11-20T09:15:00.123+00:00", "2026-11-20t09:15:00.123z"):
        response = api.patch("city", {"created_at": form})
        assert response.violations == ["/recipient_field/created_at: read_only"]


@pytest.mark.parametrize("member", ["key", "data_type"])
@pytest.mark.parametrize("value", OTHERS)
def test_key_and_data_type_are_immutable(api: Api, field, member: str, value):
    before = api.state()
    response = api.patch("city", {member: value})
    assert response.violations == [f"/recipient_field/{member}: immutable"]
    assert api.state() == before


@pytest.mark.parametrize(
    ("data_type", "good", "bad"),
    [
        ("text", ["a"], [1]),
        ("number", [1], ["1"]),
        ("date", ["2026-11-20"], ["a"]),
        ("datetime", ["2026-11-20T09:15:00.123Z"], ["2026-11-20"]),
    ],
)
def test_allowed_values_must_have_the_type_of_the_stored_field(api: Api, data_type: str, good, bad):
    api.post({"name": "City", "data_type": data_type})
    assert api.patch("city", {"allowed_values": good}).field["allowed_values"] == good
    (violation,) = api.patch("city", {"allowed_values": bad}).violations
    assert violation.startswith("/recipient_field/allowed_values/0: ")


def test_the_allowed_values_of_a_boolean_field_must_be_null(api: Api):
    api.post({"name": "City", "data_type": "boolean"})
    assert api.patch("city", {"allowed_values": None}).status == 200
    response = api.patch("city", {"allowed_values": [True]})
    assert response.violations == ["/recipient_field/allowed_values: not_applicable"]


@pytest.mark.parametrize("reference", ["missing", "999", "City", "type", "sys_a", "a%20b"])
def test_a_missing_field_can_not_be_changed(api: Api, field, reference: str):
    before = api.state()
    assert api.patch(reference, {"name": "Town"}).status_and_code == (404, "not_found")
    assert api.state() == before


def test_members_are_compared_with_the_stored_field(api: Api, foreign: RecipientField):
    members = {"id": "x", "key": 5, "data_type": None, "allowed_values": [1]}
    assert api.patch("shop", members).status_and_code == (403, "forbidden")
    assert api.patch("missing", members).status_and_code == (404, "not_found")


@pytest.mark.parametrize("media_type", ["application/json", "application/merge-patch+json"])
def test_a_change_can_be_json_or_a_merge_patch(api: Api, field, media_type: str):
    body = enveloped({"name": "Town", "allowed_values": None})
    response = api.send("PATCH", f"{FIELDS}/city", body, content_type=media_type)
    assert (response.field["name"], response.field["allowed_values"]) == ("Town", None)
