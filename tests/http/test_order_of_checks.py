"""The error of a request with two faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from attrs import Factory, define, frozen

from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    KeyValidationUnavailable,
    OrganizationId,
    Rejection,
)
from recipient_fields.entrypoints.http.resource import MAX_BODY_SIZE

from .api import FIELDS, MEGABYTE, Api, ApiResponse
from .conftest import Harness


@define
class RequestDraft:
    """A request that succeeds unless a fault is added."""

    method: str
    collection: str = FIELDS
    reference: str | None = None
    query: str = ""
    members: dict[str, Any] = Factory(dict)
    headers: dict[str, Any] = Factory(dict)
    broken: bool = False
    padding: int = 0
    access: Access = Access.READ_WRITE

    @property
    def path(self) -> str:
        reference = "" if self.reference is None else f"/{self.reference}"
        return f"{self.collection}{reference}{self.query}"

    @property
    def body(self) -> str:
        if self.method == "DELETE":
            return " " * self.padding
        document = json.dumps({"recipient_field": self.members})
        return (document[:-1] if self.broken else document) + " " * self.padding


@frozen
class Fault:
    """A fault of a request, and its status and code."""

    error: tuple[int, str]
    apply: Callable[[RequestDraft], None]
    methods: str = "POST PATCH PUT DELETE"


def too_large(draft: RequestDraft) -> None:
    draft.padding = MAX_BODY_SIZE + 1


def too_large_for_the_route(draft: RequestDraft) -> None:
    draft.padding = MEGABYTE + 1


def without_key(draft: RequestDraft) -> None:
    draft.headers["authorization"] = None


def elsewhere(draft: RequestDraft) -> None:
    draft.collection = "/api/v1/recipient_fieldz"


def other_method(draft: RequestDraft) -> None:
    draft.method = "POST" if draft.reference else "PATCH"


def accepting_html(draft: RequestDraft) -> None:
    draft.headers["accept"] = "text/html"


def reading_only(draft: RequestDraft) -> None:
    draft.access = Access.READ_ONLY


def with_parameter(draft: RequestDraft) -> None:
    draft.query = "?limit=1"


def as_text(draft: RequestDraft) -> None:
    draft.headers["content_type"] = "text/plain"


def without_quotes(draft: RequestDraft) -> None:
    draft.headers["if_match"] = "stale"


def broken(draft: RequestDraft) -> None:
    draft.broken = True


def nameless(draft: RequestDraft) -> None:
    draft.members["name"] = " "


def missing(draft: RequestDraft) -> None:
    draft.reference = "999"


def by_hand(draft: RequestDraft) -> None:
    draft.reference = "shop"


def stale(draft: RequestDraft) -> None:
    draft.headers["if_match"] = '"stale"'


def of_other_type(draft: RequestDraft) -> None:
    draft.members["data_type"] = "number"


def taken(draft: RequestDraft) -> None:
    draft.members["key"] = "shop"


METHODS = ("POST", "PATCH", "PUT", "DELETE")
WITH_BODY = "POST PATCH PUT"
ONE_FIELD = "PATCH PUT DELETE"
FAULTS = {
    "size": Fault((413, "payload_too_large"), too_large),
    "authentication": Fault((401, "unauthorized"), without_key),
    "route": Fault((404, "not_found"), elsewhere),
    "method": Fault((405, "method_not_allowed"), other_method),
    "accept": Fault((406, "not_acceptable"), accepting_html),
    "scope": Fault((403, "forbidden"), reading_only),
    "parameters": Fault((400, "invalid_parameter"), with_parameter),
    "content type": Fault((415, "unsupported_media_type"), as_text, WITH_BODY),
    "size for the route": Fault((413, "payload_too_large"), too_large_for_the_route),
    "entity tags": Fault((400, "invalid_parameter"), without_quotes),
    "json": Fault((400, "invalid_json"), broken, WITH_BODY),
    "shape": Fault((422, "validation_failed"), nameless, WITH_BODY),
    "existence": Fault((404, "not_found"), missing, ONE_FIELD),
    "origin": Fault((403, "forbidden"), by_hand, ONE_FIELD),
    "precondition": Fault((412, "precondition_failed"), stale, ONE_FIELD),
    "stored": Fault((422, "validation_failed"), of_other_type, "PATCH PUT"),
    "conflict": Fault((409, "key_already_exists"), taken, "POST"),
}
"""In the order of the contract. Faults that it does not order are in the order of the service."""


def well_formed(method: str) -> RequestDraft:
    members = {"name": "Town"} if method == "PATCH" else {"name": "Town", "data_type": "text"}
    return RequestDraft(method, reference=None if method == "POST" else "city", members=members)


@pytest.fixture
def send(harness: Harness, bakery: OrganizationId, city) -> Callable[[RequestDraft], ApiResponse]:
    harness.add_field(bakery, ADMINISTRATOR)

    def send_draft(draft: RequestDraft) -> ApiResponse:
        client = harness.client_with_key(bakery, access=draft.access)
        return client.send(draft.method, draft.path, draft.body, **draft.headers)

    return send_draft


@pytest.mark.parametrize("method", METHODS)
def test_without_a_fault_the_request_succeeds(send, method):
    assert send(well_formed(method)).status < 300


@pytest.mark.parametrize(
    ("method", "fault"),
    [(m, name) for name, fault in FAULTS.items() for m in fault.methods.split()],
)
def test_each_fault_has_its_own_error(send, method, fault):
    draft = well_formed(method)
    FAULTS[fault].apply(draft)
    assert send(draft).status_and_code == FAULTS[fault].error


@pytest.mark.parametrize("method", METHODS)
def test_the_first_of_two_faults_is_reported(send, api, method):
    before, reported = api.state(), {}
    faults = [name for name, fault in FAULTS.items() if method in fault.methods.split()]
    exclusive = ("existence", "origin")  # A missing field has no origin.
    pairs = [pair for pair in combinations(faults, 2) if pair != exclusive]
    for first, second in pairs:
        draft = well_formed(method)
        FAULTS[second].apply(draft)
        FAULTS[first].apply(draft)
        response = send(draft)
        reported[first, second] = response.status >= 400 and response.status_and_code
        if first == "scope":
            assert response.error["reason"] == "insufficient_scope"
    assert reported == {(first, second): FAULTS[first].error for first, second in pairs}
    assert api.state() == before


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_the_types_of_values_are_checked_after_the_precondition(send, method):
    draft = well_formed(method)
    draft.members["allowed_values"] = [1]
    assert send(draft).violations == ["/recipient_field/allowed_values/0: type"]
    stale(draft)
    assert send(draft).status_and_code == (412, "precondition_failed")
    by_hand(draft)
    assert send(draft).status_and_code == (403, "forbidden")
    missing(draft)
    assert send(draft).status_and_code == (404, "not_found")


def test_on_a_free_key_the_precondition_is_checked_before_read_only_members(api):
    members = {"name": "City", "data_type": "text", "source": "manual"}
    assert api.put("city", members, if_match="*").status_and_code == (412, "precondition_failed")
    assert api.put("city", members).violations == ["/recipient_field/source: read_only"]


def test_a_taken_key_is_reported_before_the_limit(harness, api, bakery, city):
    limited = Harness(harness.storage, harness.clock, limit=1).client_with_key(bakery)
    again = {"name": "City", "data_type": "text"}
    assert limited.post(again).status_and_code == (409, "key_already_exists")
    assert limited.post({**again, "name": "Town"}).status_and_code == (409, "field_limit_reached")


class UnavailableValidator:
    """A key validator that is unavailable."""

    def validate(self, presented: str, /) -> Rejection:
        raise KeyValidationUnavailable("down")


@pytest.fixture
def unvalidated(harness: Harness, api: Api) -> Api:
    return harness.client(validator=UnavailableValidator()).with_key(api.key)


def test_the_size_is_checked_before_the_api_key(unvalidated):
    response = unvalidated.send("POST", FIELDS, " " * (MAX_BODY_SIZE + 1))
    assert response.status_and_code == (413, "payload_too_large")


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nothing", f"{FIELDS}/", f"{FIELDS}/a%2Fb"])
def test_if_keys_can_not_be_validated_no_route_is_revealed(unvalidated, path):
    assert unvalidated.send("GET", path).status_and_code == (503, "api_key_validation_unavailable")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "TRACE"])
def test_without_a_key_no_route_is_revealed(harness, method):
    client = harness.client()
    expected = client.send(method, FIELDS).without_request_id
    paths = ("/api/", "/api/v1/nothing", f"{FIELDS}/", f"{FIELDS}/a%2Fb")
    responses = {path: client.send(method, path).without_request_id for path in paths}
    assert responses == dict.fromkeys(paths, expected)
