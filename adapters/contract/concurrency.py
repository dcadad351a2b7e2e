"""What holds however many callers there are at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import (
    ApiKeyRepository,
    FieldChange,
    FieldRepository,
    OrganizationRepository,
    Storage,
)
from recipient_fields.domain import (
    MILLISECOND,
    AllowedValues,
    ApiKey,
    ApiKeyNotActive,
    Catalog,
    DataType,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    KeyGrant,
    KeyTaken,
    OrganizationId,
    PlainKey,
    RecipientField,
    VersionConflict,
)

from .examples import LATER, NOW, a_definition, a_grant, changing, permit, renaming
from .outcomes import attempt


def race(*calls: Callable[[], object]) -> list[Any]:
    """Make the calls at once, each in its thread; what each returned or raised, in their order."""
    start = Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        start.wait()
        return attempt(call)

    with _threads_switched_often(), ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@contextmanager
def _threads_switched_often() -> Iterator[None]:
    """Between any two bytecodes if need be, so that what is not locked is interrupted."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class Meanwhile:
    """A call made in another thread in the midst of a change, which waits a moment for its end.

    Where the change holds a lock, the call ends after it.
    """

    def __init__(self, call: Callable[[], object], moment: float) -> None:
        self._call = call
        self._moment = moment
        self._thread = Thread(target=self._run)

    def happens(self) -> None:
        """Begin the call, the first time that it is asked for."""
        if self._thread.ident is None:
            self._thread.start()
            self._thread.join(self._moment)

    def outcome(self) -> Any:
        """What it came to."""
        self._thread.join()
        return self._outcome

    def _run(self) -> None:
        self._outcome = attempt(self._call)


def counting_up(member: str) -> FieldChange:
    """The change that counts one up in that member: a lost update is a number too low."""

    def change(field: RecipientField) -> RecipientField:
        count = _count(field, member) + 1
        return changing(**{member: [count] if member == "allowed_values" else str(count)})(field)

    return change


def refuse_changed(field: RecipientField) -> None:
    """The check that lets a field go only as it was made."""
    if field.version > 1:
        raise VersionConflict(field.version_tag)


def _count(field: RecipientField, member: str) -> int:
    value = getattr(field, member)
    return int(value.values[0] if isinstance(value, AllowedValues) else value)


