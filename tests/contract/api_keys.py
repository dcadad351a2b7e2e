"""Cases for each method of ApiKeyRepository."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import ApiKeyRepository
from recipient_fields.domain import (
    MILLISECOND,
    Access,
    ApiKey,
    ApiKeyId,
    ApiKeyNotActive,
    ApiKeyNotFound,
    DigestTaken,
    KeyGrant,
    KeyState,
    OrganizationId,
    OrganizationNotFound,
    PlainKey,
)

from .assertions import assert_found, exact, raising
from .concurrency import assert_one_succeeded, race
from .examples import (
    INSTANTS,
    LATER,
    NEVER_ASSIGNED,
    NOW,
    a_grant,
    in_pairs,
    must_not_be_called,
    rotation,
)

Call: TypeAlias = Callable[[ApiKeyRepository, OrganizationId, ApiKeyId], object]

BY_KEY_ID: dict[str, Call] = {
    "get": lambda each, ours, which: each.get(ours, which),
    "update": lambda each, ours, which: each.update(ours, which, must_not_be_called),
    "rotate": lambda each, ours, which: each.rotate(ours, which, must_not_be_called),
}
"""Every method that takes a key's id and raises ApiKeyNotFound."""

by_key_id: pytest.MarkDecorator = pytest.mark.parametrize("call", BY_KEY_ID.values(), ids=BY_KEY_ID)


