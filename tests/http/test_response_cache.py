"""The response cache, which never returns outdated responses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest
from attrs import evolve, frozen

from recipient_fields.application import KeyValidator
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    ApiKeyId,
    Author,
    Credential,
    DataType,
    FieldChanges,
    OrganizationId,
    Rejection,
    StorageUnavailable,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField
from recipient_fields.entrypoints.http.responses import ReadResponse, ResponseCache

from .api import FIELDS

BAKERY, BREWERY = OrganizationId(1), OrganizationId(2)
LIST = ReadResponse("1-1", b"[]")


def credential(revision: int | None, organization: OrganizationId = BAKERY) -> Credential:
    return Credential(organization, ApiKeyId(1), Access.READ_ONLY, revision)


def fail_if_called() -> NoReturn:
    raise AssertionError("the response was created again")


def of_size(size: int) -> ReadResponse:
    return ReadResponse("1-1", b"x" * size)


class TestResponseCache:
    def test_a_response_is_created_once_per_revision(self):
        cache = ResponseCache(10_000)
        assert cache.get_or_create(credential(5), "/", lambda: LIST) is LIST
        assert cache.get_or_create(credential(5), "/", fail_if_called) is LIST

    @pytest.mark.parametrize("other", [4, 6])
    def test_an_older_or_newer_revision_replaces_the_entries(self, other):
        cache = ResponseCache(10_000)
        cache.get_or_create(credential(5), "/", lambda: of_size(1))
        cache.get_or_create(credential(other), "/", lambda: LIST)
        assert cache.get_or_create(credential(other), "/", fail_if_called) is LIST
        assert cache.get_or_create(credential(5), "/", lambda: of_size(2)) == of_size(2)

    def test_organizations_and_targets_have_separate_entries(self):
        cache = ResponseCache(10_000)
        cache.get_or_create(credential(5), "/a", lambda: of_size(1))
        assert cache.get_or_create(credential(5), "/b", lambda: LIST) is LIST
        assert cache.get_or_create(credential(5, BREWERY), "/a", lambda: LIST) is LIST

    def test_without_a_revision_nothing_is_cached(self):
        cache = ResponseCache(10_000)
        cache.get_or_create(credential(None), "/", lambda: of_size(1))
        assert cache.get_or_create(credential(None), "/", lambda: LIST) is LIST

    def test_an_error_is_not_cached(self):
        def fail() -> NoReturn:
            raise StorageUnavailable

        cache = ResponseCache(10_000)
        with pytest.raises(StorageUnavailable):
            cache.get_or_create(credential(5), "/", fail)
        assert cache.get_or_create(credential(5), "/", lambda: LIST) is LIST

    def test_the_least_recently_used_organization_is_evicted_first(self):
        cache = ResponseCache(80_000)
        for organization in range(1, 9):
            cache.get_or_create(
                credential(5, OrganizationId(organization)), "/", lambda: of_size(9_000)
            )
        cache.get_or_create(credential(5, OrganizationId(1)), "/", fail_if_called)
        cache.get_or_create(credential(5, OrganizationId(9)), "/", lambda: of_size(9_000))
        for organization in (1, 3, 9):
            cache.get_or_create(credential(5, OrganizationId(organization)), "/", fail_if_called)
        assert cache.get_or_create(credential(5, OrganizationId(2)), "/", lambda: LIST) is LIST

    def test_one_organization_does_not_evict_the_entries_of_others(self):
        cache = ResponseCache(80_000)
        cache.get_or_create(credential(5, BREWERY), "/", lambda: LIST)
        for number in range(1_000):
            cache.get_or_create(credential(5), f"/?q={number}", lambda: of_size(500))
        cache.get_or_create(credential(5, BREWERY), "/", fail_if_called)
        cached = [
            number
            for number in range(1_000)
            if cache.get_or_create(credential(5), f"/?q={number}", lambda: LIST) is not LIST
        ]
        assert 0 < len(cached) * 500 < 80_000 / 8

    def test_headers_count_towards_the_size(self):
        cache = ResponseCache(80_000)
        query = "q=" + "%20" * 1_000
        created = ReadResponse(
            "1-1", b"[]", {"Total-Count": "2", "Link": f'</?{query}>; rel="next"'}
        )
        for number in range(100):
            cache.get_or_create(credential(5), f"/?{number}", lambda: created)
        cached = [
            number
            for number in range(100)
            if cache.get_or_create(credential(5), f"/?{number}", lambda: LIST) is created
        ]
        assert 0 < len(cached) * len(query) < 80_000 / 8

    def test_a_cache_of_0_bytes_stores_nothing(self):
        cache = ResponseCache(0)
        cache.get_or_create(credential(5), "/", lambda: of_size(1))
        assert cache.get_or_create(credential(5), "/", lambda: LIST) is LIST

    def test_of_two_responses_that_are_created_at_the_same_time_the_first_is_kept(self):
        cache = ResponseCache(80_000)

        def create_later() -> ReadResponse:
            cache.get_or_create(credential(5), "/", lambda: LIST)
            return of_size(1)

        assert cache.get_or_create(credential(5), "/", create_later) == of_size(1)
        assert cache.get_or_create(credential(5), "/", fail_if_called) is LIST

    def test_no_thread_gets_a_response_of_another_revision(self):
        cache = ResponseCache(50_000)

        def get(number: int) -> bool:
            revision, organization = number % 7, OrganizationId(number % 3)
            created = ReadResponse(f"{organization}-{revision}", b"x" * 1_000)
            return (
                cache.get_or_create(credential(revision, organization), "/", lambda: created)
                == created
            )

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(get, range(5_000)))


@frozen
class FailsIfCalled:
    """A repository that must not be called."""

    def __getattr__(self, method: str) -> Any:
        raise AssertionError(f"`{method}` was called")


class TestService:
    @pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city", f"{FIELDS}?limit=1&sort=-id"])
    def test_an_unchanged_catalog_is_not_read_again(self, harness, api, city, path):
        fields = Delegate(harness.storage.fields)
        client = harness.client(fields=harness.service_with(fields)).with_key(api.key)
        first = client.send("GET", path)
        fields.target = FailsIfCalled()
        again = client.send("GET", path)
        assert (again.status, again.content) == (200, first.content)
        assert {**again.headers, "x-request-id": ""} == {**first.headers, "x-request-id": ""}
        assert client.send("GET", path, if_none_match=first.etag).status == 304

    def test_a_change_through_any_channel_is_visible_at_once(self, harness, api, bakery):
        shop = harness.add_field(bakery, ADMINISTRATOR)
        integrations = harness.core.integrations
        audience = integrations.create_integration(bakery, esp=Esp("mailchimp"), name="List")
        administrator = harness.service.by(Author(ADMINISTRATOR))
        synced = EspField(name="FNAME", data_type=DataType.TEXT)
        changes = (
            lambda: api.post({"name": "City", "data_type": "text"}),
            lambda: api.patch("city", {"name": "Town"}),
            lambda: administrator.update_field(bakery, shop.id, FieldChanges(insertable=False)),
            lambda: administrator.delete_field(bakery, shop.id),
            lambda: integrations.sync_fields(bakery, audience.id, [synced]),
            lambda: integrations.sync_fields(bakery, audience.id, []),
            lambda: api.delete("city"),
        )
        for change in changes:
            assert api.list().content == api.list().content
            before = api.list()
            change()
            after = api.list()
            assert after.fields != before.fields
            assert after.etag != before.etag
            assert [f["id"] for f in after.fields] == [
                f.id for f in harness.service.list_fields(bakery).fields
            ]

    def test_a_revoked_key_gets_no_cached_response(self, harness, bakery, city):
        issued = harness.issue_key(bakery)
        client = harness.client().with_key(issued.plain.reveal())
        assert client.list().status == client.list().status == 200
        harness.administration.revoke_key(bakery, issued.api_key.id)
        assert client.list().status == 401

    def test_a_key_of_a_deleted_organization_gets_no_cached_response(
        self, harness, bakery, brewery, city
    ):
        client = harness.client_with_key(bakery)
        theirs = brewery.list().content
        assert client.list().status == client.list().status == 200
        harness.administration.delete_organization(bakery)
        assert client.list().status_and_code == (401, "unauthorized")
        assert client.post({"name": "Town", "data_type": "text"}).status == 401
        assert brewery.list().content == theirs

    def test_an_organization_gets_its_own_fields(self, api, brewery, city):
        for _ in range(2):
            assert len(api.list().fields) == 1
            assert brewery.list().fields == []

    def test_a_validator_without_revisions_is_supported(self, harness, bakery, api):
        @frozen
        class Revisionless:
            validator: KeyValidator

            def validate(self, presented: str, /) -> Credential | Rejection:
                found = self.validator.validate(presented)
                assert isinstance(found, Credential)
                return evolve(found, catalog_revision=None)

        client = harness.client(validator=Revisionless(harness.validator)).with_key(api.key)
        for count in range(3):
            assert len(client.list().fields) == count
            harness.add_field(bakery, ADMINISTRATOR, key=f"shop_{count}")


class Delegate:
    """A repository that delegates to another one, which can be replaced."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __getattr__(self, method: str) -> Any:
        return getattr(self.target, method)