class ConcurrencyCases:
    """Many threads on one storage. The numbers may be raised for a longer run."""

    crowd = 50
    threads = 8
    rounds = 100
    moment = 0.1
    """The seconds that a change waits for what happens meanwhile."""

    def test_of_many_adding_one_key_exactly_one_succeeds(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        outcomes = race(*[partial(fields.add, ours, a_definition())] * self.crowd)
        (field,) = fields.all(ours).fields
        assert outcomes.count(field) == 1
        refusals = [outcome for outcome in outcomes if outcome != field]
        assert {type(refusal) for refusal in refusals} == {KeyTaken}
        assert {vars(refusal)["existing_id"] for refusal in refusals} == {field.id}

    def test_a_limit_is_exact_however_many_add_at_once(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        limit = self.crowd // 3
        outcomes = race(
            *(
                partial(fields.add, ours, a_definition(f"city_{number}"), limit=limit)
                for number in range(self.crowd)
            )
        )
        added = [outcome for outcome in outcomes if isinstance(outcome, RecipientField)]
        assert len(added) == limit
        assert set(fields.all(ours).fields) == set(added)
        refusals = [outcome for outcome in outcomes if outcome not in added]
        assert {type(refusal) for refusal in refusals} == {FieldLimitReached}

    def test_ids_are_unique_across_organizations_that_add_at_once(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        race(
            *(
                partial(fields.add, whose, a_definition(f"city_{number}"))
                for number in range(self.threads)
                for whose in (ours, theirs)
            )
        )
        ids = [field.id for whose in (ours, theirs) for field in fields.all(whose).fields]
        assert len(set(ids)) == len(ids) == 2 * self.threads

    def test_updates_of_different_members_lose_nothing(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        members = ("name", "allowed_values", "custom_insertion_code", "custom_value_expression")
        field = fields.add(
            ours,
            a_definition(
                name="0",
                data_type=DataType.NUMBER,
                allowed_values=AllowedValues(DataType.NUMBER, [0]),
                custom_insertion_code="0",
                custom_value_expression="0",
            ),
        )
        before = fields.all(ours)

        def count_up(member: str) -> None:
            for _ in range(self.rounds):
                fields.update(ours, field.id, counting_up(member))

        callers = [members[number % len(members)] for number in range(self.threads)]
        assert race(*(partial(count_up, member) for member in callers)) == [None] * self.threads
        after = fields.get(ours, field.id)
        assert {member: _count(after, member) for member in members} == {
            member: callers.count(member) * self.rounds for member in members
        }
        assert after.version == 1 + self.threads * self.rounds
        assert fields.all(ours).revision >= before.revision + self.threads * self.rounds

    def test_an_update_in_the_midst_of_another_is_not_lost(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = fields.add(ours, a_definition())
        hiding = partial(fields.update, ours, field.id, changing(insertable=False))
        meanwhile = Meanwhile(hiding, self.moment)

        def change(found: RecipientField) -> RecipientField:
            meanwhile.happens()
            return renaming("Town")(found)

        fields.update(ours, field.id, change)
        assert isinstance(meanwhile.outcome(), RecipientField)
        after = fields.get(ours, field.id)
        assert (after.name, after.insertable, after.version) == ("Town", False, 3)

    def test_a_field_deleted_in_the_midst_of_an_update_stays_deleted(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = fields.add(ours, a_definition())
        meanwhile = Meanwhile(partial(fields.delete, ours, field.id, permit), self.moment)

        def change(found: RecipientField) -> RecipientField:
            meanwhile.happens()
            return renaming("Town")(found)

        updated = attempt(lambda: fields.update(ours, field.id, change))
        assert meanwhile.outcome() is None
        assert type(updated) in {RecipientField, FieldNotFound}
        assert fields.all(ours).fields == ()

    def test_a_field_changed_in_the_midst_of_a_check_is_not_deleted_unchecked(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = fields.add(ours, a_definition())
        change = partial(fields.update, ours, field.id, renaming("Town"))
        meanwhile = Meanwhile(change, self.moment)

        def check(found: RecipientField) -> None:
            meanwhile.happens()
            refuse_changed(found)

        deleted = attempt(lambda: fields.delete(ours, field.id, check))
        changed = meanwhile.outcome()
        assert (deleted is None) is isinstance(changed, FieldNotFound)

    def test_a_use_recorded_in_the_midst_of_an_update_is_not_lost(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))
        meanwhile = Meanwhile(partial(api_keys.record_use, key.id, LATER), self.moment)

        def change(found: ApiKey) -> ApiKey:
            meanwhile.happens()
            return found.revoked(LATER)

        api_keys.update(key.id, change)
        assert meanwhile.outcome() is None
        assert api_keys.find(key.digest) == evolve(key, last_used_at=LATER, revoked_at=LATER)

    def test_an_update_never_brings_a_deleted_field_back(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for _ in range(self.rounds // 5):
            field = fields.add(ours, a_definition())
            update = partial(fields.update, ours, field.id, renaming("Town"))
            *updates, deletion = race(*[update] * 3, partial(fields.delete, ours, field.id, permit))
            assert deletion is None
            assert {type(update) for update in updates} <= {RecipientField, FieldNotFound}
            assert fields.all(ours).fields == ()
            with pytest.raises(FieldNotFound):
                fields.get(ours, field.id)

    def test_of_many_deleting_one_field_exactly_one_succeeds(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = fields.add(ours, a_definition())
        outcomes = race(*[partial(fields.delete, ours, field.id, permit)] * self.threads)
        assert outcomes.count(None) == 1
        assert [type(outcome) for outcome in outcomes].count(FieldNotFound) == self.threads - 1

    def test_a_deletion_is_checked_against_the_field_it_removes(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for _ in range(self.rounds // 5):
            field = fields.add(ours, a_definition())
            update, deletion = race(
                partial(fields.update, ours, field.id, renaming("Town")),
                partial(fields.delete, ours, field.id, refuse_changed),
            )
            assert isinstance(update, FieldNotFound) is (deletion is None)
            for left in fields.all(ours).fields:
                assert left == update
                fields.delete(ours, left.id, permit)

    def test_a_reader_sees_only_catalogs_that_there_were(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        """A single writer notes every catalog there is: of each revision there is exactly one."""
        written = [fields.all(ours)]
        done = Event()

        def write() -> list[Catalog]:
            try:
                for number in range(self.rounds // 4):
                    fields.add(ours, a_definition(f"city_{number}"))
                    written.append(fields.all(ours))
                    fields.update(ours, FieldKey("city_0"), renaming(f"City {number + 1}"))
                    written.append(fields.all(ours))
                    if number % 2:
                        fields.delete(ours, FieldKey(f"city_{number}"), permit)
                        written.append(fields.all(ours))
            finally:
                done.set()
            return written

        def read() -> list[Catalog]:
            seen = [fields.all(ours)]
            while not done.is_set():
                seen.append(fields.all(ours))
            return seen

        for seen in race(write, *[read] * (self.threads // 2)):
            revisions = [catalog.revision for catalog in seen]
            assert revisions == sorted(revisions)
            there_were = {catalog.revision: catalog for catalog in written}
            assert all(catalog == there_were.get(catalog.revision) for catalog in seen)

    def test_of_many_rotating_one_key_away_exactly_one_succeeds(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))

        def succession(found: ApiKey) -> tuple[ApiKey, KeyGrant]:
            return found.succeeded(PlainKey.generate(), at=LATER, grace=timedelta())

        outcomes = race(*[partial(api_keys.rotate, key.id, succession)] * self.threads)
        (pair,) = (outcome for outcome in outcomes if isinstance(outcome, tuple))
        assert set(api_keys.all(ours)) == set(pair)
        assert [type(outcome) for outcome in outcomes].count(ApiKeyNotActive) == self.threads - 1

    def test_uses_recorded_at_once_leave_the_latest_and_the_revocation(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))
        instants = [NOW + number * MILLISECOND for number in range(self.threads)]

        def revoke() -> None:
            api_keys.update(key.id, lambda found: found.revoked(LATER))

        uses = [partial(api_keys.record_use, key.id, at) for at in instants]
        assert race(*uses, revoke) == [None] * (self.threads + 1)
        assert api_keys.find(key.digest) == evolve(key, last_used_at=instants[-1], revoked_at=LATER)

    def test_organizations_made_at_once_are_all_there(
        self, organizations: OrganizationRepository
    ) -> None:
        before = organizations.all()
        made = race(*[partial(organizations.add, "ACME", NOW)] * self.threads)
        assert set(organizations.all()) == {*before, *made}
        assert len(set(made)) == self.threads

    def test_a_storage_serves_more_threads_than_it_has_ever_seen(
        self, storage: Storage, ours: OrganizationId
    ) -> None:
        catalog = storage.fields.all(ours)
        for _ in range(3):
            assert race(*[partial(storage.fields.all, ours)] * self.crowd) == [catalog] * self.crowd
        storage.check()
