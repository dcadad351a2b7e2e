"""Cases with concurrent calls for API keys and integrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import (
    ApiKeyRepository,
    FieldRepository,
    IntegrationRepository,
    IntegrationStorage,
)
from recipient_fields.domain import (
    MILLISECOND,
    ApiKey,
    ApiKeyNotActive,
    ApiKeyNotFound,
    Catalog,
    FieldQuery,
    FieldReference,
    KeyTaken,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    PlainKey,
    RecipientField,
)
from recipient_fields.domain.integrations import (
    EspField,
    Integration,
    IntegrationNotFound,
    SyncPlan,
)

from .assertions import assert_found, attempt, retry_slow_call
from .concurrency import (
    ConcurrentCall,
    ConcurrentLoad,
    assert_deleted_with,
    assert_not_kept,
    assert_one_succeeded,
    increment,
    race,
    read_during,
)
from .examples import (
    LATER,
    NOW,
    a_definition,
    a_grant,
    an_esp_field,
    an_integration_draft,
    delete_integration,
    permit_organization,
    renaming,
    reporting,
    rotation,
    run_sync,
)
from .field_changes import add_field, delete_field, update_field
from .organizations import assert_gone

REPORTS: tuple[tuple[EspField, ...], ...] = (
    tuple(an_esp_field(f"CITY_{number}", label="Here") for number in range(12)),
    tuple(an_esp_field(f"CITY_{number}", label="There") for number in range(6, 18)),
)
"""Two lists of an ESP. From one to the other, fields are removed, changed and added."""


Addition: TypeAlias = Callable[[IntegrationStorage, ApiKey], object]

ADDITIONS: dict[str, Addition] = {
    "api_keys.add": lambda storage, key: storage.api_keys.add(a_grant(key.organization_id)),
    "api_keys.rotate": lambda storage, key: storage.api_keys.rotate(
        key.organization_id, key.id, rotation()
    ),
    "integrations.add": lambda storage, key: storage.integrations.add(
        key.organization_id, an_integration_draft()
    ),
}
"""Every method that adds an API key or an integration to the organization of an API key."""


class IntegrationConcurrencyCases(ConcurrentLoad):
    """Cases for concurrent changes of API keys and integrations."""

    def test_a_use_recorded_during_an_update_is_not_lost(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))
        other_call = self._other_call(api_keys.record_use, ours, key.id, LATER)
        api_keys.update(ours, key.id, other_call.before(lambda found: found.revoked(LATER)))
        assert other_call.result() is None
        assert_found(api_keys, evolve(key, last_used_at=LATER, revoked_at=LATER))

    def test_a_look_up_returns_a_key_and_a_revision_of_the_same_moment(
        self, fields: FieldRepository, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        """A single writer records every key with its revision."""
        key = api_keys.add(a_grant(ours))
        field = add_field(fields, ours, a_definition())
        find = partial(api_keys.find, key.digest)
        states = {find()}

        def write() -> None:
            for number in range(self.rounds // 2):
                api_keys.record_use(ours, key.id, NOW + number * MILLISECOND)
                states.add(find())
                update_field(fields, ours, field.id, renaming(f"City {number}"))
                states.add(find())

        for seen in read_during(write, find, self.threads // 2):
            assert set(seen) <= states

    def test_exactly_one_concurrent_rotation_of_a_key_succeeds(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))
        rotate = partial(api_keys.rotate, ours, key.id, rotation())
        outcomes = race(*[rotate] * self.threads)
        pair = assert_one_succeeded(outcomes, tuple, ApiKeyNotActive)
        assert set(api_keys.all(ours)) == set(pair)

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

    def test_an_organization_deleted_during_a_rotation_leaves_no_key(
        self, storage: IntegrationStorage, ours: OrganizationId
    ) -> None:
        key = storage.api_keys.add(a_grant(ours))
        plain = PlainKey.generate()
        other_call = self._other_call(storage.organizations.delete, ours, permit_organization)
        succession = other_call.before(rotation(plain))
        rotated = attempt(lambda: storage.api_keys.rotate(ours, key.id, succession))
        assert isinstance(rotated, tuple | ApiKeyNotFound | OrganizationNotFound)
        assert isinstance(other_call.result(), OrganizationContents)
        assert_gone(storage, ours)
        assert {storage.api_keys.find(each) for each in (key.digest, plain.digest)} == {None}

    def test_concurrent_sync_runs_and_api_calls_lose_nothing(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        """The calls and the runs compete for the same keys."""
        one, other = (integrations.add(ours, an_integration_draft()) for _ in range(2))
        rounds = self.rounds // 4
        counter = add_field(fields, ours, a_definition("counter", name="0"))

        def sync(integration: Integration) -> None:
            for number in range(rounds):
                report = reporting(*REPORTS[number % 2])
                retry_slow_call(run_sync, integrations, integration, report)

        def create() -> list[FieldReference]:
            kept: list[FieldReference] = []
            for number in range(rounds):
                try:
                    field = retry_slow_call(
                        add_field, fields, ours, a_definition(f"city_{number % 20}")
                    )
                except KeyTaken:
                    continue
                if number % 2:
                    retry_slow_call(delete_field, fields, ours, field.id)
                else:
                    kept.append(field.id)
            return kept

        def count_up() -> None:
            for _ in range(rounds):
                retry_slow_call(update_field, fields, ours, counter.id, increment("name"))

        outcomes = race(partial(sync, one), partial(sync, other), create, create, count_up)
        assert [outcomes[index] for index in (0, 1, 4)] == [None, None, None]
        stored = fields.all(ours).fields
        assert {*outcomes[2], *outcomes[3], counter.id} == {
            field.id for field in stored if field.origin.integration_id is None
        }
        assert fields.get(ours, counter.id).name == str(rounds)
        assert len({field.key for field in stored}) == len(stored)
        for integration in (one, other):
            plan = run_sync(integrations, integration, reporting(*REPORTS[(rounds - 1) % 2]))
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
                    run_sync, integrations, integration, reporting(*REPORTS[number % 2])
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

        def write() -> None:
            for number in range(self.rounds // 4):
                run_sync(integrations, integration, reporting(*REPORTS[number % 2]))
                written.append(fields.all(ours))
            delete_integration(integrations, integration)
            written.append(fields.all(ours))

        def read() -> list[Catalog]:
            catalog, page = fields.all(ours), fields.select(ours, FieldQuery())
            assert page.total == len(page.fields)
            return [catalog, Catalog(ours, page.revision, page.fields)]

        all_seen = read_during(write, read, self.threads // 2)
        all_seen.append([written])
        by_revision = {catalog.revision: catalog for catalog in written}
        for seen in all_seen:
            catalogs = [*chain.from_iterable(seen)]
            revisions = [catalog.revision for catalog in catalogs]
            assert revisions == sorted(revisions)
            for catalog in catalogs:
                assert is_one_report(names_of(catalog.fields, integration))
                assert set(catalog.fields) == set(by_revision[catalog.revision].fields)

    def test_a_field_added_during_a_sync_run_takes_no_key_of_the_run(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        other_call = self._other_call(add_field, fields, ours, a_definition("city"))
        planner = other_call.after(reporting(an_esp_field("CITY")))
        run_sync(integrations, integration, planner)
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
        report = reporting(an_esp_field("CITY"))
        other_call = self._other_call(run_sync, integrations, integration, report)
        checked: list[tuple[RecipientField, ...]] = []
        check = other_call.before(checked.append)
        removed = delete_integration(integrations, integration, check)
        assert removed == checked[-1]
        assert type(other_call.result()) in {SyncPlan, IntegrationNotFound}
        assert bool(removed) is isinstance(other_call.result(), SyncPlan)
        assert fields.all(ours).fields == ()
        assert integrations.all(ours) == ()

    def test_an_integration_deleted_during_a_sync_run_leaves_no_field(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        other_call = self._other_call(delete_integration, integrations, integration)
        planner = other_call.before(reporting(an_esp_field("CITY")))
        synced = attempt(lambda: run_sync(integrations, integration, planner))
        assert type(synced) in {SyncPlan, IntegrationNotFound}
        assert isinstance(other_call.result(), tuple)
        assert fields.all(ours).fields == ()
        assert integrations.all(ours) == ()

    def test_a_rename_during_a_sync_run_is_not_lost(
        self, integrations: IntegrationRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        other_call = self._other_call(integrations.rename, ours, integration.id, "Other")
        run_sync(integrations, integration, other_call.before(reporting()))
        assert isinstance(other_call.result(), Integration)
        expected = evolve(integration, name="Other", last_synced_at=LATER)
        assert integrations.get(ours, integration.id) == expected

    def test_a_sync_run_whose_catalog_always_changes_during_planning_is_stored(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        overtaking: list[ConcurrentCall] = []
        planned: list[SyncPlan] = []

        def planner(*arguments: Any) -> SyncPlan:
            definition = a_definition(f"town_{len(overtaking)}")
            overtaking.append(self._other_call(add_field, fields, ours, definition))
            overtaking[-1].start()
            planned.append(reporting(an_esp_field("CITY"))(*arguments))
            return planned[-1]

        plan = run_sync(integrations, integration, planner)
        assert plan is planned[-1]
        added = [each.result() for each in overtaking]
        stored = fields.all(ours).fields
        assert [field for field in stored if field.origin.integration_id is None] == added
        assert names_of(stored, integration) == [("CITY", "CITY")]

    def test_an_organization_deleted_during_a_sync_run_leaves_nothing(
        self, storage: IntegrationStorage, ours: OrganizationId
    ) -> None:
        integration = storage.integrations.add(ours, an_integration_draft())
        other_call = self._other_call(storage.organizations.delete, ours, permit_organization)
        planner = other_call.before(reporting(an_esp_field("CITY")))
        synced = attempt(lambda: run_sync(storage.integrations, integration, planner))
        assert isinstance(synced, SyncPlan | IntegrationNotFound | OrganizationNotFound)
        assert isinstance(other_call.result(), OrganizationContents)
        assert_gone(storage, ours)

    @pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
    def test_a_row_added_during_the_deletion_of_its_organization_is_not_kept(
        self, storage: IntegrationStorage, ours: OrganizationId, addition: Addition
    ) -> None:
        key = storage.api_keys.add(a_grant(ours))
        assert_not_kept(storage, ours, partial(addition, storage, key), self.max_wait)

    @pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
    def test_deleting_an_organization_deletes_rows_that_are_added_concurrently(
        self, storage: IntegrationStorage, ours: OrganizationId, addition: Addition
    ) -> None:
        key = storage.api_keys.add(a_grant(ours))
        adding = partial(addition, storage, key)
        assert_deleted_with(storage, ours, [adding] * self.threads)
        assert storage.api_keys.find(key.digest) is None


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
