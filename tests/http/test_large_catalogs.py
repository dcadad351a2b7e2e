"""Requests of an organization with a large catalog, while no slot is free and while one is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from wsgiref.util import FileWrapper

import falcon
import pytest
from attrs import evolve, frozen
from falcon.testing import Result, StartResponseMock, TestClient, create_environ

from recipient_fields.domain import (
    API,
    MAX_ALLOWED_VALUES,
    AllowedValues,
    Author,
    Credential,
    DataType,
    OrganizationId,
    Rejection,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField
from recipient_fields.entrypoints.http.heavy_requests import HEAVY_SIZE, HeavyRequests
from recipient_fields.testing.examples import a_definition
from recipient_fields.testing.field_changes import add_field

from .api import (
    BATCHES,
    CONDITION_COMPILATIONS,
    CONTENT_CONVERSIONS,
    CONTENT_EXPORTS,
    FIELDS,
    HISTORY,
    RECIPIENT_CHECKS,
    RECIPIENT_SCHEMA,
    Api,
    falcon_transport,
)
from .conftest import Harness

OVERLOADED = (503, "overloaded")
VALUES = [f"{number:0>250}" for number in range(250)]
"""63 kB."""
LARGE = 20
"""Fields with these values exceed 1 MiB together."""
CONDITION = {"field": "field_0", "op": "is_set"}
BODIES = {
    RECIPIENT_CHECKS: {"recipients": [{}]},
    CONDITION_COMPILATIONS: {"condition": CONDITION, "esp": "braze", "then": "a"},
    CONTENT_EXPORTS: {"content": "a", "esp": "braze"},
    CONTENT_CONVERSIONS: {"content": "a", "from": {"esp": "klaviyo"}, "to": "portable"},
}
UPDATES = [
    {"operation": "update", "reference": f"field_{n}", "recipient_field": {"insertable": False}}
    for n in range(LARGE)
]
READS = [
    FIELDS,
    f"{FIELDS}?limit=1000",
    f"{FIELDS}?as_of=2026-11-21T00:00:00Z",
    RECIPIENT_SCHEMA,
    f"{FIELDS}/field_0/codes",
    "/api/v1/merge_tags?esp=braze",
    f"{HISTORY}?limit=1000",
    f"{FIELDS}/field_0/changes",
]


@frozen
class Service:
    """An application, its only slot and its clients: of a large organization and of a small one."""

    app: falcon.App[Any, Any]
    heavy: HeavyRequests
    large: Api
    small: Api

    @contextmanager
    def occupied(self) -> Iterator[None]:
        """Take the slot for another organization during the block."""
        with self.heavy.request(OrganizationId(999)) as request:
            request.take_slot()
            yield


@pytest.fixture
def service(harness: Harness, bakery: OrganizationId) -> Service:
    for number in range(LARGE):
        harness.add_field(bakery, API, f"field_{number}", allowed_values=tuple(VALUES))
    brewery = harness.organization("Brewery")
    harness.add_field(brewery, API, "field_0")
    heavy = HeavyRequests(4)
    app = harness.app(heavy=heavy)
    client = Api(falcon_transport(app))
    large, small = (
        client.with_key(harness.issue_key(each).plain.reveal()) for each in (bakery, brewery)
    )
    harness.clock.advance(days=2)
    return Service(app, heavy, large, small)


def send(client: Api, path: str) -> tuple[int, str | None]:
    """Send the request of this path, and return the status and the code of an error."""
    body = BODIES.get(path)
    method = "GET" if body is None else "POST"
    response = client.send(method, path, b"" if body is None else json.dumps(body))
    return response.status, response.error["code"] if response.status >= 400 else None


@pytest.mark.parametrize("path", [*READS[:-1], *BODIES])
def test_a_large_catalog_or_page_requires_a_slot(service, path):
    with service.occupied():
        assert send(service.large, path) == OVERLOADED
        assert send(service.small, path)[0] != 503
    assert send(service.large, path)[0] != 503
    assert service.heavy.rejected == 1


@pytest.mark.parametrize("path", [f"{FIELDS}/field_0", f"{HISTORY}?limit=5", READS[-1]])
def test_small_responses_of_a_large_organization_require_no_slot(service, path):
    with service.occupied():
        assert send(service.large, path) == (200, None)


def test_the_names_of_a_synced_field_require_a_slot_and_its_conflict_does_not(
    harness, service, bakery
):
    integrations = harness.core.integrations
    emails = integrations.create_integration(bakery, esp=Esp("braze"), name="Emails").id
    integrations.sync_fields(bakery, emails, [EspField(name="tier", data_type=DataType.TEXT)])
    tier = {"name": "Tier", "data_type": "text"}
    with service.occupied():
        conflict = service.large.post(tier)
        assert conflict.status_and_code == (409, "key_already_exists")
        assert conflict.messages[0].endswith("choose another key.")
        harness.add_field(bakery, API, "city")
        assert service.large.post({"name": "City", "data_type": "text"}).status == 409
    assert service.heavy.rejected == 1
    assert service.large.post(tier).messages[0].endswith("Its names there: tier at Emails.")


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}?limit=1000", RECIPIENT_SCHEMA])
def test_a_catalog_of_unknown_size_is_heavy_once_it_was_read(harness, service, path):
    """A key validator that is not the storage knows neither the revision nor the size."""

    @frozen
    class OtherValidator:
        def validate(self, presented: str, /) -> Credential | Rejection:
            found = harness.validator.validate(presented)
            assert isinstance(found, Credential)
            return evolve(found, catalog_revision=None, catalog_size=None)

    app = harness.client(heavy=service.heavy, validator=OtherValidator())
    large, small = app.with_key(service.large.key), app.with_key(service.small.key)
    assert send(large, path) == (200, None)
    with service.occupied():
        assert send(large, path) == OVERLOADED
        assert send(small, path) == (200, None)
    assert send(large, path) == (200, None)


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}?limit=1000", RECIPIENT_SCHEMA])
def test_a_cached_response_requires_no_slot(service, path):
    before = service.large.send("GET", path)
    with service.occupied():
        assert service.large.send("GET", path).content == before.content
        assert service.large.send("HEAD", path).status == 200
        assert service.large.send("GET", path, if_none_match=before.etag).status == 304


def test_a_batch_whose_response_finds_no_slot_stores_nothing(service):
    before = service.large.state()
    with service.occupied():
        assert service.large.apply(*UPDATES).status_and_code == OVERLOADED
        assert service.large.apply(*UPDATES[:5]).status == 200
    assert service.large.state() != before
    assert service.large.get("field_19").field["insertable"] is True
    assert service.large.apply(*UPDATES).status == 200


def test_other_writes_require_no_slot(service):
    with service.occupied():
        assert service.large.patch("field_0", {"insertable": False}).status == 200
        assert service.large.post({"name": "More", "data_type": "text"}).status == 201
        assert service.large.delete("more").status == 204


def test_a_check_with_a_large_body_requires_a_slot(service):
    small = json.dumps({"recipients": [{}]})
    with service.occupied():
        for body, expected in ((small.ljust(65_536), 200), (small.ljust(65_537), 503)):
            assert service.small.send("POST", RECIPIENT_CHECKS, body).status == expected


def test_a_repeated_page_of_history_is_rejected_before_it_is_read(service):
    with service.occupied():
        assert send(service.large, f"{HISTORY}?limit=1000") == OVERLOADED
        assert send(service.large, f"{HISTORY}?limit=1") == OVERLOADED
        assert send(service.small, f"{HISTORY}?limit=1") == (200, None)
    assert send(service.large, f"{HISTORY}?limit=1") == (200, None)


def test_a_page_of_history_ends_before_8_mebibytes(harness, service):
    for insertable in (False, True, False, True):
        changes = [{**update, "recipient_field": {"insertable": insertable}} for update in UPDATES]
        assert service.large.apply(*changes).status == 200
    path = f"{HISTORY}?limit=1000"
    records: list[dict[str, Any]] = []
    sizes: list[int] = []
    while path and len(sizes) <= 2:
        page = service.large.send("GET", path)
        records += page.json["recipient_field_changes"]
        sizes.append(len(page.content))
        link = page.headers.get("link", "")
        path = link.partition(">")[0].removeprefix("<")

    assert [record["sequence"] for record in records] == [*range(1, 5 * LARGE + 1)]
    assert [size < 8 * 2**20 for size in sizes] == [True, True]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_large_response_is_a_file_if_the_host_has_a_wrapper(harness, service, method):
    wrapped = []

    def wrap(file: Any, block_size: int) -> FileWrapper:
        wrapped.append(file)
        return FileWrapper(file, block_size)

    client = TestClient(harness.default_app)
    for api, files in ((service.small, 0), (service.large, method == "GET")):
        response = client.simulate_request(
            method,
            FIELDS,
            headers={"Authorization": f"Bearer {api.key}"},
            extras={"wsgi.file_wrapper": wrap},
        )
        listed = api.list()
        assert response.content == (listed.content if method == "GET" else b"")
        assert response.headers["content-length"] == str(len(listed.content))
        assert len(wrapped) == files


@contextmanager
def unfinished(service: Service, api: Api, path: str) -> Iterator[None]:
    """Receive the first piece of a response during the block, from a host without a wrapper."""
    environ = create_environ(path=path, headers={"Authorization": f"Bearer {api.key}"})
    # A host that reads nothing more keeps the iterable.
    response = service.app(environ, StartResponseMock())
    assert len(next(iter(response))) < HEAVY_SIZE
    try:
        yield
    finally:
        cast("Any", response).close()


def without_wrapper(service: Service, api: Api, path: str, **headers: str) -> Result:
    """Return the whole response that a host without `wsgi.file_wrapper` sends."""
    return TestClient(service.app).simulate_get(
        path, headers={"Authorization": f"Bearer {api.key}", **headers}
    )


@pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}?limit=1000", RECIPIENT_SCHEMA])
def test_a_host_without_a_wrapper_sends_pieces(service, path):
    listed = service.large.send("GET", path)
    for _ in range(3):
        response = without_wrapper(service, service.large, path)
        assert response.content == listed.content
        assert response.headers["content-length"] == str(len(listed.content))
        assert response.headers["etag"] == listed.etag


def test_a_host_without_a_wrapper_sends_one_large_response_to_an_organization(service):
    etag = service.large.list().etag
    with unfinished(service, service.large, FIELDS):
        rejected = without_wrapper(service, service.large, f"{FIELDS}?limit=1000")
        assert (rejected.status_code, rejected.json["error"]["code"]) == OVERLOADED
        assert rejected.headers["retry-after"] == "1"
        assert not {"etag", "link", "total-count"} & set(rejected.headers)
        assert service.heavy.rejected == 1
        assert without_wrapper(service, service.small, FIELDS).status_code == 200
        assert without_wrapper(service, service.large, f"{FIELDS}/field_0").status_code == 200
        current = without_wrapper(service, service.large, FIELDS, **{"If-None-Match": etag})
        assert current.status_code == 304
    assert without_wrapper(service, service.large, FIELDS).status_code == 200


def test_another_organization_receives_a_large_response_from_a_host_without_a_wrapper(
    harness, service
):
    other = harness.organization("Cafe")
    for number in range(LARGE):
        harness.add_field(other, API, f"field_{number}", allowed_values=tuple(VALUES))
    with unfinished(service, service.large, FIELDS):
        cafe = service.large.with_key(harness.issue_key(other).plain.reveal())
        assert without_wrapper(service, cafe, FIELDS).status_code == 200


def test_a_batch_is_never_rejected_after_it_was_stored(service):
    """Because its response has less than 1 MiB if the host has no wrapper."""
    with unfinished(service, service.large, FIELDS):
        response = TestClient(service.app).simulate_post(
            BATCHES,
            headers={"Authorization": f"Bearer {service.large.key}"},
            json={"operations": UPDATES},
        )
    assert (response.status_code, response.headers["preference-applied"]) == (200, "return=minimal")
    assert service.large.get("field_19").field["insertable"] is False
    assert "preference-applied" not in service.large.apply(*UPDATES).headers


def test_a_change_is_never_rejected_after_it_was_stored(harness, service, bakery):
    """Earlier versions stored fields of more than 1 MiB."""
    rockets = [f"{number:04}" + "\N{ROCKET}" * 251 for number in range(MAX_ALLOWED_VALUES)]
    stored = a_definition(
        "rockets",
        allowed_values=AllowedValues(DataType.TEXT, rockets),
        custom_insertion_code="\N{ROCKET}" * 10_000,
    )
    add_field(harness.storage.fields, bakery, stored, author=Author(API))
    with unfinished(service, service.large, FIELDS):
        response = TestClient(service.app).simulate_patch(
            f"{FIELDS}/rockets",
            headers={"Authorization": f"Bearer {service.large.key}"},
            json={"recipient_field": {"insertable": False}},
        )
    assert response.status_code == 200
    assert len(response.content) > HEAVY_SIZE
