"""PUT: every writable member is replaced; by key, the field is made (HTTP contract, section 4)."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import RESERVED_KEYS, OrganizationId

from .api import FIELDS, Api
from .conftest import CHANNELS, Clock, Stand

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
OTHERS: list[object] = [None, 5, 1.0, True, "number", "", "no type", [], {}]


@pytest.fixture
def full(api: Api, clock: Clock) -> dict[str, Any]:
    created = api.post(FULL).field
    clock.move(seconds=1)
    return created


def without_time(field: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name != "updated_at"}


def test_on_a_free_key_the_field_is_made(api: Api):
    answer = api.put("home_town", FULL)
    assert answer.status == 201
    assert {**answer.field, **FULL, "key": "home_town"} == answer.field
    found = api.send("GET", answer.headers["location"])
    assert (found.etag, found.field) == (answer.etag, answer.field)


def test_what_is_left_out_of_a_new_field_takes_its_default(api: Api):
    created = api.put("home_town", CITY).field
    assert {**created, **DEFAULTS} == created


def test_the_key_of_the_path_may_be_repeated(api: Api):
    assert api.put("home_town", {**CITY, "key": "home_town"}).status == 201


def test_a_repeated_request_changes_nothing(api: Api, clock: Clock):
    created = api.put("city", FULL)
    before = api.state()
    clock.move(seconds=1)
    again = api.put("city", FULL)
    assert (again.status, again.field, again.etag) == (200, created.field, created.etag)
    assert "location" not in again.headers
    assert api.state() == before


@pytest.mark.parametrize("by", ["id", "key"])
def test_what_is_left_out_goes_back_to_its_default(api: Api, full, by: str):
    answer = api.put(full[by], {**CITY, "name": "Town"})
    assert answer.status == 200
    assert without_time(answer.field) == {**without_time(full), "name": "Town", **DEFAULTS}
    assert answer.field["updated_at"] == "2026-11-20T09:15:01.123Z"
    assert api.get("city").field == answer.field


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_field_that_was_read_can_be_sent_back(api: Api, full, by: str):
    before = api.state()
    assert api.put(full[by], api.get("city").field).field == full
    assert api.state() == before


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_field_that_was_read_can_be_sent_back_with_a_change(api: Api, full, by: str):
    answer = api.put(full[by], {**api.get("city").field, "name": "Town"})
    assert without_time(answer.field) == {**without_time(full), "name": "Town"}


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_stale_copy_is_refused(api: Api, full, by: str):
    api.put("city", CITY)
    before = api.state()
    assert api.put(full[by], full).violations == ["/recipient_field/updated_at: read_only"]
    assert api.state() == before


def test_a_copy_of_a_field_that_is_gone_is_refused(api: Api, full):
    api.delete("city")
    assert api.put("city", full).violations == [
        f"/recipient_field/{member}: read_only" for member in ("created_at", "id", "updated_at")
    ]
    assert api.list().fields == []


@pytest.mark.parametrize("by", ["id", "key"])
@pytest.mark.parametrize("value", OTHERS)
def test_the_data_type_is_immutable_whatever_its_form(api: Api, full, value: object, by: str):
    before = api.state()
    answer = api.put(full[by], {**FULL, "data_type": value})
    assert answer.violations == ["/recipient_field/data_type: immutable"]
    assert api.state() == before


@pytest.mark.parametrize(("value", "code"), [(None, "type"), (5, "type"), ("no", "unknown_value")])
def test_the_data_type_of_a_new_field_is_judged_as_ever(api: Api, value: object, code: str):
    answer = api.put("city", {**CITY, "data_type": value})
    assert answer.violations == [f"/recipient_field/data_type: {code}"]


@pytest.mark.parametrize("value", [None, 5, "town", "NOT A KEY", "", []])
def test_the_key_is_immutable_by_id(api: Api, full, value: object):
    answer = api.put(full["id"], {**FULL, "key": value})
    assert answer.violations == ["/recipient_field/key: immutable"]


@pytest.mark.parametrize("value", [None, 5, "town", "NOT A KEY", "", []])
def test_another_key_than_the_paths_is_a_mismatch(api: Api, full, value: object):
    before = api.state()
    for key in ("city", "free"):
        answer = api.put(key, {**FULL, "key": value})
        assert answer.violations == ["/recipient_field/key: mismatch"]
    assert api.state() == before


def test_allowed_values_of_a_new_field_are_of_its_type(api: Api):
    answer = api.put("city", {**CITY, "allowed_values": ["a", 1, "a"]})
    assert answer.violations == [
        "/recipient_field/allowed_values/1: type",
        "/recipient_field/allowed_values/2: duplicate_item",
    ]
    assert api.list().fields == []


@pytest.mark.parametrize("reference", ["999", "9007199254740991", "9999999999999999"])
def test_an_unknown_id_is_never_made(api: Api, reference: str):
    assert api.put(reference, CITY).outcome == (404, "not_found")
    assert api.list().fields == []


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("City", "format"),
        ("a__b", "format"),
        ("a%20b", "format"),
        ("a%0A", "format"),
        ("_", "format"),
        ("__", "format"),
        ("%2B", "format"),
        ("1a", "format"),
        ("1.0", "format"),
        ("0x1", "format"),
        ("%C3%A4", "format"),
        ("%FF", "format"),
        ("%00", "format"),
        ("%20", "blank"),
        ("k" * 64, "too_long"),
        ("sys_a", "reserved"),
        *[(key, "reserved") for key in sorted(RESERVED_KEYS)],
    ],
)
def test_a_key_that_no_field_can_have_is_refused(api: Api, key: str, code: str):
    assert api.put(key, CITY).violations == [f"/recipient_field/key: {code}"]
    assert api.put(key, CITY, if_match="*").violations == [f"/recipient_field/key: {code}"]
    assert api.list().fields == []


def test_create_only_makes_a_field_once(api: Api):
    assert api.put("city", CITY, if_none_match="*").status == 201
    before = api.state()
    again = api.put("city", {**CITY, "name": "Town"}, if_none_match="*")
    assert again.outcome == (412, "precondition_failed")
    assert again.error["message"].startswith("The field already exists.")
    assert again.etag == api.get("city").etag
    assert api.state() == before


@pytest.mark.parametrize("if_match", ["*", '"1-1-1"', 'W/"a"'])
def test_replace_only_makes_no_field(api: Api, if_match: str):
    answer = api.put("city", CITY, if_match=if_match)
    assert answer.outcome == (412, "precondition_failed")
    assert "etag" not in answer.headers
    assert api.list().fields == []


@pytest.mark.parametrize("origin", ["manual", "integration"])
def test_another_origins_key_is_not_taken_over(
    stand: Stand, api: Api, bakery: OrganizationId, origin: str
):
    stand.add(bakery, CHANNELS[origin], "city")
    before = api.state()
    assert api.put("city", CITY).refusal == (403, "forbidden", "field_not_api_managed")
    assert api.put("city", CITY, if_none_match="*").status == 403
    assert api.state() == before


def test_post_is_not_for_one_field(api: Api, city):
    body = '{"recipient_field": {"name": "City", "data_type": "text"}}'
    assert api.send("POST", f"{FIELDS}/city", body).outcome == (405, "method_not_allowed")
