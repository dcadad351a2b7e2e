"""Concurrent clients lose no change and create nothing twice."""

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
from .conftest import Harness

T = TypeVar("T")

CITY = {"name": "City", "data_type": "text"}
TIMES = 100


@pytest.fixture(autouse=True)
def _frequent_thread_switches() -> Iterator[None]:
    """Switch threads far more often than usual, so that their requests interleave."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def api(harness: Harness, bakery: OrganizationId) -> Api:
    """Return the client of the bakery."""
    return retrying(harness.client_with_key(bakery))


def retrying(api: Api) -> Api:
    """Return a client that repeats a request up to twice if it gets 503.

    If the machine stalls for a second, requests that wait for a lock time out.
    """

    def transport(
        method: str, path: str, headers: Headers, body: bytes
    ) -> tuple[int, Headers, bytes]:
        for _ in range(2):
            response = api.transport(method, path, headers, body)
            if response[0] != HTTPStatus.SERVICE_UNAVAILABLE:
                return response
        return api.transport(method, path, headers, body)

    return evolve(api, transport=transport)


def run_concurrently(calls: list[Callable[[], T]]) -> list[T]:
    """Start the calls at the same time, and return their results."""
    barrier = Barrier(len(calls))

    def begin(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


def test_exactly_one_of_many_creations_of_a_key_succeeds(api: Api):
    responses = run_concurrently([lambda: api.post(CITY)] * 20)
    assert Counter(response.status for response in responses) == {201: 1, 409: 19}
    (created,) = [response.field["id"] for response in responses if response.status == 201]
    reported = {r.error["details"][0]["existing_id"] for r in responses if r.status == 409}
    assert reported == {created}


def test_one_of_many_puts_of_a_free_key_creates_and_the_others_replace(api: Api):
    responses = run_concurrently([lambda: api.put("city", CITY)] * 20)
    assert Counter(response.status for response in responses) == {201: 1, 200: 19}
    assert len({response.etag for response in responses}) == 1


def test_exactly_one_of_many_puts_that_only_create_succeeds(api: Api):
    responses = run_concurrently([lambda: api.put("city", CITY, if_none_match="*")] * 20)
    assert Counter(response.status for response in responses) == {201: 1, 412: 19}


def test_exactly_one_of_many_changes_of_a_version_succeeds(api: Api, city):
    etag = api.get("city").etag

    def change(n: int) -> Callable[[], int]:
        return lambda: api.patch("city", {"name": f"City {n}"}, if_match=etag).status

    assert Counter(run_concurrently([change(n) for n in range(20)])) == {200: 1, 412: 19}


def test_concurrent_creations_do_not_exceed_the_limit(harness: Harness, bakery: OrganizationId):
    limited = retrying(Harness(harness.storage, harness.clock, limit=5).client_with_key(bakery))

    def create(n: int) -> Callable[[], int]:
        return lambda: limited.put(f"k{n}", CITY).status

    assert Counter(run_concurrently([create(n) for n in range(20)])) == {201: 5, 409: 15}
    assert len(limited.list().fields) == 5


def test_concurrent_changes_of_different_members_are_all_stored(
    harness: Harness, api: Api, bakery: OrganizationId, city: dict[str, Any]
):
    def patch(member: str, value: Callable[[int], object]) -> Callable[[], list[str]]:
        return lambda: [api.patch("city", {member: value(n)}).etag for n in range(TIMES)]

    etags = run_concurrently(
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
    assert harness.service.get_field(bakery, FieldKey("city")).version == 1 + 8 * TIMES


def test_a_field_that_is_deleted_during_changes_stays_deleted(api: Api, city):
    calls: list[Callable[[], int]] = [lambda: api.delete("city").status]
    calls += [lambda: api.patch("city", {"name": "Town"}).status] * 7
    statuses = run_concurrently(calls)
    assert statuses[0] == 204
    assert set(statuses[1:]) <= {200, 404}
    assert api.list().fields == []


def test_requests_to_an_organization_that_is_deleted_get_401_or_404(
    harness: Harness, api: Api, bakery: OrganizationId, city, brewery: Api
):
    def use(n: int) -> Callable[[], set[int]]:
        return lambda: {
            response.status
            for m in range(10)
            for response in (
                api.put(f"k{n}_{m}", CITY),
                api.patch("city", {"name": f"City {n}.{m}"}),
                api.list(),
            )
        }

    def delete() -> set[int]:
        harness.administration.delete_organization(bakery)
        return set()

    statuses = set[int]().union(*run_concurrently([use(n) for n in range(7)] + [delete]))
    assert statuses <= {200, 201, 401, 404}
    assert api.list().status == 401
    assert brewery.list().status == 200
