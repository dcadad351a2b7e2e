"""PATCH: missing members keep their values."""

from __future__ import annotations

from typing import Any

import pytest

from ..api import FIELDS, Api, enveloped
from ..conftest import Clock

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


def test_null_clears_what_can_be_null(api: Api, field):
    cleared = dict.fromkeys(NULLABLE)
    assert without_time(api.patch("city", cleared).field) == {**without_time(field), **cleared}


def test_a_change_updates_the_time_and_the_entity_tags(api: Api, field, clock: Clock):
    before = api.get("city"), api.list()
    changed = api.patch("city", {"name": "Town"})
    assert changed.field["updated_at"] == "2026-11-20T09:15:01.123Z"
    assert changed.field["created_at"] == field["created_at"]
    assert changed.etag == api.get("city").etag != before[0].etag
    assert api.list().etag != before[1].etag


@pytest.mark.parametrize(
    "members",
    [
        {},
        FULL,
        {"key": "city", "source": "api", "integration_id": None},
    ],
)
def test_a_change_to_equal_values_changes_nothing(api: Api, field, members: dict[str, Any]):
    before, etag = api.state(), api.get("city").etag
    response = api.patch("city", members)
    assert (response.status, response.field, response.etag) == (200, field, etag)
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


@pytest.mark.parametrize("reference", ["missing", "999"])
def test_a_missing_field_can_not_be_changed(api: Api, field, reference: str):
    before = api.state()
    assert api.patch(reference, {"name": "Town"}).status_and_code == (404, "not_found")
    assert api.state() == before


@pytest.mark.parametrize("media_type", ["application/json", "application/merge-patch+json"])
def test_a_change_can_be_json_or_a_merge_patch(api: Api, field, media_type: str):
    body = enveloped({"name": "Town", "allowed_values": None})
    response = api.send("PATCH", f"{FIELDS}/city", body, content_type=media_type)
    assert (response.field["name"], response.field["allowed_values"]) == ("Town", None)
