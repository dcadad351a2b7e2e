"""What outlives the process that stored it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import pytest

from recipient_fields.application import Storage

from .concurrency import counting_up, race
from .examples import LATER, NOW, a_definition, a_grant, permit, renaming


class StorageDurabilityContract:
    """A storage that is closed and opened again is the same storage."""

    rounds = 50

    @pytest.fixture
    def opened(self) -> Iterator[Callable[[], AbstractContextManager[Storage]]]:
        """Opens one and the same storage, each time it is called, until the block ends."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `opened`")

    def test_what_was_stored_is_there_again(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as storage:
            ours = storage.organizations.add("ACME", NOW).id
            field = storage.fields.add(ours, a_definition())
            storage.fields.update(ours, field.id, renaming("Town"))
            key = storage.api_keys.add(a_grant(ours))
            storage.api_keys.record_use(key.id, LATER)
            organizations = storage.organizations.all()
            catalog = storage.fields.all(ours)
            keys = storage.api_keys.all(ours)
        with opened() as storage:
            assert storage.organizations.all() == organizations
            assert storage.fields.all(ours) == catalog
            assert storage.api_keys.all(ours) == keys

    def test_the_id_of_a_deleted_field_does_not_return_either(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as storage:
            ours = storage.organizations.add("ACME", NOW).id
            field = storage.fields.add(ours, a_definition())
            storage.fields.delete(ours, field.id, permit)
            revision = storage.fields.all(ours).revision
        with opened() as storage:
            assert storage.fields.add(ours, a_definition()).id > field.id
            assert storage.fields.all(ours).revision > revision

    def test_two_that_are_open_at_once_see_each_others_changes(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as one, opened() as other:
            ours = one.organizations.add("ACME", NOW).id
            field = one.fields.add(ours, a_definition())
            changed = other.fields.update(ours, field.id, renaming("Town"))
            assert one.fields.get(ours, field.id) == changed
            one.fields.delete(ours, field.id, permit)
            assert other.fields.all(ours) == one.fields.all(ours)

    def test_two_that_are_open_at_once_lose_none_of_each_others_changes(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as one, opened() as other:
            ours = one.organizations.add("ACME", NOW).id
            field = one.fields.add(ours, a_definition(name="0"))

            def count_up(storage: Storage) -> None:
                for _ in range(self.rounds):
                    storage.fields.update(ours, field.id, counting_up("name"))

            assert race(partial(count_up, one), partial(count_up, other)) == [None, None]
            assert one.fields.get(ours, field.id).name == str(2 * self.rounds)