class ApiKeyCases:
    """Cases for adding, finding, revoking and rotating API keys."""

    @pytest.fixture
    def key(self, api_keys: ApiKeyRepository, ours: OrganizationId) -> ApiKey:
        """Return an active key."""
        return api_keys.add(a_grant(ours))

    @in_pairs(
        access=Access,
        lifetime=[None, timedelta(seconds=1), timedelta(days=366)],
        name=["CI", "Größe 😀", "😀" * 100],
        by=[None, "operator", "dana@größe.example"],
    )
    def test_a_stored_key_equals_its_grant(
        self,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        access: Access,
        lifetime: timedelta | None,
        name: str,
        by: str | None,
    ) -> None:
        grant = a_grant(ours, access=access, lifetime=lifetime, name=name, by=by)
        added = api_keys.add(grant)
        expected = exact(grant.with_id(added.id))
        assert exact(added) == expected
        assert_found(api_keys, added)
        assert exact(api_keys.get(ours, added.id)) == expected
        assert exact(api_keys.all(ours)) == (expected,)

    @pytest.mark.parametrize("at", INSTANTS)
    def test_times_of_api_keys_are_stored_to_the_millisecond(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, at: datetime
    ) -> None:
        key = api_keys.add(evolve(a_grant(ours), created_at=at, expires_at=at))
        api_keys.record_use(ours, key.id, at)
        api_keys.update(ours, key.id, lambda key: key.revoked(at))
        expected = evolve(key, last_used_at=at, revoked_at=at)
        assert_found(api_keys, expected)
        assert exact(api_keys.all(ours)) == (exact(expected),)

    def test_keys_in_every_state_are_ordered_by_id(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        active, expired, revoked = (api_keys.add(a_grant(ours)) for _ in range(3))
        expired = api_keys.update(ours, expired.id, lambda key: evolve(key, expires_at=NOW))
        revoked = api_keys.update(ours, revoked.id, lambda key: key.revoked(NOW))
        keys = api_keys.all(ours)
        assert [key.id for key in keys] == sorted(key.id for key in keys)
        assert set(keys) == {active, expired, revoked}
        assert {key.state(NOW) for key in keys} == set(KeyState)

    def test_a_new_organization_has_no_keys(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        assert api_keys.all(ours) == ()

    def test_a_key_in_every_state_is_found_by_its_digest(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        assert_found(api_keys, key)
        for change in (lambda key: evolve(key, expires_at=NOW), lambda key: key.revoked(NOW)):
            changed = api_keys.update(ours, key.id, change)
            assert_found(api_keys, changed)

    @pytest.mark.usefixtures("key")
    @pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32, b"", bytes(31), bytes(33)])
    def test_an_unknown_digest_finds_no_key(
        self, api_keys: ApiKeyRepository, digest: bytes
    ) -> None:
        assert api_keys.find(digest) is None

    def test_a_digest_belongs_to_one_key(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, theirs: OrganizationId, key: ApiKey
    ) -> None:
        for organization in (ours, theirs):
            with pytest.raises(DigestTaken):
                api_keys.add(evolve(a_grant(organization), digest=key.digest))
        assert_found(api_keys, key)
        assert api_keys.all(ours) == (key,)
        assert api_keys.all(theirs) == ()

    def test_an_unknown_organization_is_reported_before_a_taken_digest(
        self, api_keys: ApiKeyRepository, key: ApiKey
    ) -> None:
        with pytest.raises(OrganizationNotFound):
            api_keys.add(evolve(a_grant(OrganizationId(0)), digest=key.digest))

    def test_exactly_one_of_several_concurrent_keys_with_the_same_digest_is_stored(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        plain = PlainKey.generate()
        added = race(*[lambda: api_keys.add(a_grant(ours, key=plain))] * 4)
        stored = assert_one_succeeded(added, ApiKey, DigestTaken)
        assert api_keys.all(ours) == (stored,)

    def test_an_update_stores_the_expiry_and_the_revocation(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        other = api_keys.add(a_grant(ours))
        expected = evolve(key, expires_at=None, revoked_at=LATER)
        assert api_keys.update(ours, key.id, lambda _: expected) == expected
        assert api_keys.all(ours) == (expected, other)

    def test_an_update_stores_nothing_else(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        expected = evolve(key, revoked_at=LATER)
        changed = evolve(
            expected, name="Other", access=Access.READ_ONLY, last_used_at=LATER, created_by="eve"
        )
        assert api_keys.update(ours, key.id, lambda _: changed) == expected
        assert_found(api_keys, expected)

    def test_an_update_that_raises_stores_nothing(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        with pytest.raises(ApiKeyNotActive):
            api_keys.update(ours, key.id, raising(ApiKeyNotActive()))
        assert_found(api_keys, key)

    def test_a_rotation_stores_the_old_key_and_its_successor(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        plain = PlainKey.generate()

        def succession(key: ApiKey) -> tuple[ApiKey, KeyGrant]:
            return key.rotated(plain, at=LATER, grace=timedelta(hours=1))

        replaced, successor = api_keys.rotate(ours, key.id, succession)
        ending, grant = succession(key)
        assert exact(replaced) == exact(ending)
        assert exact(successor) == exact(grant.with_id(successor.id))
        assert_found(api_keys, replaced)
        assert_found(api_keys, successor)
        assert set(api_keys.all(ours)) == {replaced, successor}

    def test_a_rotation_changes_only_the_expiry_of_the_old_key(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        renamed = evolve(key, name="Another", revoked_at=LATER)
        replaced, successor = api_keys.rotate(ours, key.id, lambda _: (renamed, a_grant(ours)))
        assert exact(replaced) == exact(evolve(key, revoked_at=LATER))
        assert set(api_keys.all(ours)) == {replaced, successor}

    def test_a_rotation_that_raises_stores_neither_key(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        with pytest.raises(ApiKeyNotActive):
            api_keys.rotate(ours, key.id, raising(ApiKeyNotActive()))
        assert api_keys.all(ours) == (key,)

    def test_a_rotation_whose_successor_is_rejected_stores_neither_key(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        of_no_organization = a_grant(OrganizationId(0))
        with pytest.raises(OrganizationNotFound):
            api_keys.rotate(ours, key.id, lambda key: (key.revoked(NOW), of_no_organization))
        assert api_keys.all(ours) == (key,)
        assert api_keys.find(of_no_organization.digest) is None

    def test_a_rotation_whose_successor_has_a_taken_digest_stores_neither_key(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        other = api_keys.add(a_grant(ours))
        taken = evolve(a_grant(ours), digest=other.digest)
        with pytest.raises(DigestTaken):
            api_keys.rotate(ours, key.id, lambda key: (key.revoked(NOW), taken))
        assert api_keys.all(ours) == (key, other)

    def test_the_last_use_of_a_key_only_moves_forward(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        for at, latest in (
            (LATER, LATER),
            (NOW, LATER),
            (LATER, LATER),
            (LATER + MILLISECOND, LATER + MILLISECOND),
        ):
            api_keys.record_use(ours, key.id, at)
            assert_found(api_keys, evolve(key, last_used_at=latest))

    def test_a_use_is_recorded_for_one_key_only(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        other = api_keys.add(a_grant(ours))
        api_keys.record_use(ours, key.id, NOW)
        assert_found(api_keys, other)

    def test_an_update_and_a_rotation_keep_the_recorded_use(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        api_keys.record_use(ours, key.id, LATER)
        replaced, successor = api_keys.rotate(ours, key.id, rotation())
        revoked = api_keys.update(ours, key.id, lambda key: key.revoked(LATER))
        assert {replaced.last_used_at, revoked.last_used_at} == {LATER}
        assert_found(api_keys, revoked)
        assert successor.last_used_at is None

    def test_an_id_that_was_never_assigned_has_no_key(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, key: ApiKey
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            key_id = ApiKeyId(never_assigned)
            for call in BY_KEY_ID.values():
                with pytest.raises(ApiKeyNotFound):
                    call(api_keys, ours, key_id)
            api_keys.record_use(ours, key_id, LATER)
            assert api_keys.all(ours) == (key,)
