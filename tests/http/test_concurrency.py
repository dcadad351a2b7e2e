"""Many callers at once: nothing is lost, nothing is made twice."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from threading import Barrier
from typing import Any, TypeVar

import pytest
from attrs import evolve

from recipient_fields.domain import FieldKey, OrganizationId

from .api import Api, Headers
from .conftest import Stand

T = TypeVar("T")

CITY = {"name": "City", "data_type": "text"}
TIMES = 100


@pytest.fixture(autouse=True)
def _many_turns() -> Iterator[None]:
    """Threads take turns far more often than usual, so that they meet halfway."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture
def api(stand: Stand, bakery: OrganizationId) -> Api:
    """The bakery's client."""
    return asking_again(stand.bearer(bakery))


def asking_again(api: Api) -> Api:
    """The client that sends twice more what was answered 503, as it is told to.

    Where the machine stands still for a second, whoever waits for a lock has waited for too long.
    """

    def transport(
        method: str, path: str, headers: Headers, body: bytes
    ) -> tuple[int, Headers, bytes]:
        for _ in range(2):
            answer = api.transport(method, path, headers, body)
            if answer[0] != HTTPStatus.SERVICE_UNAVAILABLE:
                return answer
        return api.transport(method, path, headers, body)

    return evolve(api, transport=transport)


def at_once(calls: list[Callable[[], T]]) -> list[T]:
    """The results of calls that begin together."""
    barrier = Barrier(len(calls))

    def begin(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


def test_of_many_creations_of_one_key_one_succeeds(api: Api):
    answers = at_once([lambda: api.post(CITY)] * 20)
    assert Counter(answer.status for answer in answers) == {201: 1, 409: 19}
    (made,) = [answer.field["id"] for answer in answers if answer.status == 201]
    told = {a.error["details"][0]["existing_id"] for a in answers if a.status == 409}
    assert told == {made}


def test_of_many_puts_of_a_free_key_one_creates_and_the_others_replace(api: Api):
    answers = at_once([lambda: api.put("city", CITY)] * 20)
    assert Counter(answer.status for answer in answers) == {201: 1, 200: 19}
    assert len({answer.etag for answer in answers}) == 1


def test_of_many_puts_that_only_create_one_succeeds(api: Api):
    answers = at_once([lambda: api.put("city", CITY, if_none_match="*")] * 20)
    assert Counter(answer.status for answer in answers) == {201: 1, 412: 19}


def test_of_many_changes_of_one_version_one_goes_ahead(api: Api, city):
    etag = api.get("city").etag

    def change(n: int) -> Callable[[], int]:
        return lambda: api.patch("city", {"name": f"City {n}"}, if_match=etag).status

    assert Counter(at_once([change(n) for n in range(20)])) == {200: 1, 412: 19}


def test_the_limit_holds_however_many_create_at_once(stand: Stand, bakery: OrganizationId):
    narrow = asking_again(Stand(stand.storage, stand.clock, limit=5).bearer(bakery))

    def create(n: int) -> Callable[[], int]:
        return lambda: narrow.put(f"k{n}", CITY).status

    assert Counter(at_once([create(n) for n in range(20)])) == {201: 5, 409: 15}
    assert len(narrow.list().fields) == 5


def test_changes_of_different_members_all_last(
    stand: Stand, api: Api, bakery: OrganizationId, city: dict[str, Any]
):
    def patch(member: str, value: Callable[[int], object]) -> Callable[[], list[str]]:
        return lambda: [api.patch("city", {member: value(n)}).etag for n in range(TIMES)]

    etags = at_once(
        [
            patch("name", lambda n: f"one {n}"),
            patch("name", lambda n: f"two {n}"),
            patch("custom_insertion_code", lambda n: f"one {n}"),
            patch("custom_insertion_code", lambda n: f"two {n}"),
            patch("custom_value_expression", lambda n: f"one {n}"),
            patch("custom_value_expression", lambda n: f"two {n}"),
            patch("allowed_values", lambda n: [f"value {n}"]),
            patch("insertable", lambda n: n % 2 == 1),
        ]
    )
    field, last = api.get("city").field, TIMES - 1
    for member in ("name", "custom_insertion_code", "custom_value_expression"):
        assert field[member] in {f"one {last}", f"two {last}"}
    assert field["allowed_values"] == [f"value {last}"]
    assert field["insertable"] is True
    assert len({etag for thread in etags for etag in thread}) == 8 * TIMES
    assert stand.service.get_field(bakery, FieldKey("city")).version == 1 + 8 * TIMES


def test_what_is_deleted_while_it_changes_stays_deleted(api: Api, city):
    calls: list[Callable[[], int]] = [lambda: api.delete("city").status]
    calls += [lambda: api.patch("city", {"name": "Town"}).status] * 7
    statuses = at_once(calls)
    assert statuses[0] == 204
    assert set(statuses[1:]) <= {200, 404}
    assert api.list().fields == []


def test_an_organization_that_is_deleted_while_clients_use_it_ends_as_401_or_404(
    stand: Stand, api: Api, bakery: OrganizationId, city, brewery: Api
):
    def use(n: int) -> Callable[[], set[int]]:
        return lambda: {
            answer.status
            for m in range(10)
            for answer in (
                api.put(f"k{n}_{m}", CITY),
                api.patch("city", {"name": f"City {n}.{m}"}),
                api.list(),
            )
        }

    def delete() -> set[int]:
        stand.administration.delete_organization(bakery)
        return set()

    statuses = set[int]().union(*at_once([use(n) for n in range(7)] + [delete]))
    assert statuses <= {200, 201, 401, 404}
    assert api.list().status == 401
    assert brewery.list().status == 200
