"""Sync runs of thousands of fields: each stores all or nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from textwrap import indent
from threading import Event
from time import sleep
from typing import Any, cast

import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.application import IntegrationRepository, IntegrationService
from recipient_fields.domain import (
    DataType,
    FieldQuery,
    IntegrationId,
    OrganizationId,
    RecipientField,
    StorageUnavailable,
    sync_channel,
)
from recipient_fields.domain.esp import Esp, NameState
from recipient_fields.domain.integrations import (
    EspField,
    Integration,
    SetName,
    SyncPlan,
    SyncPlanChanged,
    SyncRun,
)
from recipient_fields.testing.examples import AUTHOR, LATER, NOW, a_definition
from recipient_fields.testing.field_changes import add_field

from ...support.postgres import KILL_BEFORE_STATEMENT, execute, open_transactions
from ...support.waiting import eventually

pytestmark = pytest.mark.slow

FIELDS = 3_000

SYNC = f"""
import sys
from contextlib import closing
from datetime import UTC, datetime
from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.application import IntegrationRepository, IntegrationService
from recipient_fields.domain import DataType
from recipient_fields.domain.integrations import EspField

url, integration_id, label, first, last, statement = sys.argv[1:]
report = [
    EspField(name=f"FIELD_{{number}}", label=label, data_type=DataType.TEXT)
    for number in range(int(first), int(last))
]
with closing(PostgresStorage(url)) as storage:
    service = IntegrationService(
        integrations=storage.integrations,
        fields=storage.fields, history=storage.history,
        clock=lambda: datetime.now(UTC),
    )
    storage.organizations.all()
    {indent(KILL_BEFORE_STATEMENT, "    ")}
    print("syncing", flush=True)
    service.sync_fields(1, int(integration_id), report)
