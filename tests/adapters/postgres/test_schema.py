"""The constraints of the schema, and its migrations."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from itertools import count
from threading import Event
from time import monotonic, sleep
from typing import Self
from urllib.parse import urlsplit

import psycopg
import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.adapters.postgres.schema import Migration, apply_migrations
from recipient_fields.adapters.row_mapping import UnreadableRow
from recipient_fields.domain import FieldKey, StorageUnavailable
from recipient_fields.testing import READS, WRITES, fill_for_calls
from recipient_fields.testing.examples import (
    AUTHOR,
    a_definition,
    a_grant,
    renaming,
)
from recipient_fields.testing.field_changes import add_field, update_field

from ...support.postgres import PASSWORD, execute
from ...support.upgrading import undo_statements
from ...support.waiting import eventually
from .databases import inserting

BROKEN = {
    "recipient_fields_organization": {"organization_id": "2"},
    "recipient_fields_data_type": {"data_type": "'money'"},
    "recipient_fields_source": {"source": "'elsewhere'"},
    "recipient_fields_integration_id": {"integration_id": "1"},
    "recipient_fields_esp_field_name": {"esp_field_name": "'CITY'"},
    "recipient_fields_allowed_values": {"data_type": "'boolean'", "allowed_values": "'[1]'"},
    "recipient_fields_times": {"updated_at": "'2026-11-20T09:15:00.122Z'"},
    "recipient_fields_version": {"version": "0"},
    "recipient_fields_key_once": {"key": "'taken'"},
}


@pytest.mark.parametrize(("constraint", "members"), BROKEN.items(), ids=BROKEN)
@pytest.mark.usefixtures("ours")
def test_the_error_for_an_invalid_row_names_the_constraint(database, constraint, members):
    execute(database, inserting(key="'taken'"))
    execute(database, inserting())
    execute(database, "DELETE FROM recipient_fields WHERE key = 'city'")
    with pytest.raises(psycopg.IntegrityError) as refused:
        execute(database, inserting(**members))
    assert refused.value.diag.constraint_name == constraint


@pytest.mark.usefixtures("ours")
def test_only_the_server_assigns_ids(database):
    with pytest.raises(psycopg.errors.GeneratedAlways):
        execute(database, inserting(id="7"))


def unreadable(call: Callable[[], object]) -> str:
    """Return the row that the error of the call names."""
    with pytest.raises(UnreadableRow) as raised:
        call()
    return str(raised.value)


def test_a_damaged_row_is_unavailable_and_not_an_invalid_request(database, storage, ours):
    field = add_field(storage.fields, ours, a_definition("spoiled"), author=AUTHOR)
    key = storage.api_keys.add(a_grant(ours))
    execute(database, "UPDATE recipient_fields SET name = E'a\\nb'")
    execute(database, "UPDATE api_keys SET name = ''")
    rename = partial(update_field, storage.fields, ours, FieldKey("spoiled"), renaming("Town"))
    assert unreadable(lambda: storage.fields.get(ours, field.id)) == f"recipient_fields {field.id}"
    assert unreadable(lambda: rename(author=AUTHOR)) == f"recipient_fields {field.id}"
    assert unreadable(lambda: storage.fields.all(ours)) == f"recipient_fields {field.id}"
    assert unreadable(lambda: storage.api_keys.all(ours)) == f"api_keys {key.id}"


def test_a_row_that_can_not_be_converted_is_named(database, storage, ours):
    """JSON with a number that Python can't read, and a year after 9999."""
    field = add_field(storage.fields, ours, a_definition(), author=AUTHOR)
    key = storage.api_keys.add(a_grant(ours))
    execute(database, "UPDATE organizations SET name = ''")
    execute(
        database,
        "UPDATE recipient_fields SET allowed_values = ('[' || repeat('7', 5000) || ']')::json",
    )
    execute(database, "UPDATE api_keys SET expires_at = '10000-01-01T00:00:00Z'")
    assert unreadable(storage.organizations.all) == f"organizations {ours}"
    assert unreadable(lambda: storage.fields.all(ours)) == f"recipient_fields {field.id}"
    assert unreadable(lambda: storage.api_keys.find(key.digest)) == f"api_keys {key.id}"


def test_migrating_a_current_schema_applies_nothing(empty_database):
    assert migrate(empty_database) == len(MIGRATIONS) == 16
    assert migrate(empty_database) == 0


LAST = {name: undo for name, undo in undo_statements().items() if name >= "0004_history"}
WITHOUT_HISTORY = "".join(LAST.values())
"""Undoes the last migrations."""
UNDONE = len(LAST)
"""The number of migrations that this undoes."""

MIGRATIONS = ["0001_initial", *reversed(undo_statements())]
MIGRATING = (
    "import sys; from recipient_fields.adapters.postgres import migrate; migrate(sys.argv[1])"
)


def migrate_without_history(url: str) -> None:
    migrate(url)
    execute(url, WITHOUT_HISTORY)


