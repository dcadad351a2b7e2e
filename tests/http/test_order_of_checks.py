"""Which answer wins where a request is wrong in two ways (HTTP contract, section 6)."""

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

from .api import FIELDS, MEGABYTE, Answer, Api
from .conftest import Stand


@define
class Draft:
    """A request in the making; as it is, it succeeds."""

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
    """One way to be wrong, and its answer."""

    answer: tuple[int, str]
    commit: Callable[[Draft], None]
    methods: str = "POST PATCH PUT DELETE"


def too_large(draft: Draft) -> None:
    draft.padding = MEGABYTE + 1


def without_key(draft: Draft) -> None:
    draft.headers["authorization"] = None


def elsewhere(draft: Draft) -> None:
    draft.collection = "/api/v1/recipient_fieldz"


def other_method(draft: Draft) -> None:
    draft.method = "POST" if draft.reference else "PATCH"


def accepting_html(draft: Draft) -> None:
    draft.headers["accept"] = "text/html"


def reading_only(draft: Draft) -> None:
    draft.access = Access.READ_ONLY


def with_parameter(draft: Draft) -> None:
    draft.query = "?limit=1"


def as_text(draft: Draft) -> None:
    draft.headers["content_type"] = "text/plain"


def without_quotes(draft: Draft) -> None:
    draft.headers["if_match"] = "stale"


def broken(draft: Draft) -> None:
    draft.broken = True


def nameless(draft: Draft) -> None:
    draft.members["name"] = " "


def missing(draft: Draft) -> None:
    draft.reference = "999"


def by_hand(draft: Draft) -> None:
    draft.reference = "shop"


def stale(draft: Draft) -> None:
    draft.headers["if_match"] = '"stale"'


def of_other_type(draft: Draft) -> None:
    draft.members["data_type"] = "number"


def taken(draft: Draft) -> None:
    draft.members["key"] = "shop"


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
    "entity tags": Fault((400, "invalid_parameter"), without_quotes),
    "json": Fault((400, "invalid_json"), broken, WITH_BODY),
    "shape": Fault((422, "validation_failed"), nameless, WITH_BODY),
    "existence": Fault((404, "not_found"), missing, ONE_FIELD),
    "origin": Fault((403, "forbidden"), by_hand, ONE_FIELD),
    "precondition": Fault((412, "precondition_failed"), stale, ONE_FIELD),
    "stored": Fault((422, "validation_failed"), of_other_type, "PATCH PUT"),
    "conflict": Fault((409, "key_already_exists"), taken, "POST"),
}
"""In the contract's order, and in ours where it names none."""


def pairs(method: str) -> list[tuple[str, str]]:
    faults = [name for name, fault in FAULTS.items() if method in fault.methods.split()]
    exclusive = {("existence", "origin")}  # What does not exist has no origin.
    return [pair for pair in combinations(faults, 2) if pair not in exclusive]


CASES = [(method, *pair) for method in FAULTS["size"].methods.split() for pair in pairs(method)]


def well_formed(method: str) -> Draft:
    members = {"name": "Town"} if method == "PATCH" else {"name": "Town", "data_type": "text"}
    return Draft(method, reference=None if method == "POST" else "city", members=members)


@pytest.fixture
def send(stand: Stand, bakery: OrganizationId, city) -> Callable[[Draft], Answer]:
    stand.add(bakery, ADMINISTRATOR)

    def sending(draft: Draft) -> Answer:
        client = stand.bearer(bakery, access=draft.access)
        return client.send(draft.method, draft.path, draft.body, **draft.headers)

    return sending


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_without_a_fault_the_request_succeeds(send, method: str):
    assert send(well_formed(method)).status < 300


@pytest.mark.parametrize(
    ("method", "fault"),
    [(m, name) for name, fault in FAULTS.items() for m in fault.methods.split()],
)
def test_one_fault_has_its_own_answer(send, method: str, fault: str):
    draft = well_formed(method)
    FAULTS[fault].commit(draft)
    assert send(draft).outcome == FAULTS[fault].answer


@pytest.mark.parametrize(("method", "first", "second"), CASES)
def test_of_two_faults_the_first_is_answered(send, api: Api, method, first, second):
    before = api.state()
    draft = well_formed(method)
    FAULTS[second].commit(draft)
    FAULTS[first].commit(draft)
    answer = send(draft)
    assert answer.outcome == FAULTS[first].answer
    if first == "scope":
        assert answer.error["reason"] == "insufficient_scope"
    assert api.state() == before


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_values_of_the_wrong_type_are_judged_after_the_precondition(send, method: str):
    draft = well_formed(method)
    draft.members["allowed_values"] = [1]
    assert send(draft).violations == ["/recipient_field/allowed_values/0: type"]
    stale(draft)
    assert send(draft).outcome == (412, "precondition_failed")
    by_hand(draft)
    assert send(draft).outcome == (403, "forbidden")
    missing(draft)
    assert send(draft).outcome == (404, "not_found")


def test_on_a_free_key_the_precondition_comes_before_what_the_stored_field_would_tell(api: Api):
    members = {"name": "City", "data_type": "text", "source": "manual"}
    assert api.put("city", members, if_match="*").outcome == (412, "precondition_failed")
    assert api.put("city", members).violations == ["/recipient_field/source: read_only"]


def test_a_taken_key_comes_before_the_limit(stand: Stand, api: Api, bakery: OrganizationId, city):
    narrow = Stand(stand.storage, stand.clock, limit=1).bearer(bakery)
    again = {"name": "City", "data_type": "text"}
    assert narrow.post(again).outcome == (409, "key_already_exists")
    assert narrow.post({**again, "name": "Town"}).outcome == (409, "field_limit_reached")


class Undecided:
    """A key validator that is down."""

    def validate(self, presented: str, /) -> Rejection:
        raise KeyValidationUnavailable("down")


@pytest.fixture
def undecided(stand: Stand, api: Api) -> Api:
    return stand.client(validator=Undecided()).bearing(api.key)


def test_the_size_is_judged_before_the_key(undecided: Api):
    answer = undecided.send("POST", FIELDS, " " * (MEGABYTE + 1))
    assert answer.outcome == (413, "payload_too_large")


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nothing", f"{FIELDS}/", f"{FIELDS}/a%2Fb"])
def test_while_keys_can_not_be_validated_no_route_is_told(undecided: Api, path: str):
    assert undecided.send("GET", path).outcome == (503, "api_key_validation_unavailable")


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nothing", f"{FIELDS}/", f"{FIELDS}/a%2Fb"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "TRACE"])
def test_without_a_key_no_route_is_told(stand: Stand, method: str, path: str):
    client = stand.client()
    expected = client.send(method, FIELDS).told
    assert client.send(method, path).told == expected
