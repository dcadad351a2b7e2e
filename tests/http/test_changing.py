"""PATCH: members left out stay (HTTP contract, section 4)."""

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
    clock.move(seconds=1)
    return created


def without_time(field: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name != "updated_at"}


@pytest.mark.parametrize("by", ["id", "key"])
@pytest.mark.parametrize("member", CHANGES)
def test_one_member_changes_and_the_others_stay(api: Api, field, member: str, by: str):
    answer = api.patch(field[by], {member: CHANGES[member]})
    assert answer.status == 200
    expected = {**without_time(field), member: CHANGES[member]}
    assert without_time(answer.field) == expected
    assert api.get("city").field == answer.field


@pytest.mark.parametrize("member", NULLABLE)
def test_null_clears_what_can_be_null(api: Api, field, member: str):
    assert api.patch("city", {member: None}).field[member] is None
    assert without_time(api.get("city").field) == {**without_time(field), member: None}


@pytest.mark.parametrize("member", ["name", "insertable"])
def test_null_clears_nothing_else(api: Api, field, member: str):
    answer = api.patch("city", {member: None})
    assert answer.violations == [f"/recipient_field/{member}: type"]


def test_several_members_change_at_once(api: Api, field):
    assert without_time(api.patch("city", CHANGES).field) == {**without_time(field), **CHANGES}


def test_a_change_moves_the_time_and_the_versions(api: Api, field, clock: Clock):
    before = api.get("city"), api.list()
    changed = api.patch("city", {"name": "Town"})
    assert changed.field["updated_at"] == "2026-11-20T09:15:01.123Z"
    assert changed.field["created_at"] == field["created_at"]
    assert changed.etag == api.get("city").etag != before[0].etag
    assert api.list().etag != before[1].etag


@pytest.mark.parametrize("seconds", [0, -3_600])
def test_the_time_moves_forward_whatever_the_clock_does(api: Api, field, clock: Clock, seconds):
    first = api.patch("city", {"name": "Town"}).field["updated_at"]
    clock.move(seconds=seconds)
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
def test_a_change_of_nothing_changes_nothing(api: Api, field, members: dict[str, Any]):
    before, etag = api.state(), api.get("city").etag
    answer = api.patch("city", members)
    assert (answer.status, answer.field, answer.etag) == (200, field, etag)
    assert api.state() == before


def test_the_order_of_allowed_values_is_part_of_them(api: Api, field):
    answer = api.patch("city", {"allowed_values": ["Graz", "Wien"]})
    assert answer.field["allowed_values"] == ["Graz", "Wien"]
    assert answer.field["updated_at"] > field["updated_at"]


def test_a_field_that_was_read_can_be_sent_back(api: Api, field):
    before = api.state()
    assert api.patch("city", api.get("city").field).field == field
    assert api.state() == before


def test_a_field_that_was_read_can_be_sent_back_with_a_change(api: Api, field):
    answer = api.patch("city", {**api.get("city").field, "name": "Town"})
    assert without_time(answer.field) == {**without_time(field), "name": "Town"}


def test_a_stale_copy_is_refused(api: Api, field):
    api.patch("city", {"name": "Town"})
    before = api.state()
    answer = api.patch("city", field)
    assert answer.violations == ["/recipient_field/updated_at: read_only"]
    assert api.state() == before


@pytest.mark.parametrize("member", READ_ONLY)
@pytest.mark.parametrize("value", [5, True, "manual", "2026-11-20T09:15:00Z", [], {}])
def test_what_the_service_assigns_can_not_change(api: Api, field, member: str, value: object):
    before = api.state()
    answer = api.patch("city", {member: value, "name": "Town"})
    assert answer.violations == [f"/recipient_field/{member}: read_only"]
    assert api.state() == before


def test_a_time_is_equal_only_in_the_form_it_is_shown(api: Api, field):
    for form in ("2026-11-20T09:15:00.123+00:00", "2026-11-20t09:15:00.123z"):
        answer = api.patch("city", {"created_at": form})
        assert answer.violations == ["/recipient_field/created_at: read_only"]


@pytest.mark.parametrize("member", ["key", "data_type"])
@pytest.mark.parametrize("value", OTHERS)
def test_key_and_data_type_are_immutable_whatever_the_form(api: Api, field, member: str, value):
    before = api.state()
    answer = api.patch("city", {member: value})
    assert answer.violations == [f"/recipient_field/{member}: immutable"]
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
def test_allowed_values_are_of_the_stored_type(api: Api, data_type: str, good, bad):
    api.post({"name": "City", "data_type": data_type})
    assert api.patch("city", {"allowed_values": good}).field["allowed_values"] == good
    (told,) = api.patch("city", {"allowed_values": bad}).violations
    assert told.startswith("/recipient_field/allowed_values/0: ")


def test_a_boolean_fields_values_stay_null(api: Api):
    api.post({"name": "City", "data_type": "boolean"})
    assert api.patch("city", {"allowed_values": None}).status == 200
    answer = api.patch("city", {"allowed_values": [True]})
    assert answer.violations == ["/recipient_field/allowed_values: not_applicable"]


@pytest.mark.parametrize("reference", ["missing", "999", "City", "type", "sys_a", "a%20b"])
def test_what_does_not_exist_is_not_changed(api: Api, field, reference: str):
    before = api.state()
    assert api.patch(reference, {"name": "Town"}).outcome == (404, "not_found")
    assert api.state() == before


def test_what_can_not_be_written_is_judged_by_what_is_stored(api: Api, foreign: RecipientField):
    stated = {"id": "x", "key": 5, "data_type": None, "allowed_values": [1]}
    assert api.patch("shop", stated).outcome == (403, "forbidden")
    assert api.patch("missing", stated).outcome == (404, "not_found")


@pytest.mark.parametrize("media_type", ["application/json", "application/merge-patch+json"])
def test_a_change_is_sent_as_json_or_as_a_merge_patch(api: Api, field, media_type: str):
    body = enveloped({"name": "Town", "allowed_values": None})
    answer = api.send("PATCH", f"{FIELDS}/city", body, content_type=media_type)
    assert (answer.field["name"], answer.field["allowed_values"]) == ("Town", None)