def migrating(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", MIGRATING, url])


@pytest.mark.slow
def test_eight_concurrent_processes_apply_each_migration_once(empty_database):
    processes = [migrating(empty_database) for _ in range(8)]
    assert [process.wait(30) for process in processes] == [0] * 8
    names = execute(empty_database, "SELECT name FROM schema_migrations")
    assert names == [(name,) for name in MIGRATIONS]


def test_a_process_applies_only_migrations_that_it_has_prepared(empty_database):
    """Another process applies each of them in between."""
    prepared: list[str] = []

    class Stopped(Exception):
        """The other process has applied one migration."""

    with (
        psycopg.connect(empty_database, autocommit=True) as connection,
        psycopg.connect(empty_database, autocommit=True) as other,
    ):

        def prepare(migration: Migration) -> None:
            prepared.append(migration.name)
            with suppress(Stopped):
                apply_migrations(other, stop)

        def stop(migration: Migration) -> None:
            if migration.name != prepared[-1]:
                raise Stopped

        assert apply_migrations(connection, prepare) == 0
    assert [(name,) for name in prepared] == execute(
        empty_database, "SELECT name FROM schema_migrations ORDER BY name"
    )


def test_a_migration_that_waited_too_long_for_a_lock_is_tried_again(empty_database):
    migrate_without_history(empty_database)
    with ThreadPoolExecutor(1) as threads, psycopg.connect(empty_database) as reader:
        reader.execute("SELECT FROM organizations")
        migrated = threads.submit(migrate, empty_database)
        sleep(1.2)  # longer than a migration waits for a lock, and than the pause after it
        assert not migrated.done()
        execute(empty_database, "SET lock_timeout = '900ms'; SELECT FROM organizations")
        reader.rollback()
        assert migrated.result() == UNDONE


def test_a_migration_that_is_killed_halfway_completes_when_repeated(empty_database):
    """It is blocked before its last statement: the table exists, the record does not."""
    migrate_without_history(empty_database)
    with (
        psycopg.connect(empty_database) as holder,
        psycopg.connect(empty_database, autocommit=True) as observer,
    ):
        holder.execute("LOCK TABLE schema_migrations IN EXCLUSIVE MODE")
        process = migrating(empty_database)
        eventually(
            lambda: observer.execute(
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
                " AND wait_event_type = 'Lock' AND query LIKE 'INSERT%'"
            ).fetchall(),
            within=10,
        )
        process.kill()
        process.wait(10)
    with pytest.raises(StorageUnavailable, match="behind"):
        PostgresStorage(empty_database)
    assert migrate(empty_database) == UNDONE
    PostgresStorage(empty_database).close()


def test_an_index_whose_build_was_killed_is_built_again(empty_database):
    migrate_without_history(empty_database)
    execute(
        empty_database,
        "CREATE UNIQUE INDEX api_keys_of_organization ON api_keys (organization_id, id);"
        " UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid = 'api_keys_of_organization'::regclass",
    )
    assert migrate(empty_database) == UNDONE
    assert key_columns(empty_database, "api_keys_pk") == [("organization_id",), ("id",)]


@pytest.mark.parametrize(
    "table",
    [
        *("recipient_fields", "recipient_field_changes", "recipient_field_values"),
        *("api_keys", "integrations"),
    ],
)
def test_the_first_column_of_each_primary_key_is_the_organization(database, table):
    assert key_columns(database, f"{table}_pk")[0] == ("organization_id",)


def key_columns(database: str, constraint: str) -> list[tuple[object, ...]]:
    return execute(
        database,
        "SELECT attname FROM pg_constraint, unnest(conkey) WITH ORDINALITY AS key (number, place)"
        f" JOIN pg_attribute ON attnum = number WHERE conname = '{constraint}'"
        " AND attrelid = conrelid ORDER BY place",
    )


WRITE = f"""
    WITH catalog AS (UPDATE organizations SET revision = revision + 1 WHERE id = 1)
    {inserting(key="%s")}
"""
"""A creation by the version of this package that has no history."""


@pytest.fixture
def without_history(empty_database: str) -> str:
    """Return a database with 200,000 fields and the schema before the last seven migrations."""
    migrate_without_history(empty_database)
    execute(
        empty_database,
        "INSERT INTO organizations (name, revision, created_at)"
        " SELECT 'Organization ' || number, 1, now() FROM generate_series(1, 200) AS number;"
        " INSERT INTO recipient_fields (organization_id, name, folded_name, key, data_type,"
        " insertable, source, created_at, updated_at, version)"
        " SELECT 1 + number % 200, 'City', 'city', 'city_' || number, 'text', true, 'api',"
        " now(), now(), 1 FROM generate_series(1, 200000) AS number",
    )
    return empty_database


@pytest.mark.slow
def test_the_migration_of_a_large_table_blocks_no_writer_for_a_second(without_history):
    """It is repeated, because a deadlock with a writer would depend on the moment."""
    with Writers(without_history) as writers:
        for _ in range(10):
            assert migrate(without_history) == UNDONE
            sleep(0.1)
            execute(without_history, WITHOUT_HISTORY)
    assert len(writers.durations) > 100
    assert max(writers.durations) < 1


@pytest.mark.slow
def test_a_migration_that_waits_for_a_long_transaction_blocks_no_writer_for_a_second(
    without_history,
):
    with psycopg.connect(without_history) as reading, Writers(without_history) as writers:
        reading.execute("SELECT FROM organizations")
        sleep(0.2)
        with pytest.raises(StorageUnavailable, match="lock timeout"):
            migrate(without_history)
    assert 0.3 < max(writers.durations) < 1
    assert migrate(without_history) == UNDONE


MILLION_KEYS = """
    SET session_replication_role = replica; -- without checks of the foreign keys
    INSERT INTO integrations (organization_id, esp, name, created_at)
    SELECT 1 + number % 200, 'mailchimp', 'List', now() FROM generate_series(1, 1000000) AS number;
    INSERT INTO api_keys (organization_id, name, access, digest, display, created_at)
    SELECT 1 + number % 200, 'CI', 'read_only', sha256(number::text::bytea), 'rf_', now()
    FROM generate_series(1, 1000000) AS number
"""
USE_KEY = "UPDATE api_keys SET last_used_at = now() WHERE id = %s AND organization_id = %s"
SYNC = "UPDATE integrations SET last_synced_at = now() WHERE id = %s"
"""Statements of the versions whose keys are only the id."""


@pytest.mark.slow
def test_new_keys_of_a_million_rows_block_no_writer_for_a_second(without_history):
    execute(without_history, MILLION_KEYS)
    durations: list[float] = []
    with ThreadPoolExecutor(1) as threads:
        migrated = threads.submit(migrate, without_history)
        with psycopg.connect(without_history, autocommit=True) as connection:
            for number in count(1):
                began = monotonic()
                connection.execute(USE_KEY, (number, 1 + number % 200))
                connection.execute(SYNC, (number,))
                durations.append(monotonic() - began)
                if migrated.done():
                    break
        assert migrated.result() == UNDONE
    assert len(durations) > 10
    assert max(durations) < 1


def test_an_index_build_waits_for_a_writer_without_blocking_the_others(empty_database):
    migrate_without_history(empty_database)
    with ThreadPoolExecutor(1) as threads:
        with psycopg.connect(empty_database) as writer:
            writer.execute("UPDATE api_keys SET last_used_at = now()")
            migrated = threads.submit(migrate, empty_database)
            eventually(
                lambda: execute(
                    empty_database,
                    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
                    " AND wait_event_type = 'Lock' AND query LIKE 'CREATE UNIQUE INDEX%api_keys%'",
                ),
                within=20,
            )
            sleep(0.6)  # longer than a migration waits for a lock
            execute(empty_database, "SET lock_timeout = '1ms'; UPDATE api_keys SET name = 'CI'")
        assert migrated.result() == UNDONE


class Writers:
    """Four threads that create fields until the block ends, and how long each creation took."""

    def __init__(self, database: str) -> None:
        self.durations: list[float] = []
        self._database = database
        self._ending = Event()
        self._threads = ThreadPoolExecutor(4)

    def __enter__(self) -> Self:
        self._running = [self._threads.submit(self._write, number) for number in range(4)]
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._threads.shutdown()
        for each in self._running:
            each.result()

    def _write(self, writer: int) -> None:
        with psycopg.connect(self._database, autocommit=True) as connection:
            for number in count():
                if self._ending.is_set():
                    return
                began = monotonic()
                with connection.transaction():
                    connection.execute("SELECT FROM organizations WHERE id = 1 FOR NO KEY UPDATE")
                    connection.execute(WRITE.encode(), (f"written_{writer}_{number}",))
                self.durations.append(monotonic() - began)


def test_a_migration_that_fails_reports_the_reason_on_one_line(empty_database):
    execute(empty_database, "CREATE TABLE organizations ()")
    with pytest.raises(StorageUnavailable) as refused:
        migrate(empty_database)
    assert str(refused.value) == 'PostgreSQL: relation "organizations" already exists'
    assert execute(empty_database, "SELECT to_regclass('schema_migrations')") == [(None,)]


@pytest.fixture
def service_url(empty_database: str) -> Iterator[str]:
    """Return the URL of a role with only the privileges in docs/deploy/roles.sql."""
    database = urlsplit(empty_database).path[1:]
    role = f"service_{database[-8:]}"
    execute(empty_database, f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    execute(empty_database, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
    execute(empty_database, f"GRANT USAGE ON SCHEMA public TO {role}")
    execute(
        empty_database,
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public"
        f" GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    )
    url = urlsplit(empty_database)
    host = url.netloc.rpartition("@")[2]
    try:
        yield url._replace(netloc=f"{role}:{PASSWORD}@{host}").geturl()
    finally:
        execute(empty_database, f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_role_that_can_only_access_rows_serves_but_does_not_migrate(empty_database, service_url):
    with pytest.raises(StorageUnavailable, match="permission denied for schema public"):
        migrate(service_url)
    migrate(empty_database)
    assert migrate(service_url) == 0
    with closing(PostgresStorage(service_url)) as storage:
        fill_for_calls(storage)
        for call in (*READS.values(), *WRITES.values()):
            call(storage)
    for statement in ("CREATE TABLE more ()", "DROP TABLE api_keys", "TRUNCATE api_keys"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(service_url, statement)
