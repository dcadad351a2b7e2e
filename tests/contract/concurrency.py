"""Cases with concurrent calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from threading import Barrier, Event, Thread
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import (
    ApiKeyRepository,
    FieldRepository,
    IntegrationRepository,
    OrganizationRepository,
    PublishedCatalog,
    Storage,
)
from recipient_fields.domain import (
    MILLISECOND,
    AllowedValues,
    ApiKey,
    ApiKeyNotActive,
    ApiKeyNotFound,
    Catalog,
    DataType,
    EmailAddress,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    FieldReference,
    FoundKey,
    KeyGrant,
    KeyTaken,
    LinkNotValid,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    PlainKey,
    RecipientField,
    VersionConflict,
)
from recipient_fields.domain.esp import EspField, Integration, IntegrationNotFound, SyncPlan

from .assertions import assert_found, assert_published, attempt, retry_slow_call
from .examples import (
    AUTHOR,
    LATER,
    NOW,
    FieldChange,
    a_definition,
    a_grant,
    an_esp_field,
    an_integration_draft,
    an_invitation_draft,
    changing,
    grant,
    permit,
    permit_integration,
    permit_organization,
    renaming,
    reporting,
)
from .field_changes import add_field, delete_field, update_field
from .organizations import assert_gone


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


REPORTS: tuple[tuple[EspField, ...], ...] = (
    tuple(an_esp_field(f"CITY_{number}", label="Here") for number in range(12)),
    tuple(an_esp_field(f"CITY_{number}", label="There") for number in range(6, 18)),
)
"""Two lists of an ESP. From one to the other, fields are removed, changed and added."""


def names_of(fields: Iterable[RecipientField], integration: Integration) -> list[tuple[str, str]]:
    """Return the ESP names and the names of the integration's fields."""
    return sorted(
        (str(field.origin.esp_field_name), str(field.name))
        for field in fields
        if integration.channel.owns(field.origin)
    )


def is_one_report(names: list[tuple[str, str]]) -> bool:
    """Return whether the names are those of one complete report, or of none."""
    whole = [sorted((each.name, str(each.label)) for each in report) for report in REPORTS]
    return names in ([], *whole)


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


Addition: TypeAlias = Callable[[Storage, ApiKey], object]

ADDITIONS: dict[str, Addition] = {
    "fields.add": lambda storage, key: add_field(
        storage.fields, key.organization_id, a_definition(), author=AUTHOR
    ),
    "api_keys.add": lambda storage, key: storage.api_keys.add(a_grant(key.organization_id)),
    "api_keys.rotate": lambda storage, key: storage.api_keys.rotate(
        key.organization_id,
        key.id,
        lambda found: found.rotated(PlainKey.generate(), at=LATER, grace=timedelta()),
    ),
    "integrations.add": lambda storage, key: storage.integrations.add(
        key.organization_id, an_integration_draft()
    ),
    "administrators.invite": lambda storage, key: storage.administrators.invite(
        key.organization_id, an_invitation_draft(EmailAddress("dana@acme.example"))
    ),
    "administrators.accept_invitation": lambda storage, key: grant(
        storage.administrators, key.organization_id
    ),
}
"""Every method that adds a row to the organization of an API key."""


