"""Cases with concurrent calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain
from threading import Barrier, Event, Thread
from typing import Any, ParamSpec, TypeVar

import pytest

from recipient_fields.application import (
    FieldRepository,
    OrganizationRepository,
    PublishedCatalog,
    Storage,
)
from recipient_fields.domain import (
    AllowedValues,
    ApiKeyNotActive,
    ApiKeyNotFound,
    Catalog,
    DataType,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    KeyTaken,
    LinkNotValid,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
    VersionConflict,
)

from .assertions import assert_published, attempt, retry_slow_call
from .examples import (
    NOW,
    FieldChange,
    a_definition,
    changing,
    permit_organization,
    renaming,
)
from .field_changes import add_field, delete_field, update_field
from .organizations import assert_gone

T = TypeVar("T")
P = ParamSpec("P")


def race(*calls: Callable[[], object]) -> list[Any]:
    """Make the calls concurrently, one thread each, and return their results or errors in order.

    Each call is retried once if it is slow, as `retry_slow_call` does.
    """
    start = Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        start.wait()
        return attempt(partial(retry_slow_call, call))

    with _frequent_thread_switches(), ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def read_during(write: Callable[[], object], read: Callable[[], T], readers: int) -> list[list[T]]:
    """Read again and again in several threads until `write` returns. Return what each has read."""
    done = Event()

    def write_all() -> None:
        try:
            write()
        finally:
            done.set()

    def read_all() -> list[T]:
        seen = [read()]
        while not done.is_set():
            seen.append(read())
        return seen

    written, *results = race(write_all, *[read_all] * readers)
    assert written is None
    return results


def assert_one_succeeded(
    outcomes: Sequence[object], success: type[T], refusal: type[Exception]
) -> T:
    """Return the only result. Assert that all other calls have raised this error."""
    (result,) = (outcome for outcome in outcomes if isinstance(outcome, success))
    assert [type(each) for each in outcomes].count(refusal) == len(outcomes) - 1
    return result


@contextmanager
def _frequent_thread_switches() -> Iterator[None]:
    """Switch threads as often as possible, so that races become likely."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class ConcurrentCall:
    """A call of another thread during a change, which waits up to `max_wait` seconds for it.

    If the change holds a lock, the call ends after the change.
    """

    def __init__(self, call: Callable[[], object], max_wait: float) -> None:
        self._call = call
        self._max_wait = max_wait
        self._thread = Thread(target=self._run)

    def start(self) -> None:
        """Start the call, unless it has been started."""
        if self._thread.ident is None:
            self._thread.start()
            self._thread.join(self._max_wait)

    def before(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return the function, which starts the call first."""

        def called(*arguments: P.args, **named: P.kwargs) -> T:
            self.start()
            return function(*arguments, **named)

        return called

    def after(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return the function, which starts the call when it has its result."""

        def called(*arguments: P.args, **named: P.kwargs) -> T:
            returned = function(*arguments, **named)
            self.start()
            return returned

        return called

    def result(self) -> Any:
        """Return the result or the error of the call."""
        self._thread.join()
        return self._outcome

    def _run(self) -> None:
        self._outcome = attempt(partial(retry_slow_call, self._call))


def increment(member: str) -> FieldChange:
    """Return a change that adds 1 to the number in the member, to detect lost updates."""

    def change(field: RecipientField) -> RecipientField:
        count = _count(field, member) + 1
        return changing(**{member: [count] if member == "allowed_values" else str(count)})(field)

    return change


def reject_changed(field: RecipientField) -> None:
    """Permit the deletion of a field only if it has not been changed."""
    if field.version > 1:
        raise VersionConflict(field.version_tag)


def assert_result_of(result: Catalog | PublishedCatalog | FieldPage, catalog: Catalog) -> None:
    """Assert that the result of a read is consistent with the catalog."""
    if isinstance(result, PublishedCatalog):
        assert_published(result, catalog)
    elif isinstance(result, FieldPage):
        assert result == FieldQuery().select(catalog)
    else:
        assert result == catalog


def _count(field: RecipientField, member: str) -> int:
    value = getattr(field, member)
    return int(value.values[0] if isinstance(value, AllowedValues) else value)


class ConcurrentLoad:
    """The load of cases with many threads on one storage. Increase it for a longer run."""

    concurrent_calls = 50
    threads = 8
    rounds = 100
    max_wait: float = 0.1
    """Seconds that a change waits for a concurrent call."""

    def _other_call(self, call: Callable[..., object], *arguments: object) -> ConcurrentCall:
        """Return a call of another thread, for which a change waits."""
        return ConcurrentCall(partial(call, *arguments), self.max_wait)


class ConcurrencyCases(ConcurrentLoad):
    """Cases for concurrent changes of organizations and fields."""

    def test_exactly_one_concurrent_addition_of_a_key_succeeds(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        outcomes = race(*[partial(add_field, fields, ours, a_definition())] * self.concurrent_calls)
        field = assert_one_succeeded(outcomes, RecipientField, KeyTaken)
        assert fields.all(ours).fields == (field,)
        refusals = [outcome for outcome in outcomes if outcome != field]
        assert {refusal.existing_id for refusal in refusals} == {field.id}

    def test_the_field_limit_is_exact_under_concurrent_additions(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        limit = self.concurrent_calls // 3
        outcomes = race(
            *(
                partial(add_field, fields, ours, a_definition(f"city_{number}"), limit=limit)
                for number in range(self.concurrent_calls)
            )
        )
        added = [outcome for outcome in outcomes if isinstance(outcome, RecipientField)]
        assert len(added) == limit
        assert set(fields.all(ours).fields) == set(added)
        refusals = [outcome for outcome in outcomes if outcome not in added]
        assert {type(refusal) for refusal in refusals} == {FieldLimitReached}

    def test_ids_are_unique_across_organizations_under_concurrent_additions(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        race(
            *(
                partial(add_field, fields, organization, a_definition(f"city_{number}"))
                for number in range(self.threads)
                for organization in (ours, theirs)
            )
        )
        ids = [
            field.id for organization in (ours, theirs) for field in fields.all(organization).fields
        ]
        assert len(set(ids)) == len(ids) == 2 * self.threads

    def test_concurrent_updates_of_different_members_lose_nothing(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        members = ("name", "allowed_values", "custom_insertion_code", "custom_value_expression")
        field = add_field(
            fields,
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
                retry_slow_call(update_field, fields, ours, field.id, increment(member))

        callers = [members[number % len(members)] for number in range(self.threads)]
        assert race(*(partial(count_up, member) for member in callers)) == [None] * self.threads
        after = fields.get(ours, field.id)
        assert {member: _count(after, member) for member in members} == {
            member: callers.count(member) * self.rounds for member in members
        }
        assert after.version == 1 + self.threads * self.rounds
        assert fields.all(ours).revision >= before.revision + self.threads * self.rounds

    def test_an_update_during_another_update_is_not_lost(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        hiding = changing(insertable=False)
        other_call = self._other_call(update_field, fields, ours, field.id, hiding)
        update_field(fields, ours, field.id, other_call.before(renaming("Town")))
        assert isinstance(other_call.result(), RecipientField)
        after = fields.get(ours, field.id)
        assert (after.name, after.insertable, after.version) == ("Town", False, 3)

    def test_a_field_deleted_during_an_update_stays_deleted(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        other_call = self._other_call(delete_field, fields, ours, field.id)
        change = other_call.before(renaming("Town"))
        updated = attempt(partial(update_field, fields, ours, field.id, change))
        assert other_call.result() is None
        assert type(updated) in {RecipientField, FieldNotFound}
        assert fields.all(ours).fields == ()

    def test_a_field_changed_during_a_check_is_not_deleted_unchecked(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        other_call = self._other_call(update_field, fields, ours, field.id, renaming("Town"))
        check = other_call.before(reject_changed)
        deleted = attempt(partial(delete_field, fields, ours, field.id, check))
        changed = other_call.result()
        assert (deleted is None) is isinstance(changed, FieldNotFound)

    def test_an_update_never_restores_a_deleted_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for _ in range(self.rounds // 5):
            field = add_field(fields, ours, a_definition())
            update = partial(update_field, fields, ours, field.id, renaming("Town"))
            delete = partial(delete_field, fields, ours, field.id)
            *updates, deletion = race(*[update] * 3, delete)
            assert deletion is None
            assert {type(update) for update in updates} <= {RecipientField, FieldNotFound}
            assert fields.all(ours).fields == ()
            with pytest.raises(FieldNotFound):
                fields.get(ours, field.id)

    def test_exactly_one_concurrent_deletion_of_a_field_succeeds(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition())
        outcomes = race(*[partial(delete_field, fields, ours, field.id)] * self.threads)
        assert outcomes.count(None) == 1
        assert [type(outcome) for outcome in outcomes].count(FieldNotFound) == self.threads - 1

    def test_a_deletion_is_checked_against_the_field_it_removes(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for _ in range(self.rounds // 5):
            field = add_field(fields, ours, a_definition())
            update, deletion = race(
                partial(update_field, fields, ours, field.id, renaming("Town")),
                partial(delete_field, fields, ours, field.id, reject_changed),
            )
            assert isinstance(update, FieldNotFound) is (deletion is None)
            for remaining in fields.all(ours).fields:
                assert remaining == update
                delete_field(fields, ours, remaining.id)

    def test_a_reader_sees_only_committed_catalogs(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        """A single writer records every catalog: each revision has exactly one."""
        written = [fields.all(ours)]
        reads: tuple[Callable[[OrganizationId], Catalog | PublishedCatalog | FieldPage], ...] = (
            fields.all,
            fields.publish,
            lambda organization: fields.select(organization, FieldQuery()),
        )

        def write() -> None:
            for number in range(self.rounds // 4):
                add_field(fields, ours, a_definition(f"city_{number}"))
                written.append(fields.all(ours))
                update_field(fields, ours, FieldKey("city_0"), renaming(f"City {number + 1}"))
                written.append(fields.all(ours))
                if number % 2:
                    delete_field(fields, ours, FieldKey(f"city_{number}"))
                    written.append(fields.all(ours))

        def read() -> list[Catalog | PublishedCatalog | FieldPage]:
            return [each(ours) for each in reads]

        all_seen = read_during(write, read, self.threads // 2)
        all_seen.append([[*written]])
        by_revision = {catalog.revision: catalog for catalog in written}
        for seen in all_seen:
            catalogs = [*chain.from_iterable(seen)]
            revisions = [each.revision for each in catalogs]
            assert revisions == sorted(revisions)
            assert set(revisions) <= set(by_revision)
            for each in catalogs:
                assert_result_of(each, by_revision[each.revision])

    def test_organizations_added_concurrently_are_all_stored(
        self, organizations: OrganizationRepository
    ) -> None:
        before = organizations.all()
        added = race(*[partial(organizations.add, "ACME", NOW)] * self.threads)
        assert set(organizations.all()) == {*before, *added}
        assert len(set(added)) == self.threads

    def test_a_storage_serves_many_new_threads(
        self, storage: Storage, ours: OrganizationId
    ) -> None:
        catalog = storage.fields.all(ours)
        for _ in range(3):
            assert (
                race(*[partial(storage.fields.all, ours)] * self.concurrent_calls)
                == [catalog] * self.concurrent_calls
            )
        storage.check()

    def test_exactly_one_concurrent_deletion_of_an_organization_succeeds(
        self, organizations: OrganizationRepository, ours: OrganizationId
    ) -> None:
        outcomes = race(*[partial(organizations.delete, ours, permit_organization)] * self.threads)
        assert_one_succeeded(outcomes, OrganizationContents, OrganizationNotFound)

    def test_a_field_added_during_the_deletion_of_its_organization_is_not_kept(
        self, storage: Storage, ours: OrganizationId
    ) -> None:
        assert_not_kept(storage, ours, partial(_add_city, storage, ours), self.max_wait)

    def test_deleting_an_organization_deletes_fields_that_are_added_concurrently(
        self, storage: Storage, ours: OrganizationId
    ) -> None:
        assert_deleted_with(storage, ours, [partial(_add_city, storage, ours)] * self.threads)


def _add_city(storage: Storage, organization_id: OrganizationId) -> None:
    add_field(storage.fields, organization_id, a_definition())


def assert_not_kept(
    storage: Storage, ours: OrganizationId, addition: Callable[[], object], max_wait: float
) -> None:
    """Assert that no row is left of a call that adds it while its organization is deleted."""
    other_call = ConcurrentCall(addition, max_wait)
    checked: list[OrganizationContents] = []
    deleted = storage.organizations.delete(ours, other_call.before(checked.append))
    assert deleted == checked[-1]
    outcome = other_call.result()
    if isinstance(outcome, Exception):
        assert type(outcome) in {OrganizationNotFound, ApiKeyNotFound}
        assert deleted == checked[0]
    assert_gone(storage, ours)


def assert_deleted_with(
    storage: Storage, ours: OrganizationId, additions: Sequence[Callable[[], object]]
) -> None:
    """Assert that no row is left of calls that add rows while their organization is deleted."""
    *outcomes, deleted = race(
        *additions, partial(storage.organizations.delete, ours, permit_organization)
    )
    assert isinstance(deleted, OrganizationContents)
    refusals = {type(outcome) for outcome in outcomes if isinstance(outcome, Exception)}
    assert refusals <= {
        OrganizationNotFound,
        ApiKeyNotFound,
        KeyTaken,
        ApiKeyNotActive,
        LinkNotValid,
    }
    assert_gone(storage, ours)
