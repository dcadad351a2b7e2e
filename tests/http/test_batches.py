"""Batches: their operations take effect together, or not at all."""

from __future__ import annotations

import pytest

from recipient_fields.domain import ADMINISTRATOR, OrganizationId

from .api import BATCHES, Api, ApiResponse
from .conftest import Harness

CITY = {"name": "City", "data_type": "text"}

TAKEN = (409, "key_already_exists")
MISSING = (404, "not_found")
STALE = (412, "precondition_failed")
INVALID = (422, "validation_failed")


def create(key: str, **members: object) -> dict[str, object]:
    return {"operation": "create", "recipient_field": {**CITY, "key": key, **members}}


def update(reference: object, **members: object) -> dict[str, object]:
    return {"operation": "update", "reference": reference, "recipient_field": members}


def replace(reference: object, **members: object) -> dict[str, object]:
    return {"operation": "replace", "reference": reference, "recipient_field": {**CITY, **members}}


def delete(reference: object) -> dict[str, object]:
    return {"operation": "delete", "reference": reference}


def failures(response: ApiResponse) -> list[str]:
    """Return the details of an error as `pointer: code`, in their order."""
    return [f"{each['pointer']}: {each['code']}" for each in response.error["details"]]


class TestSuccess:
    def test_the_response_has_the_field_of_each_operation_in_order(self, api: Api):
        for key in ("city", "shop", "town"):
            api.put(key, CITY)
        response = api.apply(
            create("tier"),
            update("city", name="Home"),
            replace("shop", name="Store"),
            replace("size", name="Size"),
            delete("town"),
        )
        assert response.status == 200
        tier, city, shop, size, town = response.results
        assert town is None
        assert [each["name"] for each in (tier, city, shop, size)] == [
            "City",
            "Home",
            "Store",
            "Size",
        ]
        assert sorted(api.list().fields, key=lambda each: each["key"]) == [city, shop, size, tier]

    def test_a_field_can_be_referred_to_by_its_id(self, api: Api, city):
        response = api.apply(update(city["id"], name="Home"), delete(city["id"]))
        assert response.results == [None, None]
        assert api.list().fields == []

    def test_an_operation_sees_the_effects_of_earlier_ones(self, api: Api, city):
        response = api.apply(
            delete("city"), create("city", data_type="number"), update("city", name="Count")
        )
        _, created, changed = response.results
        assert created == changed == api.get("city").field
        assert created["id"] != city["id"]
        assert (created["name"], created["data_type"]) == ("Count", "number")


class TestFailure:
    @pytest.mark.parametrize(
        ("operation", "status", "failure"),
        [
            (create("city"), TAKEN, "/recipient_field/key: key_already_exists"),
            (create("new"), TAKEN, "/recipient_field/key: key_already_exists"),
            (update("town", name="A"), MISSING, ": not_found"),
            (update(404, name="A"), MISSING, ": not_found"),
            (replace(404), MISSING, ": not_found"),
            (delete("town"), MISSING, ": not_found"),
            (delete("city") | {"if_match": "1-0"}, STALE, ": precondition_failed"),
            (update("city", key="town"), INVALID, "/recipient_field/key: immutable"),
            (
                update("city", allowed_values=["a", 1]),
                INVALID,
                "/recipient_field/allowed_values/1: type",
            ),
            (create("tier", name=" "), INVALID, "/recipient_field/name: blank"),
        ],
    )
    def test_an_operation_that_fails_has_the_error_of_its_own_request(
        self, api: Api, city, operation, status, failure
    ):
        before = api.state()
        response = api.apply(create("new"), operation, create("newer"))
        assert response.status_and_code == status
        assert failures(response) == [f"/operations/1{failure}"]
        assert "etag" not in response.headers
        assert api.state() == before

    def test_the_status_is_that_of_the_first_failure_and_the_details_are_those_of_all(
        self, harness: Harness, bakery: OrganizationId, api: Api, city
    ):
        harness.add_field(bakery, ADMINISTRATOR)
        response = api.apply(
            create("new"), update("shop", name="A"), delete("town"), create("city"), create("new")
        )
        assert response.status_code_and_reason == (403, "forbidden", "field_not_api_managed")
        assert failures(response) == [
            "/operations/1: forbidden",
            "/operations/2: not_found",
            "/operations/3/recipient_field/key: key_already_exists",
            "/operations/4/recipient_field/key: key_already_exists",
        ]
        assert "existing_id" in response.error["details"][2]
        assert "existing_id" not in response.error["details"][3]


def test_a_read_only_key_can_not_apply_a_batch(reader: Api):
    response = reader.send("POST", BATCHES, "not JSON")
    assert response.status_code_and_reason == (403, "forbidden", "insufficient_scope")


class TestIfRevision:
    def test_a_batch_takes_effect_if_the_list_is_unchanged(self, api: Api, city):
        etag = api.list().etag
        assert api.apply(delete("city"), if_revision=etag).status == 200

    def test_otherwise_the_response_has_the_tag_of_the_current_list(self, api: Api, city):
        etag = api.list().etag
        api.patch("city", {"name": "Town"})
        response = api.apply(delete("city"), if_revision=etag)
        assert response.status_and_code == (412, "precondition_failed")
        assert response.etag == api.list().etag != etag
        assert api.apply(delete("city"), if_revision=response.etag).status == 200
