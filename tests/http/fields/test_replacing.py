"""PUT: replacing a field, or creating it by key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..api import FIELDS, Api
from ..conftest import Clock

CITY = {"name": "City", "data_type": "text"}
FULL: dict[str, Any] = {
    **CITY,
    "allowed_values": ["Wien", "Graz"],
    "insertable": False,
    "custom_insertion_code": "%%=v(@city)=%%",
    "custom_value_expression": "@city",
}
DEFAULTS = {
    "allowed_values": None,
    "insertable": True,
    "custom_insertion_code": None,
    "custom_value_expression": None,
}


@pytest.fixture
def full(api: Api, clock: Clock) -> dict[str, Any]:
    created = api.post(FULL).field
    clock.advance(seconds=1)
    return created


def without_time(field: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name != "updated_at"}


def test_put_by_a_free_key_creates_the_field(api: Api):
    response = api.put("home_town", FULL)
    assert response.status == 201
    assert {**response.field, **FULL, "key": "home_town"} == response.field
    found = api.send("GET", response.headers["location"])
    assert (found.etag, found.field) == (response.etag, response.field)


def test_a_missing_member_of_a_new_field_gets_its_default(api: Api):
    created = api.put("home_town", CITY).field
    assert {**created, **DEFAULTS} == created


def test_a_repeated_request_changes_nothing(api: Api, clock: Clock):
    created = api.put("city", FULL)
    before = api.state()
    clock.advance(seconds=1)
    again = api.put("city", FULL)
    assert (again.status, again.field, again.etag) == (200, created.field, created.etag)
    assert "location" not in again.headers
    assert api.state() == before


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_missing_member_is_reset_to_its_default(api: Api, full, by: str):
    response = api.put(full[by], {**CITY, "name": "Town"})
    assert response.status == 200
    assert without_time(response.field) == {**without_time(full), "name": "Town", **DEFAULTS}
    assert response.field["updated_at"] == "2026-11-20T09:15:01.123Z"
    assert api.get("city").field == response.field


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_field_that_was_read_can_be_sent_back_with_a_change(api: Api, full, by: str):
    response = api.put(full[by], {**api.get("city").field, "name": "Town"})
    assert without_time(response.field) == {**without_time(full), "name": "Town"}


@pytest.mark.parametrize("by", ["id", "key"])
def test_an_outdated_copy_is_rejected(api: Api, full, by: str):
    api.put("city", CITY)
    before = api.state()
    assert api.put(full[by], full).violations == ["/recipient_field/updated_at: read_only"]
    assert api.state() == before


def test_a_copy_of_a_deleted_field_is_rejected(api: Api, full):
    api.delete("city")
    assert api.put("city", full).violations == [
        f"/recipient_field/{member}: read_only" for member in ("created_at", "id", "updated_at")
    ]
    assert api.list().fields == []


@pytest.mark.parametrize("data_type", ["number", "string", "", None, 5])
@pytest.mark.parametrize("by", ["id", "key"])
def test_the_data_type_is_immutable(api: Api, full, by: str, data_type: object):
    before = api.state()
    response = api.put(full[by], {**FULL, "data_type": data_type})
    assert response.violations == ["/recipient_field/data_type: immutable"]
    assert api.state() == before


def test_the_violation_of_the_data_type_is_the_last_one(api: Api, full):
    response = api.put(full["id"], {"data_type": "number", "key": "town", "id": 0, "name": "City"})
    members = [detail["pointer"].rpartition("/")[2] for detail in response.error["details"]]
    assert members == ["key", "id", "data_type"]


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_body_with_another_member_has_all_its_violations(api: Api, full, by: str):
    members = {"name": "City", "data_type": "no"}
    body = json.dumps({"recipient_field": members, "other": 1})
    response = api.send("PUT", f"{FIELDS}/{full[by]}", body)
    assert response.violations == [
        "/other: unknown_field",
        "/recipient_field/data_type: unknown_value",
    ]
    body = json.dumps({"recipient_field": {**CITY, "allowed_values": [1]}, "other": 1})
    response = api.send("PUT", f"{FIELDS}/{full[by]}", body)
    assert response.violations == [
        "/other: unknown_field",
        "/recipient_field/allowed_values/0: type",
    ]


@pytest.mark.parametrize("value", [None, "town", "NOT A KEY"])
def test_another_key_is_a_mismatch_with_the_path_or_immutable(api: Api, full, value: object):
    before = api.state()
    for path, rule in (("city", "mismatch"), ("free", "mismatch"), (full["id"], "immutable")):
        response = api.put(path, {**FULL, "key": value})
        assert response.violations == [f"/recipient_field/key: {rule}"]
    assert api.state() == before


def test_the_violations_of_a_new_field_are_reported(api: Api):
    response = api.put("city", {**CITY, "allowed_values": ["a", 1, "a"]})
    assert response.violations == [
        "/recipient_field/allowed_values/1: type",
        "/recipient_field/allowed_values/2: duplicate_item",
    ]
    response = api.put("city", {**CITY, "data_type": "no"})
    assert response.violations == ["/recipient_field/data_type: unknown_value"]
    assert api.list().fields == []


@pytest.mark.parametrize("reference", ["999", "9007199254740991", "9999999999999999"])
def test_put_by_an_unknown_id_creates_nothing(api: Api, reference: str):
    assert api.put(reference, CITY).status_and_code == (404, "not_found")
    assert api.list().fields == []


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("City", "format"),
        ("a%0A", "format"),
        ("1.0", "format"),
        ("%FF", "format"),
        ("%00", "format"),
        ("%20", "blank"),
        ("k" * 64, "too_long"),
        ("type", "reserved"),
    ],
)
def test_an_invalid_key_in_the_path_is_rejected(api: Api, key: str, code: str):
    assert api.put(key, CITY).violations == [f"/recipient_field/key: {code}"]
    assert api.put(key, CITY, if_match="*").violations == [f"/recipient_field/key: {code}"]
    assert api.list().fields == []


@pytest.mark.parametrize(
    ("body", "violation"),
    [
        ("[]", ": type"),
        ("{}", "/recipient_field: required"),
        ('{"recipient_field": 1}', "/recipient_field: type"),
    ],
)
def test_an_invalid_key_in_the_path_is_reported_with_a_body_without_members(
    api: Api, body: str, violation: str
):
    response = api.send("PUT", f"{FIELDS}/City", body)
    assert response.violations == sorted([violation, "/recipient_field/key: format"])


def test_if_none_match_creates_a_field_only_once(api: Api):
    assert api.put("city", CITY, if_none_match="*").status == 201
    before = api.state()
    again = api.put("city", {**CITY, "name": "Town"}, if_none_match="*")
    assert again.status_and_code == (412, "precondition_failed")
    assert again.error["message"].startswith("The field already exists.")
    assert again.etag == api.get("city").etag
    assert api.state() == before


@pytest.mark.parametrize("if_match", ["*", '"1-1-1"', 'W/"a"'])
def test_if_match_creates_no_field(api: Api, if_match: str):
    response = api.put("city", CITY, if_match=if_match)
    assert response.status_and_code == (412, "precondition_failed")
    assert "etag" not in response.headers
    assert api.list().fields == []


def test_a_field_of_another_origin_can_not_be_replaced_by_its_key(api: Api, foreign):
    before = api.state()
    for headers in ({}, {"if_none_match": "*"}):
        response = api.put("shop", CITY, **headers)
        assert response.status_code_and_reason == (403, "forbidden", "field_not_api_managed")
    assert api.state() == before