class ConcurrencyCases:
    """Cases with many threads on one storage. Increase the numbers for a longer run."""

    concurrent_calls = 50
    threads = 8
    rounds = 100
    max_wait: float = 0.1
    """Seconds that a change waits for a concurrent call."""

    def test_exactly_one_concurrent_addition_of_a_key_succeeds(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        outcomes = race(
            *[partial(add_field, fields, ours, a_definition(), author=AUTHOR)]
            * self.concurrent_calls
        )
        (field,) = fields.all(ours).fields
        assert outcomes.count(field) == 1
        refusals = [outcome for outcome in outcomes if outcome != field]
        assert {type(refusal) for refusal in refusals} == {KeyTaken}
        assert {vars(refusal)["existing_id"] for refusal in refusals} == {field.id}

    def test_the_field_limit_is_exact_under_concurrent_additions(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        limit = self.concurrent_calls // 3
        outcomes = race(
            *(
                partial(
                    add_field,
                    fields,
                    ours,
                    a_definition(f"city_{number}"),
                    limit=limit,
                    author=AUTHOR,
                )
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
                partial(
                    add_field, fields, organization, a_definition(f"city_{number}"), author=AUTHOR
                )
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
            author=AUTHOR,
        )
        before = fields.all(ours)

        def count_up(member: str) -> None:
            for _ in range(self.rounds):
                retry_slow_call(
                    update_field, fields, ours, field.id, increment(member), author=AUTHOR
                )

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
        field = add_field(fields, ours, a_definition(), author=AUTHOR)
        hiding = partial(
            update_field, fields, ours, field.id, changing(insertable=False), author=AUTHOR
        )
        other_call = ConcurrentCall(hiding, self.max_wait)

        def change(found: RecipientField) -> RecipientField:
            other_call.start()
            return renaming("Town")(found)

        update_field(fields, ours, field.id, change, author=AUTHOR)
        assert isinstance(other_call.result(), RecipientField)
        after = fields.get(ours, field.id)
        assert (after.name, after.insertable, after.version) == ("Town", False, 3)

    def test_a_field_deleted_during_an_update_stays_deleted(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition(), author=AUTHOR)
        other_call = ConcurrentCall(
            partial(delete_field, fields, ours, field.id, permit, author=AUTHOR, at=LATER),
            self.max_wait,
        )

        def change(found: RecipientField) -> RecipientField:
            other_call.start()
            return renaming("Town")(found)

        updated = attempt(lambda: update_field(fields, ours, field.id, change, author=AUTHOR))
        assert other_call.result() is None
        assert type(updated) in {RecipientField, FieldNotFound}
        assert fields.all(ours).fields == ()

    def test_a_field_changed_during_a_check_is_not_deleted_unchecked(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition(), author=AUTHOR)
        change = partial(update_field, fields, ours, field.id, renaming("Town"), author=AUTHOR)
        other_call = ConcurrentCall(change, self.max_wait)

        def check(found: RecipientField) -> None:
            other_call.start()
            reject_changed(found)

        deleted = attempt(
            lambda: delete_field(fields, ours, field.id, check, author=AUTHOR, at=LATER)
        )
        changed = other_call.result()
        assert (deleted is None) is isinstance(changed, FieldNotFound)

    def test_a_use_recorded_during_an_update_is_not_lost(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))
        other_call = ConcurrentCall(
            partial(api_keys.record_use, ours, key.id, LATER), self.max_wait
        )

        def change(found: ApiKey) -> ApiKey:
            other_call.start()
            return found.revoked(LATER)

        api_keys.update(ours, key.id, change)
        assert other_call.result() is None
        assert_found(api_keys, evolve(key, last_used_at=LATER, revoked_at=LATER))

    def test_an_update_never_restores_a_deleted_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for _ in range(self.rounds // 5):
            field = add_field(fields, ours, a_definition(), author=AUTHOR)
            update = partial(update_field, fields, ours, field.id, renaming("Town"), author=AUTHOR)
            delete = partial(delete_field, fields, ours, field.id, permit, author=AUTHOR, at=LATER)
            *updates, deletion = race(*[update] * 3, delete)
            assert deletion is None
            assert {type(update) for update in updates} <= {RecipientField, FieldNotFound}
            assert fields.all(ours).fields == ()
            with pytest.raises(FieldNotFound):
                fields.get(ours, field.id)

    def test_exactly_one_concurrent_deletion_of_a_field_succeeds(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        field = add_field(fields, ours, a_definition(), author=AUTHOR)
        outcomes = race(
            *[partial(delete_field, fields, ours, field.id, permit, author=AUTHOR, at=LATER)]
            * self.threads
        )
        assert outcomes.count(None) == 1
        assert [type(outcome) for outcome in outcomes].count(FieldNotFound) == self.threads - 1

    def test_a_deletion_is_checked_against_the_field_it_removes(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for _ in range(self.rounds // 5):
            field = add_field(fields, ours, a_definition(), author=AUTHOR)
            update, deletion = race(
                partial(update_field, fields, ours, field.id, renaming("Town"), author=AUTHOR),
                partial(
                    delete_field,
                    fields,
                    ours,
                    field.id,
                    reject_changed,
                    author=AUTHOR,
                    at=LATER,
                ),
            )
            assert isinstance(update, FieldNotFound) is (deletion is None)
            for remaining in fields.all(ours).fields:
                assert remaining == update
                delete_field(fields, ours, remaining.id, permit, author=AUTHOR, at=LATER)

    def test_a_reader_sees_only_committed_catalogs(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        """A single writer records every catalog: each revision has exactly one."""
        written = [fields.all(ours)]
        done = Event()
        reads: tuple[Callable[[OrganizationId], Catalog | PublishedCatalog | FieldPage], ...] = (
            fields.all,
            fields.publish,
            lambda organization: fields.select(organization, FieldQuery()),
        )

        def write() -> list[Catalog]:
            try:
                for number in range(self.rounds // 4):
                    add_field(fields, ours, a_definition(f"city_{number}"), author=AUTHOR)
                    written.append(fields.all(ours))
                    update_field(
                        fields,
                        ours,
                        FieldKey("city_0"),
                        renaming(f"City {number + 1}"),
                        author=AUTHOR,
                    )
                    written.append(fields.all(ours))
                    if number % 2:
                        delete_field(
                            fields,
                            ours,
                            FieldKey(f"city_{number}"),
                            permit,
                            author=AUTHOR,
                            at=LATER,
                        )
                        written.append(fields.all(ours))
            finally:
                done.set()
            return written

        def read() -> list[Catalog | PublishedCatalog | FieldPage]:
            seen = [each(ours) for each in reads]
            while not done.is_set():
                seen += [each(ours) for each in reads]
            return seen

        for seen in race(write, *[read] * (self.threads // 2)):
            revisions = [each.revision for each in seen]
            assert revisions == sorted(revisions)
            by_revision = {catalog.revision: catalog for catalog in written}
            assert set(revisions) <= set(by_revision)
            for each in seen:
                assert_result_of(each, by_revision[each.revision])

    def test_a_look_up_returns_a_key_and_a_revision_of_the_same_moment(
        self, fields: FieldRepository, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        """A single writer records every key with its revision."""
        key = api_keys.add(a_grant(ours))
        field = add_field(fields, ours, a_definition(), author=AUTHOR)
        states = {api_keys.find(key.digest)}
        done = Event()

        def write() -> None:
            try:
                for number in range(self.rounds // 2):
                    api_keys.record_use(ours, key.id, NOW + number * MILLISECOND)
                    states.add(api_keys.find(key.digest))
                    update_field(fields, ours, field.id, renaming(f"City {number}"), author=AUTHOR)
                    states.add(api_keys.find(key.digest))
            finally:
                done.set()

        def read() -> set[FoundKey | None]:
            seen = {api_keys.find(key.digest)}
            while not done.is_set():
                seen.add(api_keys.find(key.digest))
            return seen

        _, *readers = race(write, *[read] * (self.threads // 2))
        for seen in readers:
            assert seen <= states

    def test_exactly_one_concurrent_rotation_of_a_key_succeeds(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))

        def succession(found: ApiKey) -> tuple[ApiKey, KeyGrant]:
            return found.rotated(PlainKey.generate(), at=LATER, grace=timedelta())

        outcomes = race(*[partial(api_keys.rotate, ours, key.id, succession)] * self.threads)
        (pair,) = (outcome for outcome in outcomes if isinstance(outcome, tuple))
        assert set(api_keys.all(ours)) == set(pair)
        assert [type(outcome) for outcome in outcomes].count(ApiKeyNotActive) == self.threads - 1

    def test_concurrent_uses_keep_the_latest_use_and_the_revocation(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))
        instants = [NOW + number * MILLISECOND for number in range(self.threads)]

        def revoke() -> None:
            api_keys.update(ours, key.id, lambda found: found.revoked(LATER))

        uses = [partial(api_keys.record_use, ours, key.id, at) for at in instants]
        assert race(*uses, revoke) == [None] * (self.threads + 1)
        assert_found(api_keys, evolve(key, last_used_at=instants[-1], revoked_at=LATER))

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

    def test_concurrent_sync_runs_and_api_calls_lose_nothing(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        """The calls and the runs compete for the same keys."""
        one, other = (integrations.add(ours, an_integration_draft()) for _ in range(2))
        rounds = self.rounds // 4
        counter = add_field(fields, ours, a_definition("counter", name="0"), author=AUTHOR)

        def sync(integration: Integration) -> None:
            for number in range(rounds):
                report = reporting(*REPORTS[number % 2])
                retry_slow_call(
                    integrations.sync, ours, integration.id, report, author=AUTHOR, at=LATER
                )

        def create() -> list[FieldReference]:
            kept: list[FieldReference] = []
            for number in range(rounds):
                try:
                    field = retry_slow_call(
                        add_field, fields, ours, a_definition(f"city_{number % 20}"), author=AUTHOR
                    )
                except KeyTaken:
                    continue
                if number % 2:
                    retry_slow_call(
                        delete_field, fields, ours, field.id, permit, author=AUTHOR, at=LATER
                    )
                else:
                    kept.append(field.id)
            return kept

        def count_up() -> None:
            for _ in range(rounds):
                retry_slow_call(
                    update_field, fields, ours, counter.id, increment("name"), author=AUTHOR
                )

        outcomes = race(partial(sync, one), partial(sync, other), create, create, count_up)
        assert [outcomes[index] for index in (0, 1, 4)] == [None, None, None]
        stored = fields.all(ours).fields
        assert {*outcomes[2], *outcomes[3], counter.id} == {
            field.id for field in stored if field.origin.integration_id is None
        }
        assert fields.get(ours, counter.id).name == str(rounds)
        assert len({field.key for field in stored}) == len(stored)
        for integration in (one, other):
            plan = integrations.sync(
                ours, integration.id, reporting(*REPORTS[(rounds - 1) % 2]), author=AUTHOR, at=LATER
            )
            rejected = [each.name for each in plan.refused]
            expected = [
                (each.name, str(each.label))
                for each in REPORTS[(rounds - 1) % 2]
                if each.name not in rejected
            ]
            assert names_of(fields.all(ours).fields, integration) == sorted(expected)

    def test_concurrent_sync_runs_of_one_integration_are_serialized(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())

        def sync(first: int) -> list[SyncPlan]:
            return [
                retry_slow_call(
                    integrations.sync,
                    ours,
                    integration.id,
                    reporting(*REPORTS[number % 2]),
                    author=AUTHOR,
                    at=LATER,
                )
                for number in range(first, first + self.rounds // 10)
            ]

        plans = [plan for plans in race(*map(partial(partial, sync), range(4))) for plan in plans]
        stored = fields.all(ours).fields
        assert names_of(stored, integration)
        assert is_one_report(names_of(stored, integration))
        created = [each for plan in plans for each in plan.created]
        removed = [each.id for plan in plans for each in plan.removed]
        assert len(set(removed)) == len(removed) == len(created) - len(stored)

    def test_a_reader_sees_the_catalog_before_or_after_a_sync_run(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        """A single writer records every catalog: each revision has exactly one."""
        integration = integrations.add(ours, an_integration_draft())
        written = [fields.all(ours)]
        done = Event()

        def write() -> list[Catalog]:
            try:
                for number in range(self.rounds // 4):
                    integrations.sync(
                        ours,
                        integration.id,
                        reporting(*REPORTS[number % 2]),
                        author=AUTHOR,
                        at=LATER,
                    )
                    written.append(fields.all(ours))
                integrations.delete(
                    ours, integration.id, permit_integration, author=AUTHOR, at=LATER
                )
                written.append(fields.all(ours))
            finally:
                done.set()
            return written

        def read() -> list[Catalog]:
            seen = [fields.all(ours)]
            while not done.is_set():
                seen.append(fields.all(ours))
                page = fields.select(ours, FieldQuery())
                assert page.total == len(page.fields)
                seen.append(Catalog(ours, page.revision, page.fields))
            return seen

        by_revision = None
        for seen in race(write, *[read] * (self.threads // 2)):
            by_revision = by_revision or {catalog.revision: catalog for catalog in written}
            revisions = [catalog.revision for catalog in seen]
            assert revisions == sorted(revisions)
            for catalog in seen:
                assert is_one_report(names_of(catalog.fields, integration))
                assert set(catalog.fields) == set(by_revision[catalog.revision].fields)

    def test_a_field_added_during_a_sync_run_takes_no_key_of_the_run(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        other_call = ConcurrentCall(
            partial(add_field, fields, ours, a_definition("city"), author=AUTHOR), self.max_wait
        )

        def planner(found: Integration, catalog: tuple[RecipientField, ...]) -> SyncPlan:
            plan = reporting(an_esp_field("CITY"))(found, catalog)
            other_call.start()
            return plan

        integrations.sync(ours, integration.id, planner, author=AUTHOR, at=LATER)
        outcome = other_call.result()
        stored = fields.all(ours).fields
        assert names_of(stored, integration) == [("CITY", "CITY")]
        assert len({field.key for field in stored}) == len(stored)
        assert outcome in stored if isinstance(outcome, RecipientField) else len(stored) == 1
        assert type(outcome) in {RecipientField, KeyTaken}

    def test_a_field_added_during_a_deletion_is_not_deleted_unchecked(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        run = partial(
            integrations.sync,
            ours,
            integration.id,
            reporting(an_esp_field("CITY")),
            author=AUTHOR,
            at=LATER,
        )
        other_call = ConcurrentCall(run, self.max_wait)
        checked: list[tuple[RecipientField, ...]] = []

        def check(found: tuple[RecipientField, ...]) -> None:
            other_call.start()
            checked.append(found)

        removed = integrations.delete(ours, integration.id, check, author=AUTHOR, at=LATER)
        assert removed == checked[-1]
        assert type(other_call.result()) in {SyncPlan, IntegrationNotFound}
        assert bool(removed) is isinstance(other_call.result(), SyncPlan)
        assert fields.all(ours).fields == ()
        assert integrations.all(ours) == ()

    def test_an_integration_deleted_during_a_sync_run_leaves_no_field(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        deletion = partial(
            integrations.delete, ours, integration.id, permit_integration, author=AUTHOR, at=LATER
        )
        other_call = ConcurrentCall(deletion, self.max_wait)

        def planner(found: Integration, catalog: tuple[RecipientField, ...]) -> SyncPlan:
            other_call.start()
            return reporting(an_esp_field("CITY"))(found, catalog)

        synced = attempt(
            lambda: integrations.sync(ours, integration.id, planner, author=AUTHOR, at=LATER)
        )
        assert type(synced) in {SyncPlan, IntegrationNotFound}
        assert isinstance(other_call.result(), tuple)
        assert fields.all(ours).fields == ()
        assert integrations.all(ours) == ()

    def test_a_rename_during_a_sync_run_is_not_lost(
        self, integrations: IntegrationRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        rename = partial(integrations.rename, ours, integration.id, "Other")
        other_call = ConcurrentCall(rename, self.max_wait)

        def planner(found: Integration, catalog: tuple[RecipientField, ...]) -> SyncPlan:
            other_call.start()
            return reporting()(found, catalog)

        integrations.sync(ours, integration.id, planner, author=AUTHOR, at=LATER)
        assert isinstance(other_call.result(), Integration)
        expected = evolve(integration, name="Other", last_synced_at=LATER)
        assert integrations.get(ours, integration.id) == expected

    @pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
    def test_a_row_added_during_the_deletion_of_its_organization_is_not_kept(
        self, storage: Storage, ours: OrganizationId, addition: Addition
    ) -> None:
        key = storage.api_keys.add(a_grant(ours))
        other_call = ConcurrentCall(partial(addition, storage, key), self.max_wait)
        checked: list[OrganizationContents] = []

        def check(contents: OrganizationContents) -> None:
            other_call.start()
            checked.append(contents)

        deleted = storage.organizations.delete(ours, check)
        assert deleted == checked[-1]
        outcome = other_call.result()
        if isinstance(outcome, Exception):
            assert type(outcome) in {OrganizationNotFound, ApiKeyNotFound}
            assert deleted == OrganizationContents(
                fields=0, api_keys=1, integrations=0, administrators=0
            )
        assert_gone(storage, ours)

    @pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
    def test_deleting_an_organization_deletes_rows_that_are_added_concurrently(
        self, storage: Storage, ours: OrganizationId, addition: Addition
    ) -> None:
        key = storage.api_keys.add(a_grant(ours))
        deletion = partial(storage.organizations.delete, ours, permit_organization)
        adding = partial(addition, storage, key)
        *outcomes, deleted = race(*[adding] * self.threads, deletion)
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
        assert storage.api_keys.find(key.digest) is None

    def test_an_organization_deleted_during_a_rotation_leaves_no_key(
        self, storage: Storage, ours: OrganizationId
    ) -> None:
        key = storage.api_keys.add(a_grant(ours))
        plain = PlainKey.generate()
        deletion = partial(storage.organizations.delete, ours, permit_organization)
        other_call = ConcurrentCall(deletion, self.max_wait)

        def succession(found: ApiKey) -> tuple[ApiKey, KeyGrant]:
            other_call.start()
            return found.rotated(plain, at=LATER, grace=timedelta())

        rotated = attempt(lambda: storage.api_keys.rotate(ours, key.id, succession))
        assert isinstance(rotated, tuple | ApiKeyNotFound | OrganizationNotFound)
        assert isinstance(other_call.result(), OrganizationContents)
        assert_gone(storage, ours)
        assert {storage.api_keys.find(each) for each in (key.digest, plain.digest)} == {None}

    def test_an_organization_deleted_during_a_sync_run_leaves_nothing(
        self, storage: Storage, ours: OrganizationId
    ) -> None:
        integration = storage.integrations.add(ours, an_integration_draft())
        deletion = partial(storage.organizations.delete, ours, permit_organization)
        other_call = ConcurrentCall(deletion, self.max_wait)

        def planner(found: Integration, catalog: tuple[RecipientField, ...]) -> SyncPlan:
            other_call.start()
            return reporting(an_esp_field("CITY"))(found, catalog)

        synced = attempt(
            lambda: storage.integrations.sync(
                ours, integration.id, planner, author=AUTHOR, at=LATER
            )
        )
        assert isinstance(synced, SyncPlan | IntegrationNotFound | OrganizationNotFound)
        assert isinstance(other_call.result(), OrganizationContents)
        assert_gone(storage, ours)

    def test_exactly_one_concurrent_deletion_of_an_organization_succeeds(
        self, organizations: OrganizationRepository, ours: OrganizationId
    ) -> None:
        outcomes = race(*[partial(organizations.delete, ours, permit_organization)] * self.threads)
        kinds = [type(outcome) for outcome in outcomes]
        assert kinds.count(OrganizationContents) == 1
        assert kinds.count(OrganizationNotFound) == self.threads - 1

    def test_a_sync_run_whose_catalog_always_changes_during_planning_is_stored(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        overtaking: list[ConcurrentCall] = []
        planned: list[SyncPlan] = []

        def planner(found: Integration, catalog: tuple[RecipientField, ...]) -> SyncPlan:
            definition = a_definition(f"town_{len(overtaking)}")
            overtaking.append(
                ConcurrentCall(
                    partial(add_field, fields, ours, definition, author=AUTHOR), self.max_wait
                )
            )
            overtaking[-1].start()
            planned.append(reporting(an_esp_field("CITY"))(found, catalog))
            return planned[-1]

        plan = integrations.sync(ours, integration.id, planner, author=AUTHOR, at=LATER)
        assert plan is planned[-1]
        added = [each.result() for each in overtaking]
        stored = fields.all(ours).fields
        assert [field for field in stored if field.origin.integration_id is None] == added
        assert names_of(stored, integration) == [("CITY", "CITY")]
