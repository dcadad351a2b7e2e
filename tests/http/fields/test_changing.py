"""PATCH, PUT and DELETE of a field."""

from __future__ import annotations

from itertools import cycle

import pytest

from ..api import FIELDS, Api
from ..conftest import Clock
from ..stories import Members, Story, outcome, stories

CITY: Members = {"name": "City", "data_type": "text"}
TOWN: Members = {**CITY, "name": "Town"}
FULL: Members = {
    **CITY,
    "allowed_values": ["Wien", "Graz"],
    "insertable": False,
    "custom_insertion_code": "%%=v(@city)=%%",
    "custom_value_expression": "@city",
}
NULL: Members = dict.fromkeys(
    ("allowed_values", "custom_insertion_code", "custom_value_expression")
)
DEFAULTS: Members = {**NULL, "insertable": True}
MERGE_PATCH = {"content_type": "application/merge-patch+json"}
NOT_FOUND, STALE = (404, "not_found"), (412, "precondition_failed")


@pytest.fixture
def city(api: Api, clock: Clock) -> Members:
    created = api.post(FULL).field
    clock.advance(seconds=1)
    return created


CHANGES = {
    **{
        f"PATCH changes only {member}": Story("PATCH {key}", {member: value}, {member: value})
        for member, value in {
            "name": "Town",
            "allowed_values": ["Linz"],
            "insertable": True,
            "custom_insertion_code": "*|CITY|*",
            "custom_value_expression": "CITY",
        }.items()
    },
    "PATCH by id": Story("PATCH {id}", {"name": "Town"}, {"name": "Town"}),
    "PATCH clears with null": Story("PATCH {key}", NULL, NULL),
    "PATCH can be a merge patch": Story("PATCH {key}", NULL, NULL, MERGE_PATCH),
    "PATCH without members": Story("PATCH {key}", {}, {}),
    "PATCH to equal values": Story("PATCH {key}", FULL, {}),
    "PATCH with equal read-only members": Story(
        "PATCH {key}", {"key": "city", "source": "api", "integration_id": None}, {}
    ),
    "PUT resets missing members": Story("PUT {key}", TOWN, TOWN | DEFAULTS),
    "PUT by id resets missing members": Story("PUT {id}", TOWN, TOWN | DEFAULTS),
    "PUT of equal values": Story("PUT {key}", FULL, {}),
}
"""The outcome is the members that change."""


@stories(CHANGES)
def test_a_change_is_stored_with_its_time_and_a_new_version(api, city, story):
    before = api.get("city").etag, api.list().etag
    time = {"updated_at": "2026-11-20T09:15:01.123Z"} if story.outcome else {}
    response = story.send(api, city)
    assert (response.status, response.field) == (200, {**city, **story.outcome, **time})
    assert "location" not in response.headers
    found, listed = api.get("city"), api.list()
    assert (found.field, listed.fields) == (response.field, [response.field])
    assert found.etag == response.etag
    for old, new in zip(before, (found.etag, listed.etag), strict=True):
        assert (old != new) is bool(story.outcome)


@pytest.mark.parametrize("request_", ["PATCH {key}", "PUT {id}", "PUT {key}"])
def test_a_field_that_was_read_can_be_sent_back_with_a_change_once(api, city, request_):
    change = Story(request_, {**city, "name": "Town"}, ["updated_at: read_only"])
    changed = change.send(api, city).field
    assert changed == {**city, "name": "Town", "updated_at": "2026-11-20T09:15:01.123Z"}
    assert outcome(change.send(api, city)) == change.outcome
    assert api.list().fields == [changed]


@stories(
    {
        "with all members": Story("PUT town", FULL, FULL),
        "with defaults": Story("PUT town", CITY, CITY | DEFAULTS),
        "with If-None-Match": Story("PUT town", CITY, CITY | DEFAULTS, {"if_none_match": "*"}),
    }
)
def test_put_by_a_free_key_creates_the_field(api, city, story):
    response = story.send(api, city)
    assert response.status == 201
    assert {**response.field, **story.outcome, "key": "town"} == response.field
    found = api.send("GET", response.headers["location"])
    assert (found.etag, found.field) == (response.etag, response.field)
    assert api.list().fields == [city, response.field]


