"""Conditional changes: nobody overwrites what they have not seen (HTTP contract, section 4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .api import FIELDS, Answer, Api

CITY = {"name": "City", "data_type": "text"}
WRITES = ("PATCH", "PUT", "PUT by id", "DELETE")


@pytest.fixture(params=WRITES)
def write(request: pytest.FixtureRequest, api: Api, city) -> Callable[..., Answer]:
    town = {**CITY, "name": "Town"}
    return {
        "PATCH": lambda **headers: api.patch("city", {"name": "Town"}, **headers),
        "PUT": lambda **headers: api.put("city", town, **headers),
        "PUT by id": lambda **headers: api.put(city["id"], town, **headers),
        "DELETE": lambda **headers: api.delete("city", **headers),
    }[request.param]


@pytest.mark.parametrize(
    "form", ["{}", '"a", {}', '{} , "b"', ',"a",,{},', "\t{} ", 'W/"a",{}', "*"]
)
def test_a_change_goes_ahead_in_the_expected_version(api: Api, write, form: str):
    assert write(if_match=form.format(api.get("city").etag)).status in {200, 204}


@pytest.mark.parametrize("form", ['"a"', '""', '"a", "b"', "W/{}", 'W/{}, "a"'])
def test_a_change_does_not_go_ahead_in_another_version(api: Api, write, form: str):
    before, etag = api.state(), api.get("city").etag
    answer = write(if_match=form.format(etag))
    assert answer.outcome == (412, "precondition_failed")
    assert answer.etag == etag
    assert api.state() == before


@pytest.mark.parametrize("form", ["{}", "W/{}", '"a", {}', "*"])
def test_a_change_does_not_go_ahead_in_an_excluded_version(api: Api, write, form: str):
    before, etag = api.state(), api.get("city").etag
    answer = write(if_none_match=form.format(etag))
    assert answer.outcome == (412, "precondition_failed")
    assert answer.etag == etag
    assert api.state() == before


def test_a_change_goes_ahead_in_a_version_that_is_not_excluded(write):
    assert write(if_none_match='"a"').status in {200, 204}


def test_a_version_is_good_for_one_change(api: Api, city):
    etag = api.get("city").etag
    assert api.patch("city", {"name": "Town"}, if_match=etag).status == 200
    answer = api.patch("city", {"name": "Village"}, if_match=etag)
    assert answer.outcome == (412, "precondition_failed")
    assert api.patch("city", {"name": "Village"}, if_match=answer.etag).status == 200


def test_a_change_of_nothing_is_held_to_the_version_too(api: Api, city):
    assert api.patch("city", {}, if_match='"a"').status == 412
    assert api.patch("city", {}, if_match=api.get("city").etag).status == 200


def test_the_version_of_another_field_is_not_this_ones(api: Api, write):
    assert write(if_match=api.put("town", CITY).etag).status == 412


def test_what_does_not_exist_is_not_found_whatever_is_expected(api: Api):
    for expected in ("*", '"a"'):
        assert api.patch("city", {}, if_match=expected).status == 404
        assert api.delete("city", if_match=expected).status == 404


def test_another_origins_field_is_refused_whatever_is_expected(api: Api, foreign):
    for expected in ("*", '"a"', api.get("shop").etag):
        assert api.patch("shop", {}, if_match=expected).status == 403
        assert api.delete("shop", if_match=expected).status == 403


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
@pytest.mark.parametrize(
    "value",
    ["", " ", "a", '"a', 'a"', "'a'", '"a" "b"', '*, "a"', '"a", *', "**", 'w/"a"', 'W/ "a"', ",",
     '"a\u00e9" x', '"a b"', "1-1-19c"],
)  # fmt: skip
def test_a_malformed_condition_is_refused(api: Api, city, header: str, value: str):
    body = '{"recipient_field": {"name": "Town", "data_type": "text"}}'
    before = api.state()
    for method in ("GET", "PATCH", "PUT", "DELETE"):
        answer = api.send(method, f"{FIELDS}/city", body, **{header: value})
        assert answer.outcome == (400, "invalid_parameter")
    assert api.state() == before


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_a_malformed_condition_is_refused_on_the_list(api: Api, header: str):
    assert api.send("GET", FIELDS, **{header: "a"}).outcome == (400, "invalid_parameter")