print("synced", flush=True)
"""


@pytest.fixture
def integration(storage: PostgresStorage, ours: OrganizationId) -> Integration:
    """Create an integration in an organization that also has a field of the API."""
    add_field(storage.fields, ours, a_definition(), author=AUTHOR)
    return service_over(storage).create_integration(ours, esp=Esp("mailchimp"), name="Main")


def service_over(storage: PostgresStorage) -> IntegrationService:
    return IntegrationService(
        integrations=storage.integrations, fields=storage.fields, history=storage.history
    )


def a_report(label: str, first: int, last: int) -> Iterator[EspField]:
    for number in range(first, last):
        yield EspField(name=f"FIELD_{number}", label=label, data_type=DataType.TEXT)


def run(storage: PostgresStorage, integration: Integration, label: str, *bounds: int) -> None:
    service_over(storage).sync_fields(
        integration.organization_id, integration.id, a_report(label, *bounds)
    )


def syncing(
    url: str, integration: Integration, label: str, *bounds: int, statement: int = 0
) -> subprocess.Popen[str]:
    """Start a process that waits before its sync run."""
    arguments = [url, integration.id, label, *bounds, statement]
    process = subprocess.Popen(
        [sys.executable, "-c", SYNC, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "syncing\n", process.communicate()
    return process


def shape(fields: tuple[RecipientField, ...]) -> tuple[int, set[str], set[int]]:
    """Return the number of fields, the names and the versions of those of integrations."""
    synced = [field for field in fields if field.origin.integration_id is not None]
    return len(fields), {str(f.name) for f in synced}, {f.version for f in synced}


def test_a_process_killed_before_any_statement_of_a_run_changes_nothing(
    database, storage, ours, integration
):
    run(storage, integration, "Old", 0, 30)
    before = storage.fields.all(ours), storage.integrations.all(ours)
    for statement in range(1, 100):
        process = syncing(database, integration, "New", 10, 40, statement=statement)
        printed, errors = process.communicate()
        assert errors == ""
        if process.returncode == 0:
            break
        assert (process.returncode, printed) == (-signal.SIGKILL, "")
        eventually(lambda: not open_transactions(database), within=5)
        assert (storage.fields.all(ours), storage.integrations.all(ours)) == before
    assert statement > 10, "three reads, BEGIN and lock, two reads, four writes, COMMIT"
    after = storage.fields.all(ours)
    assert shape(after.fields) == (31, {"New"}, {1, 2})
    assert after.revision > before[0].revision
    assert storage.integrations.all(ours) != before[1]


def test_a_process_killed_during_a_run_stores_all_or_nothing(database, storage, ours, integration):
    run(storage, integration, "0", 0, FIELDS)
    label, outcomes = "0", set()
    for number, milliseconds in enumerate((0, 30, 60, 100, 150, 200, 300, 400, 700), start=1):
        before = storage.fields.all(ours)
        bounds = (0, FIELDS) if number % 2 else (FIELDS // 2, FIELDS + FIELDS // 2)
        process = syncing(database, integration, str(number), *bounds)
        sleep(milliseconds / 1_000)
        process.kill()
        process.communicate()
        eventually(lambda: not open_transactions(database), within=10)
        after = storage.fields.all(ours)
        if after.revision == before.revision:
            outcomes.add("nothing")
            assert after == before
        else:
            outcomes.add("all")
            label = str(number)
        count, labels, _ = shape(after.fields)
        assert (count, labels) == (FIELDS + 1, {label})
    assert "nothing" in outcomes
    run(storage, integration, "Last", 0, FIELDS)
    count, labels, _ = shape(storage.fields.all(ours).fields)
    assert (count, labels) == (FIELDS + 1, {"Last"})


def test_a_run_locks_the_catalog_only_after_it_is_planned(storage, ours, integration):
    overtaking: list[RecipientField] = []

    def planner(found: Integration, catalog: tuple[RecipientField, ...], _: object) -> SyncPlan:
        if not overtaking:  # Under the lock, this would wait for a second and fail.
            overtaking.append(add_field(storage.fields, ours, a_definition("town"), author=AUTHOR))
        return SyncRun.from_report(found, a_report("New", 0, 30), at=NOW).plan(found, catalog)

    storage.integrations.sync(ours, integration.id, planner, author=AUTHOR, at=LATER)
    stored = storage.fields.all(ours).fields
    assert overtaking[0] in stored
    assert shape(stored) == (32, {"New"}, {1})


@pytest.mark.parametrize("overtaken", range(5))
def test_a_run_is_planned_again_after_other_changes_and_finally_under_the_lock(
    storage, ours, integration, overtaken
):
    received: list[int] = []

    def planner(found: Integration, catalog: tuple[RecipientField, ...], _: object) -> SyncPlan:
        received.append(len(catalog))
        if len(received) <= overtaken:
            town = a_definition(f"town_{len(received)}")
            with suppress(StorageUnavailable):
                add_field(storage.fields, ours, town, author=AUTHOR)
        return SyncRun.from_report(found, a_report("New", 0, 30), at=NOW).plan(found, catalog)

    storage.integrations.sync(ours, integration.id, planner, author=AUTHOR, at=LATER)
    assert received == list(range(1, 2 + min(overtaken, 3)))
    assert shape(storage.fields.all(ours).fields) == (received[-1] + 30, {"New"}, {1})


def test_a_run_is_planned_again_after_another_run_that_changes_no_field(storage, ours, integration):
    run(storage, integration, "Old", 0, 30)
    received: list[Integration] = []

    def planner(found: Integration, catalog: tuple[RecipientField, ...], _: object) -> SyncPlan:
        received.append(found)
        if len(received) == 1:
            run(storage, integration, "Old", 0, 30)
        at = found.last_synced_at or NOW
        return SyncRun.from_report(found, a_report("New", 0, 30), at=at).plan(found, catalog)

    storage.integrations.sync(ours, integration.id, planner, author=AUTHOR, at=LATER)
    assert len(received) == 2
    assert storage.integrations.get(ours, integration.id) == received[1]


class _Overtaken:
    """An IntegrationRepository in which something else happens just before each run is stored."""

    def __init__(self, integrations: IntegrationRepository, event: Callable[[], object]) -> None:
        self._integrations = integrations
        self._event = event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._integrations, name)

    def sync(self, *arguments: Any, **recorded: Any) -> SyncPlan:
        self._event()
        return self._integrations.sync(*arguments, **recorded)


@pytest.mark.parametrize("overtaken_by", ["names", "sync"])
def test_a_confirmed_run_is_rejected_if_another_integration_has_changed_what_it_does(
    storage, ours, integration, overtaken_by
):
    """The removal of a field leaves its name at another integration to `city`."""
    other = service_over(storage).create_integration(ours, esp=Esp("mailchimp"), name="Other")
    run(storage, integration, "Old", 0, 1)
    names = {"field_0": SetName("CITY")}
    if overtaken_by == "sync":
        service_over(storage).set_names(ours, other.id, names)
    shown = service_over(storage).sync_fields(ours, integration.id, (), dry_run=True)
    events: dict[str, Callable[[], object]] = {
        "names": lambda: service_over(storage).set_names(ours, other.id, names),
        "sync": lambda: service_over(storage).sync_fields(
            ours, other.id, [EspField(name="CITY", data_type=DataType.TEXT)]
        ),
    }
    service = IntegrationService(
        integrations=cast(
            IntegrationRepository, _Overtaken(storage.integrations, events[overtaken_by])
        ),
        fields=storage.fields,
        history=storage.history,
    )
    with pytest.raises(SyncPlanChanged) as changed:
        service.sync_fields(ours, integration.id, (), confirmed=shown.digest)
    [name] = [each for each in changed.value.plan.name_changes if each.field.key == "city"]
    assert (name.field.integration.id, name.before) == (other.id, None)
    assert name.after is not None
    expected = NameState.FOUND if overtaken_by == "sync" else NameState.UNKNOWN
    assert (name.after.esp_name.name, name.after.esp_name.state) == ("CITY", expected)


def test_readers_see_the_catalog_before_a_long_run_or_after_it(storage, ours, integration):
    run(storage, integration, "0", 0, FIELDS)
    done = Event()

    def write() -> None:
        try:
            for number in range(1, 4):
                first = FIELDS // 2 * (number % 2)
                run(storage, integration, str(number), first, first + FIELDS)
        finally:
            done.set()

    def read() -> list[tuple[int, int, frozenset[str]]]:
        seen = []
        while not done.is_set():
            with suppress(StorageUnavailable):  # On a busy machine, a read may take too long.
                catalog = storage.fields.all(ours)
                count, labels, _ = shape(catalog.fields)
                seen.append((catalog.revision, count, frozenset(labels)))
                page = storage.fields.select(ours, FieldQuery(limit=50))
                labels = {str(f.name) for f in page.fields} - {"City"}
                seen.append((page.revision, page.total, frozenset(labels)))
        return seen

    with ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(read) for _ in range(2)]
        threads.submit(write).result()
        sightings = [reader.result() for reader in readers]
    for seen in sightings:
        assert seen
        revisions = [revision for revision, _, _ in seen]
        assert revisions == sorted(revisions)
        assert {count for _, count, _ in seen} == {FIELDS + 1}
        for revision in set(revisions):
            [labels] = {labels for other, _, labels in seen if other == revision}
            assert len(labels) == 1


def test_a_second_run_writes_no_field_and_leaves_the_revision(database, storage, ours, integration):
    run(storage, integration, "Same", 0, FIELDS)
    before = every_row(database), storage.fields.all(ours).revision
    assert len(before[0]) > FIELDS
    run(storage, integration, "Same", 0, FIELDS)
    assert (every_row(database), storage.fields.all(ours).revision) == before
    run(storage, integration, "Other", 0, FIELDS)
    assert not {*before[0][:-1]} & {*every_row(database)}, "or this proves nothing"


def every_row(database: str) -> list[tuple[object, ...]]:
    """Return the version of each row and the transaction that wrote it."""
    return execute(
        database,
        "SELECT 'field', ctid::text, xmin::text, xmax::text FROM recipient_fields"
        " WHERE source = 'integration'"
        " UNION ALL SELECT 'organization', ctid::text, xmin::text, revision::text"
        " FROM organizations ORDER BY 1, 2",
    )


def test_ids_of_integrations_from_before_the_table_are_not_assigned_again(empty_database):
    migrate(empty_database)
    with closing(PostgresStorage(empty_database)) as storage:
        ours = storage.organizations.add("Ours", NOW).id
        field, _ = (
            add_field(
                storage.fields, ours, a_definition(key, by=sync_channel(number)), author=AUTHOR
            )
            for key, number in (("city", IntegrationId(41)), ("age", IntegrationId(7)))
        )
    execute(empty_database, "DROP TABLE integrations")
    execute(
        empty_database,
        "DELETE FROM schema_migrations WHERE name IN ('0002_integrations', '0013_names')",
    )
    with pytest.raises(StorageUnavailable, match="behind"):
        PostgresStorage(empty_database)
    assert migrate(empty_database) == 2
    with closing(PostgresStorage(empty_database)) as storage:
        made = service_over(storage).create_integration(ours, esp=Esp("braze"), name="Main")
        assert made.id == 42
        run(storage, made, "New", 0, 0)
        assert storage.fields.get(ours, field.id) == field
