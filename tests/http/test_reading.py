"""GET and HEAD, and what a client already has (HTTP contract, section 4)."""

from __future__ import annotations

import pytest

from recipient_fields.domain import OrganizationId

from .api import FIELDS, Api
from .conftest import CHANNELS, Stand

CITY = {"name": "City", "data_type": "text"}
MEMBERS = [
    "id",
    "name",
    "key",
    "data_type",
    "allowed_values",
    "insertable",
    "source",
    "integration_id",
    "esp_field_name",
    "custom_insertion_code",
    "custom_value_expression",
    "created_at",
    "updated_at",
]


def test_without_fields_the_list_is_empty(api: Api):
    answer = api.list()
    assert answer.json == {"recipient_fields": []}
    assert answer.headers["total-count"] == "0"


def test_the_list_is_complete_and_ordered_by_id(stand: Stand, api: Api, bakery: OrganizationId):
    for key, channel in zip(("c", "a", "b"), CHANNELS.values(), strict=True):
        stand.add(bakery, channel, key)
    api.put("c", {**CITY, "name": "Changed last"})
    answer = api.list()
    assert answer.keys == ["c", "a", "b"]
    assert [f["id"] for f in answer.fields] == sorted(f["id"] for f in answer.fields)
    assert answer.headers["total-count"] == "3"


def test_a_field_has_its_thirteen_members_always(api: Api, foreign):
    api.post(CITY)
    shown = [*api.list().fields, api.get("shop").field, api.get("city").field]
    assert [list(field) for field in shown] == [MEMBERS] * 4


def test_a_listed_field_is_as_it_is_read(api: Api, city, foreign):
    assert api.list().fields == [api.get(key).field for key in ("city", "shop")]


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
def test_head_tells_what_get_tells_without_the_body(api: Api, city, path: str):
    names = ("x-request-id", "content-length", "etag", "cache-control", "vary", "content-type")
    got, head = (api.send(method, path, x_request_id="one") for method in ("GET", "HEAD"))
    assert (head.status, head.content) == (200, b"")
    assert [head.headers[name] for name in names] == [got.headers[name] for name in names]
    assert head.headers.get("total-count") == got.headers.get("total-count")


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"a", {}', '{},W/"b"', '"a" ,\t{}', "*"])
def test_what_the_client_has_is_not_sent_again(api: Api, city, method: str, path: str, form: str):
    etag = api.send("GET", path).etag
    answer = api.send(method, path, if_none_match=form.format(etag))
    assert answer.status == 304
    assert answer.etag == etag
    assert answer.headers["cache-control"] == "private, no-cache"
    assert answer.headers["vary"] == "Authorization, Accept"


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
def test_what_has_changed_is_sent(api: Api, city, path: str):
    etag = api.send("GET", path).etag
    api.patch("city", {"name": "Town"})
    answer = api.send("GET", path, if_none_match=etag)
    assert answer.status == 200
    assert answer.etag != etag
    assert b"Town" in answer.content


def test_every_change_of_any_field_moves_the_lists_version(
    stand: Stand, api: Api, bakery: OrganizationId
):
    etags = [api.list().etag]

    def moved() -> None:
        etags.append(api.list().etag)

    api.post(CITY)
    moved()
    api.patch("city", {"name": "Town"})
    moved()
    api.put("city", CITY)
    moved()
    stand.add(bakery, CHANNELS["manual"])
    moved()
    api.delete("city")
    moved()
    assert len(set(etags)) == len(etags)


def test_a_fields_version_is_not_the_lists_nor_anothers(api: Api, city):
    api.put("town", CITY)
    etags = {api.list().etag, api.get("city").etag, api.get("town").etag}
    assert len(etags) == 3


def test_versions_are_strong(api: Api, city):
    for answer in (api.list(), api.get("city"), api.put("town", CITY), api.patch("city", {})):
        assert answer.etag[0] == answer.etag[-1] == '"'
        assert len(answer.etag) > 2


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city"])
def test_a_read_that_fails_is_not_stored_by_caches(api: Api, city, path: str):
    assert api.send("GET", path, accept="text/html").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("reference", ["missing", "999", "City", "type", "a%20b", "%FF", "%00"])
def test_what_does_not_exist_is_not_found(api: Api, city, reference: str):
    assert api.get(reference).outcome == (404, "not_found")


@pytest.mark.parametrize(
    "text", ["Größe", "日本語", "👩‍👩‍👧 😀", "مرحبا", "\U0010ffff\ufeff", "</script>&'"]
)
def test_text_is_answered_as_it_was_sent(api: Api, text: str):
    assert api.put("k", {**CITY, "name": text}).field["name"] == text
    assert api.list().fields[0]["name"] == api.get("k").field["name"] == text
