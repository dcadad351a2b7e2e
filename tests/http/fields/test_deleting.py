"""DELETE."""

from __future__ import annotations

import pytest

from ..api import FIELDS, Api

CITY = {"name": "City", "data_type": "text"}


@pytest.mark.parametrize("by", ["id", "key"])
def test_a_deleted_field_is_not_found(api: Api, city, by: str):
    assert api.delete(city[by]).status == 204
    assert api.list().fields == []
    for reference in (city["id"], city["key"]):
        assert api.get(reference).status_and_code == (404, "not_found")
        assert api.patch(reference, {}).status_and_code == (404, "not_found")
        assert api.delete(reference).status_and_code == (404, "not_found")


def test_a_new_field_with_the_same_key_has_another_entity_tag(api: Api, city):
    etag = api.get("city").etag
    api.delete("city")
    assert api.post(CITY).etag != etag
    assert api.delete("city", if_match=etag).status == 412


@pytest.mark.parametrize("reference", ["missing", "999"])
def test_a_missing_field_can_not_be_deleted(api: Api, city, reference: str):
    before = api.state()
    assert api.delete(reference).status_and_code == (404, "not_found")
    assert api.state() == before


def test_the_body_is_ignored(api: Api, city):
    response = api.send("DELETE", f"{FIELDS}/city", "anything", content_type="text/plain")
    assert response.status == 204
