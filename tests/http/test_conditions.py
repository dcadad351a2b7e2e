"""Conditional changes with entity tags."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recipient_fields.testing.examples import in_pairs

from .api import FIELDS, ApiResponse

CITY = {"name": "City", "data_type": "text"}
TOWN = {**CITY, "name": "Town"}
Write = Callable[..., ApiResponse]
WRITES: dict[str, Write] = {
    "PATCH": lambda api, _, **headers: api.patch("city", {"name": "Town"}, **headers),
    "PUT": lambda api, _, **headers: api.put("city", TOWN, **headers),
    "PUT by id": lambda api, city, **headers: api.put(city["id"], TOWN, **headers),
    "DELETE": lambda api, _, **headers: api.delete("city", **headers),
}
each_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)


@in_pairs(form=["{}", '"a", {}', '{} , "b"', ',"a",,{},', "\t{} ", 'W/"a",{}', "*"], write=WRITES)
def test_a_change_of_the_expected_version_succeeds(api, city, write, form):
    assert write(api, city, if_match=form.format(api.get("city").etag)).status in {200, 204}


@in_pairs(form=['"a"', '""', '"a", "b"', "W/{}", 'W/{}, "a"'], write=WRITES)
def test_a_change_of_another_version_is_rejected(api, city, write, form):
    before, etag = api.state(), api.get("city").etag
    response = write(api, city, if_match=form.format(etag))
    assert response.status_and_code == (412, "precondition_failed")
    assert response.etag == etag
    assert api.state() == before


@in_pairs(form=["{}", "W/{}", '"a", {}', "*"], write=WRITES)
def test_a_change_of_an_excluded_version_is_rejected(api, city, write, form):
    before, etag = api.state(), api.get("city").etag
    response = write(api, city, if_none_match=form.format(etag))
    assert response.status_and_code == (412, "precondition_failed")
    assert response.etag == etag
    assert api.state() == before


@each_write
def test_a_change_of_a_version_that_is_not_excluded_succeeds(api, city, write):
    assert write(api, city, if_none_match='"a"').status in {200, 204}


def test_an_entity_tag_is_valid_for_one_change(api, city):
    etag = api.get("city").etag
    assert api.patch("city", {"name": "Town"}, if_match=etag).status == 200
    response = api.patch("city", {"name": "Village"}, if_match=etag)
    assert response.status_and_code == (412, "precondition_failed")
    assert api.patch("city", {"name": "Village"}, if_match=response.etag).status == 200


def test_the_precondition_applies_even_if_nothing_would_change(api, city):
    assert api.patch("city", {}, if_match='"a"').status == 412
    assert api.patch("city", {}, if_match=api.get("city").etag).status == 200


@each_write
def test_the_entity_tag_of_another_field_does_not_match(api, city, write):
    assert write(api, city, if_match=api.put("town", CITY).etag).status == 412


def test_a_missing_field_gets_404_with_any_precondition(api):
    for expected in ("*", '"a"'):
        assert api.patch("city", {}, if_match=expected).status == 404
        assert api.delete("city", if_match=expected).status == 404


def test_a_field_of_another_origin_gets_403_with_any_precondition(api, foreign):
    for expected in ("*", '"a"', api.get("shop").etag):
        assert api.patch("shop", {}, if_match=expected).status == 403
        assert api.delete("shop", if_match=expected).status == 403


@in_pairs(
    value=[
        *("", " ", "a", '"a', 'a"', "'a'", '"a" "b"', '*, "a"', '"a", *', "**", 'w/"a"', 'W/ "a"'),
        *(",", '"a\u00e9" x', '"a b"', "1-1-19c"),
    ],
    header=["If-Match", "If-None-Match"],
)
def test_a_malformed_precondition_is_rejected(api, city, header, value):
    body = '{"recipient_field": {"name": "Town", "data_type": "text"}}'
    before = api.state()
    for method in ("GET", "PATCH", "PUT", "DELETE"):
        response = api.send(method, f"{FIELDS}/city", body, **{header: value})
        assert response.status_and_code == (400, "invalid_parameter")
    assert api.state() == before


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_a_malformed_precondition_of_the_list_is_rejected(api, header):
    assert api.send("GET", FIELDS, **{header: "a"}).status_and_code == (400, "invalid_parameter")
