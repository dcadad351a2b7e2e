"""Concurrent clients lose no change and create nothing twice."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from threading import Barrier
from typing import TypeVar

import pytest
from attrs import evolve

from recipient_fields.domain import OrganizationId

from .api import Api, Headers
from .conftest import Harness

T = TypeVar("T")

CITY = {"name": "City", "data_type": "text"}


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


def test_exactly_one_of_many_changes_of_a_version_succeeds(api, city):
    etag = api.get("city").etag

    def change(n: int) -> Callable[[], int]:
        return lambda: api.patch("city", {"name": f"City {n}"}, if_match=etag).status

    assert Counter(run_concurrently([change(n) for n in range(20)])) == {200: 1, 412: 19}


def test_requests_to_an_organization_that_is_deleted_get_401_or_404(
    harness, api, bakery, city, brewery
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
