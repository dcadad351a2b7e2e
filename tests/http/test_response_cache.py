"""Kept answers: what is asked again costs nothing, and nobody is ever given an old answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest
from attrs import evolve, frozen

from recipient_fields.application import IntegrationService, KeyValidator
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    ApiKeyId,
    Credential,
    DataType,
    FieldChanges,
    OrganizationId,
    Rejection,
    StorageUnavailable,
)
from recipient_fields.domain.esp import Esp, EspField
from recipient_fields.entrypoints.http.response_cache import ResponseCache
from recipient_fields.entrypoints.http.responses import ReadResponse

from .api import FIELDS, Api
from .conftest import Stand

BAKERY, BREWERY = OrganizationId(1), OrganizationId(2)
LIST = ReadResponse("1-1", b"[]")


def meeting(revision: int | None, whose: OrganizationId = BAKERY) -> Credential:
    return Credential(whose, ApiKeyId(1), Access.READ_ONLY, revision)


def not_again() -> NoReturn:
    raise AssertionError("made again")


def of_size(size: int) -> ReadResponse:
    return ReadResponse("1-1", b"x" * size)


class TestKeeping:
    def test_an_answer_is_made_once_for_a_revision(self):
        cache = ResponseCache(10_000)
        assert cache.get_or_create(meeting(5), "/", lambda: LIST) is LIST
        assert cache.get_or_create(meeting(5), "/", not_again) is LIST

    @pytest.mark.parametrize("other", [4, 6])
    def test_another_revision_is_another_catalog_for_good(self, other):
        cache = ResponseCache(10_000)
        cache.get_or_create(meeting(5), "/", lambda: of_size(1))
        cache.get_or_create(meeting(other), "/", lambda: LIST)
        assert cache.get_or_create(meeting(other), "/", not_again) is LIST
        assert cache.get_or_create(meeting(5), "/", lambda: of_size(2)) == of_size(2)

    def test_organizations_and_targets_are_kept_apart(self):
        cache = ResponseCache(10_000)
        cache.get_or_create(meeting(5), "/a", lambda: of_size(1))
        assert cache.get_or_create(meeting(5), "/b", lambda: LIST) is LIST
        assert cache.get_or_create(meeting(5, BREWERY), "/a", lambda: LIST) is LIST

    def test_a_validator_that_knows_no_revision_has_each_answer_made(self):
        cache = ResponseCache(10_000)
        cache.get_or_create(meeting(None), "/", lambda: of_size(1))
        assert cache.get_or_create(meeting(None), "/", lambda: LIST) is LIST

    def test_what_raises_is_not_kept(self):
        def fail() -> NoReturn:
            raise StorageUnavailable

        cache = ResponseCache(10_000)
        with pytest.raises(StorageUnavailable):
            cache.get_or_create(meeting(5), "/", fail)
        assert cache.get_or_create(meeting(5), "/", lambda: LIST) is LIST

    def test_what_was_asked_for_longest_ago_goes_first(self):
        cache = ResponseCache(80_000)
        for whose in range(1, 9):
            cache.get_or_create(meeting(5, OrganizationId(whose)), "/", lambda: of_size(9_000))
        cache.get_or_create(meeting(5, OrganizationId(1)), "/", not_again)
        cache.get_or_create(meeting(5, OrganizationId(9)), "/", lambda: of_size(9_000))
        for whose in (1, 3, 9):
            cache.get_or_create(meeting(5, OrganizationId(whose)), "/", not_again)
        assert cache.get_or_create(meeting(5, OrganizationId(2)), "/", lambda: LIST) is LIST

    def test_one_organization_does_not_displace_the_others(self):
        cache = ResponseCache(80_000)
        cache.get_or_create(meeting(5, BREWERY), "/", lambda: LIST)
        for number in range(1_000):
            cache.get_or_create(meeting(5), f"/?q={number}", lambda: of_size(500))
        cache.get_or_create(meeting(5, BREWERY), "/", not_again)
        there = [
            number
            for number in range(1_000)
            if cache.get_or_create(meeting(5), f"/?q={number}", lambda: LIST) is not LIST
        ]
        assert 0 < len(there) * 500 < 80_000 / 8

    def test_headers_count_as_well(self):
        cache = ResponseCache(80_000)
        query = "q=" + "%20" * 1_000
        made = ReadResponse("1-1", b"[]", {"Total-Count": "2", "Link": f'</?{query}>; rel="next"'})
        for number in range(100):
            cache.get_or_create(meeting(5), f"/?{number}", lambda: made)
        there = [
            number
            for number in range(100)
            if cache.get_or_create(meeting(5), f"/?{number}", lambda: LIST) is made
        ]
        assert 0 < len(there) * len(query) < 80_000 / 8

    def test_nothing_is_kept_where_nothing_may_be(self):
        cache = ResponseCache(0)
        cache.get_or_create(meeting(5), "/", lambda: of_size(1))
        assert cache.get_or_create(meeting(5), "/", lambda: LIST) is LIST

    def test_threads_never_get_an_answer_of_another_revision(self):
        cache = ResponseCache(50_000)

        def ask(number: int) -> bool:
            revision, whose = number % 7, OrganizationId(number % 3)
            made = ReadResponse(f"{whose}-{revision}", b"x" * 1_000)
            return cache.get_or_create(meeting(revision, whose), "/", lambda: made) == made

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask, range(5_000)))


@frozen
class Unasked:
    """A repository that must not be asked."""

    def __getattr__(self, method: str) -> Any:
        raise AssertionError(f"{method} was asked")


class TestService:
    @pytest.mark.parametrize("path", [FIELDS, f"{FIELDS}/city", f"{FIELDS}?limit=1&sort=-id"])
    def test_what_has_not_changed_is_not_read_again(self, stand: Stand, api: Api, city, path):
        fields = Switch(stand.storage.fields)
        client = stand.client(service=stand.service_over(fields)).bearing(api.key)
        first = client.send("GET", path)
        fields.target = Unasked()
        again = client.send("GET", path)
        assert (again.status, again.content) == (200, first.content)
        assert {**again.headers, "x-request-id": ""} == {**first.headers, "x-request-id": ""}
        assert client.send("GET", path, if_none_match=first.etag).status == 304

    def test_every_change_through_any_channel_is_seen_at_once(self, stand: Stand, api: Api, bakery):
        shop = stand.add(bakery, ADMINISTRATOR)
        integrations = IntegrationService(
            integrations=stand.storage.integrations, fields=stand.storage.fields, clock=stand.clock
        )
        audience = integrations.create_integration(bakery, esp=Esp.MAILCHIMP, name="List")
        by_hand = stand.service.through(ADMINISTRATOR)
        synced = EspField(name="FNAME", data_type=DataType.TEXT)
        changes = (
            lambda: api.post({"name": "City", "data_type": "text"}),
            lambda: api.patch("city", {"name": "Town"}),
            lambda: by_hand.update_field(bakery, shop.id, FieldChanges(insertable=False)),
            lambda: by_hand.delete_field(bakery, shop.id),
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
                f.id for f in stand.service.list_fields(bakery).fields
            ]

    def test_a_revoked_key_gets_no_kept_answer(self, stand: Stand, bakery, city):
        issued = stand.issue(bakery)
        client = stand.client().bearing(issued.plain.reveal())
        assert client.list().status == client.list().status == 200
        stand.administration.revoke_key(bakery, issued.api_key.id)
        assert client.list().status == 401

    def test_a_key_of_a_deleted_organization_gets_no_cached_response(
        self, stand: Stand, bakery, brewery: Api, city
    ):
        client = stand.bearer(bakery)
        theirs = brewery.list().content
        assert client.list().status == client.list().status == 200
        stand.administration.delete_organization(bakery)
        assert client.list().outcome == (401, "unauthorized")
        assert client.post({"name": "Town", "data_type": "text"}).status == 401
        assert brewery.list().content == theirs

    def test_organizations_get_their_own(self, api: Api, brewery: Api, city):
        for _ in range(2):
            assert len(api.list().fields) == 1
            assert brewery.list().fields == []

    def test_a_validator_that_knows_no_revisions_serves_as_well(self, stand: Stand, bakery, api):
        @frozen
        class Revisionless:
            validator: KeyValidator

            def validate(self, presented: str, /) -> Credential | Rejection:
                found = self.validator.validate(presented)
                assert isinstance(found, Credential)
                return evolve(found, catalog_revision=None)

        client = stand.client(validator=Revisionless(stand.validator)).bearing(api.key)
        for count in range(3):
            assert len(client.list().fields) == count
            stand.add(bakery, ADMINISTRATOR, key=f"shop_{count}")


class Switch:
    """Stands for a repository, or for another one."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __getattr__(self, method: str) -> Any:
        return getattr(self.target, method)
