"""GET, HEAD and entity tags."""

from __future__ import annotations

import pytest
from attrs import fields

from recipient_fields.application.fields.documents import FieldDocument

from ..api import FIELDS
from ..conftest import CHANNELS

CITY = {"name": "City", "data_type": "text"}
MEMBERS = [member.name for member in fields(FieldDocument)]


def test_without_fields_the_list_is_empty(api):
    response = api.list()
    assert response.json == {"recipient_fields": []}
    assert response.headers["total-count"] == "0"


def test_the_list_is_complete_and_ordered_by_id(harness, api, bakery):
    for key, channel in zip(("c", "a", "b"), CHANNELS.values(), strict=True):
        harness.add_field(bakery, channel, key)
    api.put("c", {**CITY, "name": "Changed last"})
    response = api.list()
    assert response.keys == ["c", "a", "b"]
    assert [f["id"] for f in response.fields] == sorted(f["id"] for f in response.fields)
    assert response.headers["total-count"] == "3"


def test_a_field_always_has_thirteen_members(api, foreign):
    api.post(CITY)
    returned = [*api.list().fields, api.get("shop").field, api.get("city").field]
    assert [list(field) for field in returned] == [MEMBERS] * 4


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
def test_an_outdated_entity_tag_gets_the_body(api, city, path):
    etag = api.send("GET", path).etag
    api.patch("city", {"name": "Town"})
    response = api.send("GET", path, if_none_match=etag)
    assert response.status == 200
    assert response.etag != etag
    assert b"Town" in response.content


def test_every_change_of_a_field_changes_the_entity_tag_of_the_list(harness, api, bakery):
    etags = [api.list().etag]

    def moved() -> None:
        etags.append(api.list().etag)

    api.post(CITY)
    moved()
    api.patch("city", {"name": "Town"})
    moved()
    api.put("city", CITY)
    moved()
    harness.add_field(bakery, CHANNELS["manual"])
    moved()
    api.delete("city")
    moved()
    assert len(set(etags)) == len(etags)


def test_the_list_and_each_field_have_different_entity_tags(api, city):
    api.put("town", CITY)
    etags = {api.list().etag, api.get("city").etag, api.get("town").etag}
    assert len(etags) == 3


def test_entity_tags_are_strong(api, city):
    for response in (api.list(), api.get("city"), api.put("town", CITY), api.patch("city", {})):
        assert response.etag[0] == response.etag[-1] == '"'
        assert len(response.etag) > 2


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
def test_caches_do_not_store_errors(api, city, path):
    assert api.send("GET", path, accept="text/html").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("reference", ["missing", "999", "%FF", "%00"])
def test_a_missing_field_is_not_found(api, city, reference):
    assert api.get(reference).status_and_code == (404, "not_found")


def test_text_is_returned_as_it_was_sent(api):
    text = "Größe 日本語 👩‍👩‍👧 مرحبا \U0010ffff\ufeff </script>&'"
    assert api.put("k", {**CITY, "name": text}).field["name"] == text
    assert api.list().fields[0]["name"] == api.get("k").field["name"] == text
