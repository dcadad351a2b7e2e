"""Batches: their operations take effect together, or not at all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from recipient_fields.domain import ADMINISTRATOR

from ..api import BATCHES, HISTORY, Api, ApiResponse
from ..conftest import Harness
from ..test_concurrency import run_concurrently

CITY = {"name": "City", "data_type": "text"}

TAKEN = (409, "key_already_exists")
MISSING = (404, "not_found")
STALE = (412, "precondition_failed")
INVALID = (422, "validation_failed")

Operation = dict[str, object]


def create(key: str, **members: object) -> Operation:
    return {"operation": "create", "recipient_field": {**CITY, "key": key, **members}}


def update(reference: object, **members: object) -> Operation:
    return {"operation": "update", "reference": reference, "recipient_field": members}


def replace(reference: object, **members: object) -> Operation:
    return {"operation": "replace", "reference": reference, "recipient_field": {**CITY, **members}}


def delete(reference: object) -> Operation:
    return {"operation": "delete", "reference": reference}


def failures(response: ApiResponse) -> list[str]:
    """Return the details of an error as `pointer: code`, in their order."""
    return [f"{each['pointer']}: {each['code']}" for each in response.error["details"]]


class TestSuccess:
    def test_the_response_has_the_field_of_each_operation_in_order(self, api):
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
        *stored, deleted = response.results
        assert deleted is None
        assert [field["name"] for field in stored] == ["City", "Home", "Store", "Size"]
        for field in stored:
            assert api.get(field["id"]).field == field
        assert sorted(api.list().keys) == ["city", "shop", "size", "tier"]

    def test_a_batch_has_1_to_1_000_operations(self, api):
        creations = [create(f"k{n}") for n in range(1_000)]
        assert failures(api.apply()) == ["/operations: empty"]
        assert failures(api.apply(*creations, delete("k0"))) == ["/operations: too_many_items"]
        assert api.list().fields == []
        assert api.apply(*creations).results == api.list().fields
        assert len(api.list().fields) == 1_000

    def test_all_changes_have_the_same_author_and_time(self, api, city):
        api.apply(create("size"), update("city", name="Town"), delete("size"), create("size"))
        first, *records = api.send("GET", HISTORY).json["recipient_field_changes"]
        assert first["key"] == "city"
        assert [record["operation"] for record in records] == ["updated", "created"]
        for member in ("occurred_at", "actor", "request_id"):
            assert records[0][member] == records[1][member]
        assert records[0]["actor"] == first["actor"]
        assert records[0]["request_id"] != first["request_id"]


class TestPreconditions:
    @pytest.mark.parametrize("quote", ['"', ""])
    def test_an_operation_takes_effect_if_the_field_has_the_version(self, api, city, quote):
        tag = api.get("city").etag.strip('"')
        matching = {"if_match": f"{quote}{tag}{quote}"}
        renaming = update("city", name="Town") | matching
        assert api.apply(renaming).status == 200
        response = api.apply(renaming)
        assert response.status_and_code == STALE
        assert failures(response) == ["/operations/0: precondition_failed"]
        assert "etag" not in response.headers

    def test_a_batch_takes_effect_if_the_list_has_the_version(self, api, city):
        etag = api.list().etag
        api.patch("city", {"name": "Town"})
        response = api.apply(delete("city"), if_revision=etag)
        assert response.status_and_code == STALE
        assert "details" not in response.error
        assert response.etag == api.list().etag != etag
        assert api.apply(delete("city"), if_revision=response.etag).status == 200

    def test_the_tag_of_another_organization_s_list_does_not_match(self, api, brewery):
        response = api.apply(create("city"), if_revision=brewery.list().etag)
        assert response.status_and_code == STALE


class TestFailure:
    @pytest.mark.parametrize(
        ("operation", "status", "failure"),
        [
            (create("city"), TAKEN, "/recipient_field/key: key_already_exists"),
            (replace(404), MISSING, ": not_found"),
            (delete("city") | {"if_match": "1-0"}, STALE, ": precondition_failed"),
            (update("city", key="town"), INVALID, "/recipient_field/key: immutable"),
            (
                update("city", allowed_values=["a", 1]),
                INVALID,
                "/recipient_field/allowed_values/1: type",
            ),
        ],
    )
    def test_an_operation_that_fails_has_the_error_of_its_own_request(
        self, api, city, operation, status, failure
    ):
        before = api.state()
        response = api.apply(create("new"), operation, create("newer"))
        assert response.status_and_code == status
        assert failures(response) == [f"/operations/1{failure}"]
        assert "etag" not in response.headers
        assert api.state() == before

    def test_the_status_is_that_of_the_first_failure_and_the_details_are_those_of_all(
        self, harness, bakery, api, city
    ):
        harness.add_field(bakery, ADMINISTRATOR)
        before = api.state()
        response = api.apply(
            create("new"),
            update("shop", name="A"),
            delete("town"),
            create("city"),
            create("new"),
            update("city", data_type="number", key="town"),
        )
        assert response.status_code_and_reason == (403, "forbidden", "field_not_api_managed")
        assert failures(response) == [
            "/operations/1: forbidden",
            "/operations/2: not_found",
            "/operations/3/recipient_field/key: key_already_exists",
            "/operations/4/recipient_field/key: key_already_exists",
            "/operations/5/recipient_field/data_type: immutable",
            "/operations/5/recipient_field/key: immutable",
        ]
        forbidden, _, taken, repeated, *_ = response.error["details"]
        assert forbidden["reason"] == "field_not_api_managed"
        assert forbidden["message"] == api.patch("shop", {"name": "A"}).error["message"]
        assert (taken["existing_id"], taken["existing_key"]) == (city["id"], "city")
        assert "existing_id" not in repeated
        assert api.state() == before

    def test_beyond_the_limit_nothing_is_stored(self, harness, bakery):
        api = Harness(harness.storage, harness.clock, limit=2).client_with_key(bakery)
        response = api.apply(create("a"), create("b"), create("c"))
        assert response.status_and_code == (409, "field_limit_reached")
        assert failures(response) == ["/operations/2: field_limit_reached"]
        assert response.error["limit"] == response.error["details"][0]["limit"] == 2
        assert api.list().fields == []

    def test_invalid_operations_are_reported_together(self, api, city):
        before = api.state()
        response = api.apply(
            create("City", colour="red"),
            {"operation": "creat", "recipient_field": CITY},
            {"operation": "update", "recipient_field": {}},
            create("size") | {"reference": "size", "if_match": "a"},
            delete(0),
            delete("city") | {"if_match": 'W/"a"', "recipient_field": {}},
            None,
            if_revision="",
        )
        assert response.status_and_code == INVALID
        assert failures(response) == [
            "/operations/0/recipient_field/key: format",
            "/operations/0/recipient_field/colour: unknown_field",
            "/operations/1/operation: unknown_value",
            "/operations/2/reference: required",
            "/operations/3/reference: not_applicable",
            "/operations/3/if_match: not_applicable",
            "/operations/4/reference: type",
            "/operations/5/recipient_field: not_applicable",
            "/operations/5/if_match: format",
            "/operations/6: type",
            "/if_revision: format",
        ]
        assert response.error["details"][2]["suggestion"] == "create"
        assert api.state() == before

    @pytest.mark.parametrize(("operation", "batch"), [("*", None), (None, "*")])
    def test_an_asterisk_is_no_version(self, api, city, operation, batch):
        """In `If-Match`, it matches any version. As a version, it would never match."""
        response = api.apply(delete("city") | {"if_match": operation}, if_revision=batch)
        assert response.status_and_code == INVALID
        pointer = "/if_revision" if operation is None else "/operations/0/if_match"
        assert failures(response) == [f"{pointer}: format"]
        assert api.list().fields == [city]

    def test_at_most_1_000_details_are_reported(self, api, city):
        wrong = update("city", allowed_values=[0] * 80)
        response = api.apply(*[wrong] * 1_000)
        assert response.status_and_code == INVALID
        assert len(response.error["details"]) == 1_000


class TestIsolation:
    def test_fields_of_other_organizations_are_missing(self, api, brewery, city):
        before = api.state()
        for operation in (update, replace, delete):
            other, missing = (
                brewery.apply(operation(reference)) for reference in (city["id"], 999)
            )
            assert other.status_and_code == MISSING
            assert other.without_request_id == missing.without_request_id
        assert brewery.apply(delete("city")).status_and_code == MISSING
        assert brewery.apply(replace("city"), delete("city")).status == 200
        assert api.state() == before


class TestOrderOfChecks:
    """Each request has the fault of its own line, and those of all lines below it."""

    FAULTS: tuple[tuple[tuple[int, str], dict[str, Any]], ...] = (
        ((401, "unauthorized"), {"authorization": None}),
        ((406, "not_acceptable"), {"accept": "text/html"}),
        ((403, "forbidden"), {"read_only": True}),
        ((400, "invalid_parameter"), {"query": "?limit=1"}),
        ((415, "unsupported_media_type"), {"content_type": "text/plain"}),
        ((400, "invalid_json"), {"body": "{"}),
        (INVALID, {"operation": create("new", name=" ")}),
        (STALE, {"if_revision": "1-0"}),
        (MISSING, {"operation": delete("missing")}),
    )

    @pytest.mark.parametrize("first", range(len(FAULTS)))
    def test_the_first_of_several_faults_is_reported(self, api, reader, city, first):
        before = api.state()
        expected, _ = self.FAULTS[first]
        request: dict[str, Any] = {}
        for _, fault in reversed(self.FAULTS[first:]):
            request |= fault
        assert self.send(api, reader, **request).status_and_code == expected
        assert api.state() == before

    @staticmethod
    def send(
        api: Api,
        reader: Api,
        operation: Operation,
        *,
        read_only: bool = False,
        query: str = "",
        if_revision: str | None = None,
        body: str | None = None,
        **headers: Any,
    ) -> ApiResponse:
        document = {"operations": [create("a"), operation], "if_revision": if_revision}
        client = reader if read_only else api
        return client.send("POST", BATCHES + query, body or json.dumps(document), **headers)


class TestConcurrency:
    def test_exactly_one_of_many_batches_for_a_version_of_the_list_succeeds(self, api):
        etag = api.list().etag

        def apply(n: int) -> Callable[[], ApiResponse]:
            return lambda: api.apply(
                *(create(f"k{n}_{each}") for each in range(10)), if_revision=etag
            )

        responses = run_concurrently([apply(n) for n in range(8)])
        assert Counter(response.status for response in responses) == {200: 1, 412: 7}
        (results,) = [response.results for response in responses if response.status == 200]
        assert api.list().fields == results

    def test_concurrent_batches_take_effect_one_after_another(self, api):
        """Each batch creates five of the same fields, or replaces them all."""

        def apply(n: int) -> Callable[[], ApiResponse]:
            operations = [replace(f"k{each}", name=f"Batch {n}") for each in range(5)]
            return lambda: api.apply(*operations, *operations[::-1])

        responses = run_concurrently([apply(n) for n in range(8)])
        assert {response.status for response in responses} == {200}
        fields = api.list().fields
        assert len(fields) == 5
        assert len({field["name"] for field in fields}) == 1


class TestMinimalResponses:
    def test_the_preference_leaves_the_fields_out(self, api):
        api.put("town", CITY)
        body = json.dumps({"operations": [create("city"), update("town"), delete("city")]})
        response = api.send("POST", BATCHES, body, prefer="return=minimal")
        assert (response.status, response.headers["preference-applied"]) == (200, "return=minimal")
        town = api.get("town").field
        nothing = {"id": None, "key": None}
        assert response.json == {"results": [nothing, {"id": town["id"], "key": "town"}, nothing]}

    def test_without_the_preference_the_response_has_the_fields(self, api):
        body = json.dumps({"operations": [create("city")]})
        response = api.send("POST", BATCHES, body, prefer="return=representation")
        assert "preference-applied" not in response.headers
        assert response.results == [api.get("city").field]

    def test_a_response_that_would_be_too_large_has_no_fields(self, harness, bakery):
        api = harness.client_with_key(bakery)
        code = "x" * 10_000
        operations = [create("city", custom_insertion_code=code), *[update("city")] * 900]
        response = api.apply(*operations)
        assert (response.status, response.headers["preference-applied"]) == (200, "return=minimal")
        city = api.get("city").field
        assert response.json == {"results": [{"id": city["id"], "key": "city"}] * 901}
        assert "preference-applied" not in api.apply(*operations[1:800]).headers

    def test_an_error_does_not_depend_on_the_preference(self, api):
        body = json.dumps({"operations": [delete("city")]})
        response = api.send("POST", BATCHES, body, prefer="return=minimal")
        assert response.status_and_code == (404, "not_found")
        assert "preference-applied" not in response.headers