REJECTED = {
    **{
        f"{method} of a missing field, {reference}": Story(f"{method} {reference}", CITY, NOT_FOUND)
        for method, reference in (
            *(("PATCH", "missing"), ("PATCH", "999"), ("DELETE", "missing"), ("DELETE", "999")),
            *(("PUT", "999"), ("PUT", "9007199254740991"), ("PUT", "9999999999999999")),
        )
    },
    **{
        f"another data type, {value!r}, by {by}": Story(
            f"PUT {{{by}}}", {**FULL, "data_type": value}, ["data_type: immutable"]
        )
        for value, by in zip(("number", "string", "", None, 5), cycle(("id", "key")))
    },
    **{
        f"another key, {value!r}, at {reference}": Story(
            f"PUT {reference}", {**FULL, "key": value}, [f"key: {code}"]
        )
        for value in (None, "town", "NOT A KEY")
        for reference, code in (("city", "mismatch"), ("free", "mismatch"), ("{id}", "immutable"))
    },
    "the violation of the data type is the last one": Story(
        "PUT {id}",
        {"data_type": "number", "key": "town", "id": 0, "name": "City"},
        ["key: immutable", "id: read_only", "data_type: immutable"],
    ),
    "a data type and a member beside the field": Story(
        "PUT {key}",
        '{"recipient_field": {"name": "City", "data_type": "no"}, "other": 1}',
        ["data_type: unknown_value", "/other: unknown_field"],
    ),
    "an allowed value and a member beside the field": Story(
        "PUT {id}",
        '{"recipient_field": {"name": "City", "data_type": "text", "allowed_values": [1]}, "b": 1}',
        ["allowed_values/0: type", "/b: unknown_field"],
    ),
    "the values of a new field": Story(
        "PUT free",
        {**CITY, "allowed_values": ["a", 1, "a"]},
        ["allowed_values/1: type", "allowed_values/2: duplicate_item"],
    ),
    "the data type of a new field": Story(
        "PUT free", {**CITY, "data_type": "no"}, ["data_type: unknown_value"]
    ),
    **{
        f"the key {key} in the path": Story(f"PUT {key}", CITY, [f"key: {code}"])
        for key, code in {
            **dict.fromkeys(("City", "a%0A", "1.0", "%FF", "%00"), "format"),
            "%20": "blank",
            "k" * 64: "too_long",
            "type": "reserved",
        }.items()
    },
    "an invalid key and If-Match": Story("PUT City", CITY, ["key: format"], {"if_match": "*"}),
    **{
        f"the key in the path, and the body {body}": Story("PUT City", body, violations)
        for body, violations in {
            "[]": [": type", "key: format"],
            "{}": ["/recipient_field: required", "key: format"],
            '{"recipient_field": 1}': ["/recipient_field: type", "key: format"],
        }.items()
    },
    **{
        f"If-Match {tag} creates no field": Story("PUT free", CITY, STALE, {"if_match": tag})
        for tag in ("*", '"1-1-1"', 'W/"a"')
    },
}


@stories(REJECTED)
def test_a_rejected_request_changes_nothing(api, city, story):
    before = api.state()
    response = story.send(api, city)
    assert outcome(response) == story.outcome
    assert "etag" not in response.headers
    assert api.state() == before


def test_if_none_match_replaces_no_field(api, city):
    before = api.state()
    response = api.put("city", TOWN, if_none_match="*")
    assert response.status_and_code == STALE
    assert response.error["message"].startswith("The field already exists.")
    assert response.etag == api.get("city").etag
    assert api.state() == before


def test_a_field_of_another_origin_can_not_be_replaced_by_its_key(api, foreign):
    before = api.state()
    for headers in ({}, {"if_none_match": "*"}):
        response = api.put("shop", CITY, **headers)
        assert response.status_code_and_reason == (403, "forbidden", "field_not_api_managed")
    assert api.state() == before


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_deleted_field_is_not_found_and_its_copy_is_no_new_field(api, city, by):
    response = api.send("DELETE", f"{FIELDS}/{city[by]}", "ignored", content_type="text/plain")
    assert response.status == 204
    for reference in (city["id"], "city"):
        assert api.get(reference).status_and_code == NOT_FOUND
        assert api.patch(reference, {}).status_and_code == NOT_FOUND
        assert api.delete(reference).status_and_code == NOT_FOUND
    assert outcome(api.put("city", city)) == [
        "id: read_only",
        "created_at: read_only",
        "updated_at: read_only",
    ]
    assert api.list().fields == []


def test_a_new_field_with_the_same_key_has_another_entity_tag(api, city):
    etag = api.get("city").etag
    api.delete("city")
    assert api.post(FULL).etag != etag
    assert api.delete("city", if_match=etag).status_and_code == STALE
