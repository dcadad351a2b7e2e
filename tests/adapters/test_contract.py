"""The contract suite covers every port and finds faulty adapters."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from time import sleep
from typing import Any

import pytest
from attrs import evolve
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    CompleteStorage,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRepository,
    PublishedCatalog,
    SessionRepository,
)
from recipient_fields.domain import (
    Catalog,
    CatalogChanges,
    CatalogView,
    FieldDefinition,
    FoundKey,
    OrganizationId,
    RecipientField,
    StorageUnavailable,
    epoch_milliseconds,
)
from recipient_fields.domain.integrations import SyncPlan
from recipient_fields.testing import (
    READS,
    WRITES,
    StorageContract,
    StorageOutageContract,
    StorageUrlContract,
    machine_for,
)
from recipient_fields.testing.assertions import retry_slow_call
from recipient_fields.testing.examples import INSTANTS, NOW

PORTS = {
    "fields": FieldRepository,
    "history": HistoryRepository,
    "api_keys": ApiKeyRepository,
    "integrations": IntegrationRepository,
    "administrators": AdministratorRepository,
    "sessions": SessionRepository,
    "organizations": OrganizationRepository,
}


def test_the_outage_suite_calls_every_method_of_every_port() -> None:
    methods = {
        f"{name}.{method}"
        for name, port in PORTS.items()
        for method in vars(port)
        if not method.startswith("_")
    }
    assert {call.split()[0] for call in (*READS, *WRITES)} == {"check", *methods}


def test_only_a_call_that_has_waited_for_long_is_repeated() -> None:
    seconds = [0.6, 0.6, 0]

    def refuse() -> None:
        sleep(seconds.pop(0))
        raise StorageUnavailable

    for left in (1, 0):
        with pytest.raises(StorageUnavailable):
            retry_slow_call(refuse)
        assert len(seconds) == left


def test_no_case_overrides_another_of_the_same_name() -> None:
    for contract in (StorageContract, StorageOutageContract):
        inherited = [
            name for cases in contract.__mro__ for name in vars(cases) if name.startswith("test_")
        ]
        assert sorted(set(inherited)) == sorted(inherited)


@pytest.mark.parametrize("message", ["", "cannot connect:\nno route"], ids=repr)
def test_the_contract_finds_a_rejection_that_is_not_one_line(message):
    def open_storage(_: str) -> CompleteStorage:
        raise StorageUnavailable(message)

    with pytest.raises(AssertionError):
        StorageUrlContract().test_a_url_that_can_not_be_opened_is_rejected(open_storage, ["mysql:"])


def show_the_url_in_the_message(url: str) -> CompleteStorage:
    raise StorageUnavailable(f"cannot connect to {url}")


def show_the_url_in_the_cause(url: str) -> CompleteStorage:
    raise StorageUnavailable("no connection") from ValueError(url)


@pytest.mark.parametrize("open_storage", [show_the_url_in_the_message, show_the_url_in_the_cause])
def test_the_contract_finds_a_password_in_a_rejection(open_storage):
    with pytest.raises(AssertionError):
        StorageUrlContract().test_a_rejected_url_does_not_show_its_password(
            open_storage, [f"mysql://alice:{StorageUrlContract.password}@127.0.0.1"]
        )


def test_the_contract_accepts_a_storage_that_opens_its_connection_at_the_first_check() -> None:
    class Unreachable(MemoryStorage):
        def check(self) -> None:
            raise StorageUnavailable("no connection")

    StorageUrlContract().test_a_url_that_can_not_be_opened_is_rejected(
        lambda _: Unreachable(), ["mysql:"]
    )


def test_the_contract_finds_a_url_that_should_not_open() -> None:
    with pytest.raises(pytest.fail.Exception):
        StorageUrlContract().test_a_url_that_can_not_be_opened_is_rejected(
            lambda _: MemoryStorage(), ["mysql:"]
        )


class Delegating:
    """A repository that delegates to a correct one. Each subclass has one fault."""

    def __init__(self, correct: Any) -> None:
        self.correct = correct

    def __getattr__(self, name: str):
        return getattr(self.correct, name)


class Faulty(Delegating):
    """A FieldRepository with a fault."""


class PlansBeforeItChanges(Faulty):
    """Reads and plans, and stores in a second transaction."""

    def change(self, organization_id, plan, /, **recorded) -> CatalogChanges[RecipientField]:
        planned: list[CatalogChanges[FieldDefinition]] = []

        def look(view: CatalogView) -> CatalogChanges[FieldDefinition]:
            planned.append(plan(view))
            return CatalogChanges()

        self.correct.change(organization_id, look, **recorded)
        sleep(0.001)  # Otherwise, a thread that waits for the lock rarely gets it here.
        return self.correct.change(organization_id, lambda _: planned[-1], **recorded)


class ReadsFromACache(Faulty):
    """Treats a cached catalog as current while its length is the same."""

    def __init__(self, correct: FieldRepository) -> None:
        super().__init__(correct)
        self.cached: dict[object, Catalog] = {}

    def all(self, organization_id, /) -> Catalog:
        catalog = self.correct.all(organization_id)
        cached = self.cached.setdefault(organization_id, catalog)
        if len(cached.fields) != len(catalog.fields):
            self.cached[organization_id] = catalog
        return self.cached[organization_id]


class ReadsInTwoSteps(Faulty):
    """Reads the revision and the fields in two transactions."""

    def all(self, organization_id, /) -> Catalog:
        revision = self.correct.all(organization_id).revision
        return Catalog(organization_id, revision, self.correct.all(organization_id).fields)


class PublishesInTwoSteps(Faulty):
    """Reads the revision and the documents in two transactions."""

    def publish(self, organization_id, /) -> PublishedCatalog:
        revision = self.correct.all(organization_id).revision
        return evolve(self.correct.publish(organization_id), revision=revision)


class TrustsTheClock(Faulty):
    """Uses the current time as the revision, even if the last revision is greater."""

    def all(self, organization_id, /) -> Catalog:
        catalog = self.correct.all(organization_id)
        return evolve(catalog, revision=epoch_milliseconds(NOW)) if catalog.fields else catalog


class ForgetsTheOrganization(Faulty):
    """Finds a field by its id in any organization."""

    def __init__(self, correct: FieldRepository) -> None:
        super().__init__(correct)
        self.owners: dict[object, OrganizationId] = {}

    def change(self, organization_id, plan, /, **recorded) -> CatalogChanges[RecipientField]:
        applied = self.correct.change(organization_id, plan, **recorded)
        self.owners.update({field.id: organization_id for field in applied.created})
        return applied

    def get(self, organization_id, reference, /) -> RecipientField:
        return self.correct.get(self.owners.get(reference, organization_id), reference)


def faulty_storage(fault: type[Faulty]) -> CompleteStorage:
    storage = MemoryStorage()
    storage.fields = fault(storage.fields)
    return storage


CASES = StorageContract()


def run_often(times: int, storage: CompleteStorage, case: Callable[[OrganizationId], None]) -> None:
    """Run a case as often, each time with a new organization."""
    for _ in range(times):
        case(storage.organizations.add("ACME", NOW).id)


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        (PlansBeforeItChanges, CASES.test_concurrent_updates_of_different_members_lose_nothing),
        (PlansBeforeItChanges, CASES.test_an_update_during_another_update_is_not_lost),
        (PlansBeforeItChanges, CASES.test_a_field_deleted_during_an_update_stays_deleted),
        (PlansBeforeItChanges, CASES.test_a_field_changed_during_a_check_is_not_deleted_unchecked),
        (PlansBeforeItChanges, CASES.test_the_field_limit_is_exact_under_concurrent_additions),
        (ReadsInTwoSteps, CASES.test_a_reader_sees_only_committed_catalogs),
        (PublishesInTwoSteps, CASES.test_a_reader_sees_only_committed_catalogs),
    ],
)
def test_the_contract_finds_faults_of_concurrency(fault, case):
    storage = faulty_storage(fault)
    with pytest.raises(AssertionError):
        run_often(100, storage, partial(case, storage.fields))


class LooksUpInTwoSteps(Delegating):
    """An ApiKeyRepository that reads the key and the revision in two transactions."""

    def __init__(self, storage: CompleteStorage) -> None:
        super().__init__(storage.api_keys)
        self.fields = storage.fields

    def find(self, digest, /) -> FoundKey | None:
        found = self.correct.find(digest)
        if found is None:
            return None
        revision = self.fields.all(found.organization_id).revision
        return evolve(found, catalog_revision=revision)


def test_the_contract_finds_look_ups_in_two_steps() -> None:
    storage = MemoryStorage()
    case = CASES.test_a_look_up_returns_a_key_and_a_revision_of_the_same_moment
    with pytest.raises(AssertionError):
        run_often(100, storage, partial(case, storage.fields, LooksUpInTwoSteps(storage)))


@pytest.mark.parametrize("born", [instant for instant in INSTANTS if instant > NOW])
def test_the_contract_finds_revisions_that_are_the_current_time(born):
    storage = faulty_storage(TrustsTheClock)
    with pytest.raises(AssertionError):
        CASES.test_a_revision_increases_if_the_clock_is_behind(
            storage.fields, storage.organizations, born
        )


class FaultyIntegrations(Delegating):
    """An IntegrationRepository with a fault."""

    def __init__(self, storage: CompleteStorage) -> None:
        super().__init__(storage.integrations)
        self.fields = storage.fields


class PlansBeforeItStores(FaultyIntegrations):
    """Reads and plans, and stores in a second transaction."""

    def sync(self, organization_id, integration_id, planner, /, **recorded) -> SyncPlan:
        integration = self.correct.get(organization_id, integration_id)
        fields, others = self.fields.all(organization_id).fields, self.correct.all(organization_id)
        plan = planner(integration, fields, others)
        return self.correct.sync(organization_id, integration_id, lambda *_: plan, **recorded)


class StoresInSteps(FaultyIntegrations):
    """Removes fields, and creates others in a second transaction."""

    def sync(self, organization_id, integration_id, planner, /, **recorded) -> SyncPlan:
        def remove(*state) -> SyncPlan:
            plan = planner(*state)
            return evolve(plan, changes=CatalogChanges.of(deleted=plan.changes.deleted))

        self.correct.sync(organization_id, integration_id, remove, **recorded)
        return self.correct.sync(organization_id, integration_id, planner, **recorded)


class ChecksBeforeItRemoves(FaultyIntegrations):
    """Checks the fields, and deletes the current ones in a second transaction."""

    def delete(
        self, organization_id, integration_id, check, /, **recorded
    ) -> tuple[RecipientField, ...]:
        channel = self.correct.get(organization_id, integration_id).channel
        fields = self.fields.all(organization_id).fields
        check(tuple(field for field in fields if channel.owns(field.origin)))
        return self.correct.delete(organization_id, integration_id, lambda _: None, **recorded)


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        (PlansBeforeItStores, CASES.test_a_field_added_during_a_sync_run_takes_no_key_of_the_run),
        (PlansBeforeItStores, CASES.test_concurrent_sync_runs_and_api_calls_lose_nothing),
        (StoresInSteps, CASES.test_a_reader_sees_the_catalog_before_or_after_a_sync_run),
        (
            ChecksBeforeItRemoves,
            CASES.test_a_field_added_during_a_deletion_is_not_deleted_unchecked,
        ),
    ],
)
def test_the_contract_finds_faults_of_sync_runs(fault, case):
    storage = MemoryStorage()
    with pytest.raises((AssertionError, KeyError)):
        run_often(20, storage, partial(case, fault(storage), storage.fields))


@pytest.mark.parametrize("fault", [ReadsFromACache, ForgetsTheOrganization])
def test_the_state_machine_finds_faults_of_call_sequences(fault):
    hasty = settings(
        max_examples=500,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine_for(lambda: closing(faulty_storage(fault))), settings=hasty
        )
