"""What holds on a cluster of Citus while its workers are killed, added and filled."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Event, current_thread
from time import monotonic
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import psycopg
import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.adapters.postgres.connection import DeadlineConnection
from recipient_fields.application import copy_storage
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Channel,
    DataType,
    FieldDraft,
    FieldKey,
    FieldLimitReached,
    FieldQuery,
    OrganizationId,
    RecipientFieldsError,
    StorageUnavailable,
)
from recipient_fields.testing.examples import (
    AUTHOR,
    LATER,
    NOW,
    a_definition,
    a_grant,
    an_integration_draft,
    permit,
    renaming,
)
from recipient_fields.testing.field_changes import add_field, delete_field, update_field

from ..support.citus import CitusCluster
from ..support.network import RoundTripCounter
from ..support.postgres import NewDatabase, execute, new_database
from ..support.waiting import eventually

LIMIT = 16

_logger = logging.getLogger(__name__)


@pytest.fixture
def own_database(migrated_database: NewDatabase) -> Iterator[str]:
    """Create a database that the test breaks."""
    with migrated_database() as url:
        yield url


@pytest.fixture
def own_storage(own_database: str) -> Iterator[PostgresStorage]:
    with closing(PostgresStorage(own_database)) as storage:
        yield storage


# Fields of administrators have no counter, so only the lock keeps their number exact.
@pytest.mark.parametrize("channel", [API, ADMINISTRATOR], ids=["counted", "locked"])
def test_the_limit_is_exact_for_concurrent_creations(
    storage: PostgresStorage, channel: Channel
) -> None:
    ours = storage.organizations.add("Ours", NOW).id

    def create(number: int) -> bool:
        try:
            draft = FieldDraft(name="City", key=f"city_{number}", data_type=DataType.TEXT)
            definition = draft.define(by=channel, at=NOW)
            add_field(storage.fields, ours, definition, limit=LIMIT, author=AUTHOR)
        except FieldLimitReached:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(3 * LIMIT))) == LIMIT
    assert len(storage.fields.all(ours).fields) == LIMIT


def test_a_creation_takes_three_round_trips(cluster: CitusCluster, emptied_database: str) -> None:
    with RoundTripCounter.running(cluster.coordinator.port) as relay:
        database = urlsplit(emptied_database).path
        url = f"postgresql://postgres@127.0.0.1:{relay.port}{database}"
        with closing(PostgresStorage(url)) as storage:
            ours = storage.organizations.add("Ours", NOW).id
            counts = []
            for number in range(10):
                before = relay.round_trips
                add_field(
                    storage.fields, ours, a_definition(f"city_{number}"), limit=LIMIT, author=AUTHOR
                )
                counts.append(relay.round_trips - before)
    assert min(counts) == 3  # Others include that the pool opens a connection.


def test_an_existing_schema_is_converted_with_its_rows(cluster: CitusCluster) -> None:
    with cluster.new_database() as url:
        migrate(url)
        with closing(PostgresStorage(url)) as storage:
            ours = storage.organizations.add("Ours", NOW).id
            field = add_field(storage.fields, ours, a_definition(), author=AUTHOR)
            key = storage.api_keys.add(a_grant(ours))
        migrate(url, distributed=True)
        migrate(url, distributed=True)
        with closing(PostgresStorage(url)) as storage:
            assert storage.fields.all(ours).fields == (field,)
            assert storage.api_keys.find(key.digest) is not None
            assert (
                add_field(storage.fields, ours, a_definition("town"), author=AUTHOR).id > field.id
            )


def test_the_workers_limit_the_wait_for_locks(cluster: CitusCluster, shared_database: str) -> None:
    database = urlsplit(shared_database).path[1:]
    for worker in cluster.workers:
        assert execute(worker.url(database), "SHOW lock_timeout") == [("1s",)]


def test_a_database_without_citus_stays_as_it_was(cluster: CitusCluster) -> None:
    with new_database(cluster.coordinator.url()) as url:
        with pytest.raises(StorageUnavailable, match="CREATE EXTENSION citus"):
            migrate(url, distributed=True)
        assert execute(url, "SELECT to_regclass('schema_migrations')") == [(None,)]


def test_a_copied_api_key_is_found(storage: PostgresStorage) -> None:
    source = MemoryStorage()
    ours = source.organizations.add("Ours", NOW).id
    key = source.api_keys.add(a_grant(ours))
    copy_storage(source, storage)
    assert storage.api_keys.find(key.digest) == source.api_keys.find(key.digest)
    target = MemoryStorage()
    copy_storage(storage, target)
    assert target.api_keys.find(key.digest) == source.api_keys.find(key.digest)


def test_a_killed_worker_affects_only_its_own_organizations(
    cluster: CitusCluster, own_database: str, own_storage: PostgresStorage
) -> None:
    storage = own_storage
    organizations = [storage.organizations.add(f"Org {n}", NOW).id for n in range(24)]
    keys = {each: storage.api_keys.add(a_grant(each)) for each in organizations}
    workers = {each: cluster.worker_of(own_database, each) for each in organizations}
    killed = workers[organizations[0]]
    assert {worker.port for worker in workers.values()} == {w.port for w in cluster.workers}
    errors = []
    with Traffic(storage, organizations) as traffic:
        killed.kill()
        try:
            for each in organizations:
                try:
                    assert storage.api_keys.find(keys[each].digest)
                    add_field(storage.fields, each, a_definition("during"), author=AUTHOR)
                except StorageUnavailable:
                    errors.append(each)
        finally:
            killed.start()
        started = monotonic()
        eventually(lambda: recovered(storage, organizations), within=10)
        _logger.info("recovered after %.1f s", monotonic() - started)
    assert errors == [each for each in organizations if workers[each] is killed]
    assert {type(error) for _, error in traffic.errors} <= {StorageUnavailable}
    assert {workers[each].port for each, _ in traffic.errors} == {killed.port}
    _logger.info("%d errors in %d calls of 24 organizations", len(traffic.errors), traffic.calls)


def recovered(storage: PostgresStorage, organizations: list[OrganizationId]) -> bool:
    try:
        for each in organizations:
            update_field(storage.fields, each, FieldKey("during"), renaming("Town"), author=AUTHOR)
    except StorageUnavailable:
        return False
    except RecipientFieldsError:  # Not created while its worker was killed.
        add_field(storage.fields, each, a_definition("during"), author=AUTHOR)
        return False
    return True


def test_shards_move_to_an_added_worker_without_an_error(
    cluster: CitusCluster, own_database: str, own_storage: PostgresStorage
) -> None:
    organizations = [own_storage.organizations.add(f"Org {n}", NOW).id for n in range(24)]
    with Traffic(own_storage, organizations) as traffic:
        added = cluster.add_server(own_database)
        execute(own_database, "SELECT rebalance_table_shards(shard_transfer_mode => 'auto')")
    assert any(cluster.worker_of(own_database, each) is added for each in organizations)
    assert traffic.errors == []
    assert traffic.calls > 100
    _logger.info("%d calls without an error", traffic.calls)
    for each in organizations:
        stored = {field.key for field in own_storage.fields.all(each).fields}
        assert stored == traffic.created[each]


class Traffic:
    """Threads that create and list fields of every organization until the block ends."""

    def __init__(self, storage: PostgresStorage, organizations: list[OrganizationId]) -> None:
        self.errors: list[tuple[OrganizationId, Exception]] = []
        self.created: dict[OrganizationId, set[FieldKey]] = {each: set() for each in organizations}
        self.calls = 0
        self._storage = storage
        self._ending = Event()
        self._threads = ThreadPoolExecutor(2)
        self._parts = (organizations[::2], organizations[1::2])

    def __enter__(self) -> Traffic:
        self._running = [self._threads.submit(self._run, part) for part in self._parts]
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._threads.shutdown()
        for each in self._running:
            each.result()

    def _run(self, organizations: list[OrganizationId]) -> None:
        number = 0
        while not self._ending.wait(0.01):
            number += 1
            for each in organizations:
                key = FieldKey(f"city_{number}")
                try:
                    add_field(self._storage.fields, each, a_definition(key), author=AUTHOR)
                    self.created[each].add(key)
                    self._storage.fields.all(each)
                except StorageUnavailable as error:
                    self.errors.append((each, error))
                self.calls += 2


# Statements of requests to the API. The key's owner is in a reference table on the coordinator.
def test_every_statement_of_a_request_is_one_task(storage: PostgresStorage) -> None:
    ours = storage.organizations.add("Ours", NOW).id
    key = storage.api_keys.add(a_grant(ours))
    integration = storage.integrations.add(ours, an_integration_draft())
    with explained() as counts:
        storage.api_keys.find(key.digest)
        storage.api_keys.record_use(ours, key.id, LATER)
        field = add_field(storage.fields, ours, a_definition(), limit=2, author=AUTHOR)
        storage.fields.get(ours, field.id)
        storage.fields.get(ours, field.key)
        storage.fields.all(ours)
        storage.fields.publish(ours)
        storage.fields.select(ours, FieldQuery(limit=10))
        update_field(storage.fields, ours, field.id, renaming("Town"), author=AUTHOR)
        delete_field(storage.fields, ours, field.id, permit, author=AUTHOR, at=LATER)
        storage.integrations.rename(ours, integration.id, "Other")
        storage.integrations.all(ours)
    assert len(counts) >= 15
    assert set(counts.values()) == {1}, {text: n for text, n in counts.items() if n != 1}


@contextmanager
def explained() -> Iterator[dict[str, int]]:
    """Explain each statement of this thread before it is executed, and collect its tasks."""
    counts: dict[str, int] = {}
    thread = current_thread()  # Those of the pool also execute statements.
    execute_statement = psycopg.Connection.execute

    def executed(
        connection: psycopg.Connection[Any], query: Any, values: Any = None, **options: Any
    ) -> Any:
        text = query.decode() if isinstance(query, bytes) else query
        explainable = text.split()[0] in ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
        if explainable and current_thread() is thread:
            explain = f"EXPLAIN (FORMAT JSON) {text}".encode()
            [row] = execute_statement(connection, explain, values, prepare=False).fetchall()
            counts[text] = tasks(row[0][0])
        return execute_statement(connection, query, values, **options)

    with patch.object(DeadlineConnection, "execute", executed):
        yield counts


def tasks(plan: Any) -> int:
    """Return the number of tasks in a plan of Citus."""
    if isinstance(plan, dict):
        return plan.get("Task Count", 0) + sum(map(tasks, plan.values()))
    return sum(map(tasks, plan)) if isinstance(plan, list) else 0
