"""Copies to and from PostgreSQL: outages, limits, privileges, and the schema of a new database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from time import monotonic, sleep
from urllib.parse import urlsplit

import psycopg
import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.postgres import PostgresStorage, migrate, migrate_new
from recipient_fields.adapters.postgres.connection import LongRunningConnection, parse_url
from recipient_fields.adapters.postgres.transfer import Transfer
from recipient_fields.application import copy_storage
from recipient_fields.domain import StorageNotEmpty, StorageUnavailable
from recipient_fields.testing.examples import NOW

from ...support.postgres import PostgresServer, execute, new_database
from ...support.waiting import eventually
from ..snapshots import OURS, nothing, snapshot_of
from .databases import database_set, waiting

pytestmark = pytest.mark.slow

MANY = 3_000
"""Fields that need several round trips to be read."""


@pytest.fixture
def fragile(server: PostgresServer) -> Iterator[str]:
    """Create a migrated database on a server that the tests break."""
    with new_database(server.url()) as url:
        migrate(url)
        yield url
        server.bring_back()


@pytest.fixture(params=["kill", "terminate_backends", "freeze"])
def outage(request: pytest.FixtureRequest, server: PostgresServer) -> Callable[[], None]:
    """Break the server, or the connections to it, when the result is called."""
    broken: Callable[[], None] = getattr(server, request.param)
    return broken


class ImpatientConnection(LongRunningConnection):
    round_trip_timeout = 0.5


def impatient(url: str, *, rows_per_batch: int = 5_000) -> Transfer:
    """Return copies of a database whose round trips may take 0.5 s."""
    return Transfer(
        parse_url(url), rows_per_batch=rows_per_batch, connection_type=ImpatientConnection
    )


def at(moment: int, act: Callable[[], None]) -> Callable[[int], None]:
    return lambda number: act() if number == moment else None


def is_empty(storage: PostgresStorage) -> bool:
    with storage.snapshot() as snapshot:
        return snapshot.organizations.count == snapshot.fields.count == 0


def test_a_copy_to_a_server_that_fails_ends_with_an_error_and_stores_nothing(
    server, fragile, outage, caplog
):
    with pytest.raises(StorageUnavailable, match=r"^PostgreSQL: "):
        impatient(fragile, rows_per_batch=10).store(snapshot_of(100, at(50, outage)))
    server.bring_back()
    assert [r for r in caplog.records if r.name == "psycopg"] == []
    with closing(PostgresStorage(fragile)) as storage:
        assert is_empty(storage)
        storage.store_snapshot(snapshot_of(100))
        assert len(storage.fields.all(OURS).fields) == 100


def test_a_copy_from_a_server_that_fails_ends_with_an_error(fragile, outage, caplog):
    with closing(PostgresStorage(fragile)) as storage:
        storage.store_snapshot(snapshot_of(MANY))
        with pytest.raises(StorageUnavailable, match=r"^PostgreSQL: "):
            read_until_the_end(impatient(fragile), at(10, outage))
    assert [r for r in caplog.records if r.name == "psycopg"] == []


def read_until_the_end(storage: PostgresStorage | Transfer, before: Callable[[int], None]) -> None:
    with storage.snapshot() as snapshot:
        for number, _ in enumerate(snapshot.fields):
            before(number)


@pytest.mark.parametrize(
    "limit", ["statement_timeout = '20ms'", "idle_in_transaction_session_timeout = '100ms'"]
)
def test_a_copy_outlasts_the_limits_of_its_sessions(database, limit):
    with database_set(database, limit):
        copies = Transfer(parse_url(database), rows_per_batch=MANY)
        copies.store(snapshot_of(MANY, at(1, lambda: sleep(0.3))))
        read_until_the_end(copies, at(1, lambda: sleep(0.3)))


def test_a_copy_is_not_limited_by_the_deadline_of_other_calls(database):
    began = monotonic()
    impatient(database, rows_per_batch=1).store(snapshot_of(5, lambda _: sleep(0.6)))
    assert monotonic() - began > 2.5
    with closing(PostgresStorage(database)) as storage:
        assert len(storage.fields.all(OURS).fields) == 5


def test_readers_of_the_target_are_not_blocked_by_a_copy(database):
    with closing(PostgresStorage(database)) as storage:
        seen: list[object] = []
        read = at(50, lambda: seen.append(storage.organizations.all()))
        storage.store_snapshot(snapshot_of(100, read))
        assert seen == [()]


NEW_ORGANIZATION = "INSERT INTO organizations (name, revision, created_at) VALUES ('New', 1, now())"


def test_an_organization_that_another_process_is_creating_rejects_the_copy(database):
    with closing(PostgresStorage(database)) as storage, psycopg.connect(database) as other:
        other.execute(NEW_ORGANIZATION)
        with pytest.raises(StorageUnavailable, match="Another process is storing organizations"):
            storage.store_snapshot(snapshot_of(1))


def test_an_organization_that_is_committed_before_the_lock_is_granted_rejects_the_copy(database):
    with (
        closing(PostgresStorage(database)) as storage,
        psycopg.connect(database) as other,
        database_set(database, "default_transaction_isolation = 'serializable'"),
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute(NEW_ORGANIZATION)
        copy = pool.submit(storage.store_snapshot, snapshot_of(1))
        eventually(lambda: waiting(database), within=10)
        other.commit()
        with pytest.raises(StorageNotEmpty):
            copy.result()


def test_an_organization_waits_until_a_copy_has_ended(database):
    with closing(PostgresStorage(database)) as storage:

        def create() -> None:
            with pytest.raises(StorageUnavailable):
                storage.organizations.add("New", NOW)

        storage.store_snapshot(snapshot_of(2, at(1, create)))
        assert [each.name for each in storage.organizations.all()] == ["ACME"]


def test_two_urls_of_one_database_are_identical(database):
    address = urlsplit(database)
    other = address._replace(netloc=address.netloc.replace("127.0.0.1", "localhost"))
    with (
        closing(PostgresStorage(database)) as one,
        closing(PostgresStorage(other._replace(query="connect_timeout=3").geturl())) as same,
    ):
        assert one.identity() == same.identity()


def test_two_schemas_of_one_database_are_not_identical(database):
    execute(database, "CREATE SCHEMA IF NOT EXISTS other")
    other = f"{database}?options=-csearch_path%3Dother"
    migrate(other)
    with closing(PostgresStorage(database)) as one, closing(PostgresStorage(other)) as two:
        assert one.identity() != two.identity()
        one.store_snapshot(snapshot_of(2))
        copy_storage(one, two)
        assert two.fields.all(OURS) == one.fields.all(OURS)
    execute(database, "DROP SCHEMA other CASCADE")


def test_the_error_of_a_role_without_the_sequences_names_the_owner(role_of_rows):
    hint = "permission denied for sequence .* Copy as the role that owns the tables"
    with closing(PostgresStorage(role_of_rows)) as storage:
        with pytest.raises(StorageUnavailable, match=hint):
            storage.store_snapshot(snapshot_of(1))
        with pytest.raises(StorageUnavailable, match=hint):
            read_until_the_end(storage, nothing)


def test_a_damaged_row_ends_a_copy_and_is_named(database):
    with closing(PostgresStorage(database)) as storage:
        storage.store_snapshot(snapshot_of(3))
        execute(database, "UPDATE recipient_fields SET key = 'Not a key' WHERE id = 2")
        with pytest.raises(StorageUnavailable, match="The row recipient_fields 2 breaks a rule"):
            read_until_the_end(storage, nothing)


def test_a_database_without_a_schema_gets_all_of_it(empty_database):
    migrate_new(empty_database)
    with closing(PostgresStorage(empty_database)) as storage, closing(MemoryStorage()) as memory:
        memory.store_snapshot(snapshot_of(2))
        copy_storage(memory, storage)
        assert storage.fields.all(OURS).fields == memory.fields.all(OURS).fields


def test_an_older_schema_is_not_changed(empty_database):
    migrate(empty_database)
    last = "(SELECT max(name) FROM schema_migrations)"
    execute(empty_database, f"DELETE FROM schema_migrations WHERE name = {last}")
    migrate_new(empty_database)
    with pytest.raises(StorageUnavailable, match="Run recipient-fields migrate"):
        PostgresStorage(empty_database)


def test_a_new_schema_is_created_completely_or_not_at_all(empty_database):
    execute(empty_database, "CREATE TABLE integrations (title text)")
    with pytest.raises(StorageUnavailable, match="already exists"):
        migrate_new(empty_database)
    execute(empty_database, "DROP TABLE integrations")
    migrate_new(empty_database)
    PostgresStorage(empty_database).close()
