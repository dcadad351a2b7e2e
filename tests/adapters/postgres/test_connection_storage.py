"""The storage over connections of an application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from operator import attrgetter
from threading import Lock, Thread, Timer, current_thread
from time import monotonic
from typing import Any, NoReturn

import psycopg
import pytest
from psycopg import ClientCursor, Connection, IsolationLevel
from psycopg.errors import InFailedSqlTransaction, QueryCanceled
from psycopg.rows import dict_row
from psycopg.types.string import TextLoader

from recipient_fields.adapters.postgres import PostgresConnectionStorage, PostgresStorage, migrate
from recipient_fields.domain import (
    KeyTaken,
    RecipientField,
    StorageUnavailable,
)
from recipient_fields.testing import (
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
)
from recipient_fields.testing.examples import AUTHOR, LATER, NOW, a_definition, permit, renaming
from recipient_fields.testing.field_changes import add_field, delete_field, update_field

from ...support.postgres import execute, new_database
from .databases import inserting
from .test_contract import close_to_everyone

pytestmark = pytest.mark.slow


class Host:
    """Opens one connection per thread, with an unusual configuration."""

    def __init__(self, url: str, **terms: Any) -> None:
        self._url = url
        self._terms = terms
        self._lock = Lock()
        self._connections: dict[Thread, Connection[Any]] = {}

    def connect(self) -> Connection[Any]:
        with self._lock:
            for thread in [each for each in self._connections if not each.is_alive()]:
                self._connections.pop(thread).close()
            connection = self._connections.get(current_thread())
        if connection is None or connection.closed:
            connection = psycopg.connect(self._url, **{"autocommit": True, **self._terms})
            # What a host may have set to its taste.
            for type_name in ("int8", "bool", "text", "json", "timestamp", "timestamptz", "bytea"):
                connection.adapters.register_loader(type_name, UnusableLoader)
            with self._lock:
                self._connections[current_thread()] = connection
        return connection

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


class UnusableLoader(TextLoader):
    """Loads every value as a text that the storage can't use."""

    def load(self, data: Any) -> str:
        return f"{super().load(data)!r}!"


@contextmanager
def opened_storage(
    url: str, schema: str | None = None, **terms: Any
) -> Iterator[PostgresConnectionStorage]:
    host = Host(url, **terms)
    try:
        yield PostgresConnectionStorage(host.connect, schema=schema)
    finally:
        host.close()


OWN_SCHEMA = 'the "fields"'
CONFIGURATION: dict[str, Any] = {
    "row_factory": dict_row,
    "cursor_factory": ClientCursor,
    "prepare_threshold": 0,
    "options": "-c TimeZone=Pacific/Kiritimati -c DateStyle=German -c IntervalStyle=iso_8601",
}


@pytest.fixture(scope="module")
def shared_schema_database(server_url: str) -> Iterator[str]:
    """Create a database that has other tables with the same names."""
    with new_database(server_url) as url:
        for table in ("organizations", "schema_migrations", "recipient_fields"):
            execute(url, f"CREATE TABLE {table} (version text)")
        with opened_storage(url, OWN_SCHEMA) as storage:
            storage.migrate()
        yield url


class TestPostgresConnectionStorage(StorageContract):
    """The connection has an unusual configuration, and the tables a schema of their own."""

    concurrent_calls = 16  # Each has its own connection, and the server permits forty.

    @pytest.fixture
    def storage(self, shared_schema_database: str) -> Iterator[PostgresConnectionStorage]:
        with opened_storage(shared_schema_database, OWN_SCHEMA, **CONFIGURATION) as storage:
            yield storage


class TestPostgresConnectionDurability(StorageDurabilityContract):
    @pytest.fixture
    def opened(
        self, database: str
    ) -> Callable[[], AbstractContextManager[PostgresConnectionStorage]]:
        return lambda: opened_storage(database)


class TestApplicationThatCannotConnect(StorageOutageContract):
    @pytest.fixture
    def broken_storage(
        self, server_url: str, empty_database: str
    ) -> Iterator[PostgresConnectionStorage]:
        migrate(empty_database)
        close_to_everyone(server_url, empty_database.rpartition("/")[2])
        with opened_storage(empty_database) as storage:
            yield storage


class FrameworkError(Exception):
    """An error that a framework raises from the driver's."""


class TestFrameworkThatCannotConnect(StorageOutageContract):
    @pytest.fixture
    def broken_storage(
        self, server_url: str, empty_database: str
    ) -> Iterator[PostgresConnectionStorage]:
        close_to_everyone(server_url, empty_database.rpartition("/")[2])

        def connect() -> Connection[Any]:
            try:
                return psycopg.connect(empty_database)
            except psycopg.Error as error:
                raise FrameworkError("no connection") from error

        return PostgresConnectionStorage(connect)  # type: ignore[return-value]


class TestMissingTables(StorageOutageContract):
    @pytest.fixture
    def broken_storage(self, empty_database: str) -> Iterator[PostgresConnectionStorage]:
        with opened_storage(empty_database) as storage:
            yield storage


class TestClosedConnection(StorageOutageContract):
    @pytest.fixture
    def broken_storage(self, database: str) -> PostgresConnectionStorage:
        with psycopg.connect(database) as connection:
            pass
        return PostgresConnectionStorage(lambda: connection)


@pytest.fixture(params=[True, False], ids=["autocommit", "no autocommit"])
def host(request: pytest.FixtureRequest, database: str) -> Iterator[Connection[Any]]:
    """Open the application's connection, and create a table of the application."""
    execute(database, "CREATE TABLE IF NOT EXISTS campaigns (name text)")
    execute(database, "TRUNCATE campaigns")
    with psycopg.connect(database, autocommit=request.param) as connection:
        yield connection
    execute(database, "DROP TABLE campaigns")


@pytest.fixture
def over(host: Connection[Any]) -> PostgresConnectionStorage:
    return PostgresConnectionStorage(lambda: host)


@contextmanager
def committing(connection: Connection[Any], *, after: float) -> Iterator[None]:
    """Commit while the block runs."""
    timer = Timer(after, connection.commit)
    timer.start()
    yield
    timer.join()


def campaigns(database: str) -> list[tuple[object, ...]]:
    return execute(database, "SELECT name FROM campaigns ORDER BY name")


@pytest.mark.parametrize("commits", [True, False])
def test_a_field_and_a_row_of_the_application_are_committed_or_rolled_back_together(
    database, host, over, storage, ours, commits
):
    with pytest.raises(ZeroDivisionError) if not commits else nullcontext(), host.transaction():
        host.execute("INSERT INTO campaigns VALUES ('before')")
        field = add_field(over.fields, ours, a_definition(), author=AUTHOR)
        update_field(over.fields, ours, field.id, renaming("Town"), author=AUTHOR)
        host.execute("INSERT INTO campaigns VALUES ('after')")
        assert over.fields.get(ours, field.id).name == "Town"
        assert storage.fields.all(ours).fields == ()
        if not commits:
            raise ZeroDivisionError
    assert [f.name for f in storage.fields.all(ours).fields] == (["Town"] if commits else [])
    assert campaigns(database) == ([("after",), ("before",)] if commits else [])


@pytest.mark.parametrize("commits", [True, False])
def test_a_change_that_begins_the_transaction_is_part_of_it(database, storage, ours, commits):
    """Without autocommit, the first statement begins the transaction, also one of the storage."""
    with psycopg.connect(database) as host:
        over = PostgresConnectionStorage(lambda: host)
        add_field(over.fields, ours, a_definition(), author=AUTHOR)
        assert storage.fields.all(ours).fields == ()
        if not commits:
            host.rollback()
    assert len(storage.fields.all(ours).fields) == commits


def divide_by_zero(_: RecipientField) -> NoReturn:
    raise ZeroDivisionError


def test_a_method_that_raises_undoes_only_its_own_changes(host, over, database, ours):
    with host.transaction():
        host.execute("INSERT INTO campaigns VALUES ('before')")
        add_field(over.fields, ours, a_definition("city"), author=AUTHOR)
        with pytest.raises(KeyTaken):
            add_field(over.fields, ours, a_definition("city"), author=AUTHOR)
        with pytest.raises(ZeroDivisionError):
            update_field(over.fields, ours, a_definition("city").key, divide_by_zero, author=AUTHOR)
        add_field(over.fields, ours, a_definition("town"), author=AUTHOR)
    assert [field.key for field in over.fields.all(ours).fields] == ["city", "town"]
    assert campaigns(database) == [("before",)]


def test_an_error_of_the_server_does_not_end_the_application_s_transaction(
    server_url, empty_database
):
    with psycopg.connect(empty_database) as host:
        over = PostgresConnectionStorage(lambda: host)
        host.execute("CREATE TABLE campaigns (name text)")
        for call in (over.check, over.organizations.all, lambda: over.api_keys.find(bytes(32))):
            with pytest.raises(StorageUnavailable):
                call()
        with pytest.raises(StorageUnavailable):
            over.organizations.add("Ours", NOW)
        host.execute("INSERT INTO campaigns VALUES ('still here')")
    assert campaigns(empty_database) == [("still here",)]


def test_a_failed_transaction_of_the_application_stays_failed(host, over, ours):
    with host.transaction(force_rollback=True):
        with pytest.raises(psycopg.Error):
            host.execute("SELECT 1 / 0")
        with pytest.raises(InFailedSqlTransaction):
            over.fields.all(ours)
    assert over.fields.all(ours).fields == ()


SHOWN = ("lock_timeout", "statement_timeout", "search_path", "idle_in_transaction_session_timeout")


def settings(connection: Connection[Any]) -> list[Any]:
    return [connection.execute(f"SHOW {name}").fetchone() for name in SHOWN]


@pytest.mark.parametrize("schema", [None, "fields"])
def test_every_method_restores_the_settings_of_the_transaction(host, database, ours, schema):
    over = PostgresConnectionStorage(lambda: host, schema=schema)
    host.execute("SET search_path = public, pg_catalog")
    if not host.autocommit:
        host.commit()
    outside = settings(host)
    host.rollback()
    with host.transaction():
        host.execute("SET LOCAL statement_timeout = '7s'")
        inside = settings(host)
        over.migrate()
        theirs = over.organizations.add("Ours", NOW).id
        field = add_field(over.fields, theirs, a_definition(), author=AUTHOR)
        delete_field(over.fields, theirs, field.id, permit, author=AUTHOR, at=LATER)
        add_field(over.fields, theirs, a_definition(), author=AUTHOR)
        with pytest.raises(ZeroDivisionError):
            update_field(over.fields, theirs, a_definition().key, divide_by_zero, author=AUTHOR)
        over.check()
        assert settings(host) == inside
    assert settings(host) == outside
    host.rollback()
    execute(database, "DROP SCHEMA IF EXISTS fields CASCADE")


@pytest.mark.parametrize("in_transaction", [True, False])
def test_a_method_waits_a_second_for_a_lock(host, over, database, ours, in_transaction):
    with psycopg.connect(database) as other:
        other.execute("SELECT FROM organizations FOR UPDATE")
        with host.transaction() if in_transaction else nullcontext():
            with pytest.raises(StorageUnavailable, match="55P03"):
                add_field(over.fields, ours, a_definition(), author=AUTHOR)
            host.execute("INSERT INTO campaigns VALUES ('still here')")


def test_the_application_s_statement_timeout_applies(host, over, database, ours):
    with psycopg.connect(database) as other, host.transaction():
        other.execute("SELECT FROM organizations FOR UPDATE")
        host.execute("SET LOCAL lock_timeout = '5s'")
        host.execute("SET LOCAL statement_timeout = '200ms'")
        begun = monotonic()
        with pytest.raises(StorageUnavailable) as unavailable:
            add_field(over.fields, ours, a_definition(), author=AUTHOR)
        assert monotonic() - begun < 2
    assert isinstance(unavailable.value.__cause__, QueryCanceled)


def test_the_application_s_lock_timeout_applies(host, over, database, ours):
    with psycopg.connect(database) as other:
        other.execute("SELECT FROM organizations FOR UPDATE")
        with committing(other, after=1.5), host.transaction():
            host.execute("SET LOCAL lock_timeout = '10s'")
            add_field(over.fields, ours, a_definition(), author=AUTHOR)
    assert len(over.fields.all(ours).fields) == 1


def test_the_connection_keeps_its_configuration(database, host, ours):
    notices: list[str | None] = []
    notified: list[str] = []
    host.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    host.add_notify_handler(lambda notify: notified.append(notify.payload))
    host.execute("LISTEN host", prepare=True)
    host.execute("SELECT %s", (1,), prepare=True)
    host.commit() if not host.autocommit else None
    over = PostgresConnectionStorage(lambda: host)
    configuration = attrgetter("autocommit", "isolation_level", "prepare_threshold", "row_factory")
    before = configuration(host)

    for _ in range(7):
        over.organizations.all()
    add_field(over.fields, ours, a_definition(), author=AUTHOR)
    over.close()
    host.commit() if not host.autocommit else None

    assert configuration(host) == before
    assert host.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    assert not host.closed
    host.execute("SELECT %s", (1,), prepare=True)
    host.execute("DO $$ BEGIN RAISE NOTICE 'hello'; END $$")
    host.execute("NOTIFY host, 'hello'")
    host.commit() if not host.autocommit else None
    assert notices == ["hello"]
    assert notified == ["hello"]


def test_a_serialization_failure_in_the_application_s_transaction_is_raised(
    database, storage, ours
):
    """Its snapshot is older than the change, so that nothing it wrote could be right."""
    with psycopg.connect(database) as host:
        host.isolation_level = IsolationLevel.SERIALIZABLE
        over = PostgresConnectionStorage(lambda: host)
        assert over.fields.all(ours).fields == ()
        add_field(storage.fields, ours, a_definition("city"), author=AUTHOR)
        with pytest.raises(StorageUnavailable, match="40001"):
            add_field(over.fields, ours, a_definition("city"), author=AUTHOR)
        host.rollback()
        with pytest.raises(KeyTaken):
            add_field(over.fields, ours, a_definition("city"), author=AUTHOR)


def test_a_change_outside_a_transaction_is_read_committed(database, ours):
    options = "-c default_transaction_isolation=serializable"
    with opened_storage(database, options=options) as over, ThreadPoolExecutor(8) as threads:
        field = add_field(over.fields, ours, a_definition(name="0"), author=AUTHOR)

        def increase(stored: RecipientField) -> RecipientField:
            return renaming(str(int(stored.name) + 1))(stored)

        def count(_: int) -> None:
            update_field(over.fields, ours, field.id, increase, author=AUTHOR)

        list(threads.map(count, range(80)))
        assert over.fields.get(ours, field.id).name == "80"


def test_a_key_inserted_without_the_lock_is_reported_within_a_transaction(
    host, over, database, ours
):
    """A statement by hand does not lock the organization; the retry finds its field."""
    with psycopg.connect(database) as hand:
        hand.execute(inserting(organization_id=str(ours)).encode())
        with committing(hand, after=0.3), host.transaction():
            host.execute("INSERT INTO campaigns VALUES ('before')")
            with pytest.raises(KeyTaken):
                add_field(over.fields, ours, a_definition(), author=AUTHOR)
    assert campaigns(database) == [("before",)]


def test_a_connection_in_pipeline_mode_is_rejected(host, over, ours):
    with host.pipeline(), pytest.raises(StorageUnavailable, match="pipeline"):
        over.fields.all(ours)
    assert over.fields.all(ours).fields == ()


def test_a_change_within_a_change_is_part_of_it(host, over, ours):
    field = add_field(over.fields, ours, a_definition(), author=AUTHOR)

    def change(stored: Any) -> Any:
        add_field(over.fields, ours, a_definition("town"), author=AUTHOR)
        return renaming("Town")(stored)

    update_field(over.fields, ours, field.id, change, author=AUTHOR)
    assert [f.key for f in over.fields.all(ours).fields] == ["city", "town"]


@pytest.mark.parametrize("commits", [True, False])
def test_the_schema_is_created_in_the_application_s_transaction(empty_database, commits):
    with psycopg.connect(empty_database) as host:
        over = PostgresConnectionStorage(lambda: host, schema="fields")
        taken = over.migrate()
        assert taken > 0
        assert over.migrate() == 0
        over.check()
        if not commits:
            host.rollback()
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'fields'"
    assert bool(execute(empty_database, tables)) is commits


def test_several_threads_can_migrate_at_once(empty_database):
    with opened_storage(empty_database, "fields") as over, ThreadPoolExecutor(6) as threads:
        taken = list(threads.map(lambda _: over.migrate(), range(6)))
        over.check()
    assert sorted(taken)[:-1] == [0] * 5
    assert max(taken) > 0


@pytest.mark.parametrize("is_current", [False, True])
def test_a_role_that_can_not_create_tables_can_only_migrate_a_current_schema(
    empty_database, is_current
):
    with psycopg.connect(empty_database) as host:
        over = PostgresConnectionStorage(lambda: host)
        if is_current:
            over.migrate()
        host.execute("CREATE ROLE visitor")  # Gone with the transaction.
        host.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # As it is since PostgreSQL 15.
        host.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO visitor"
        )
        host.execute("SET ROLE visitor")
        if is_current:
            assert over.migrate() == 0
            over.check()
        else:
            with pytest.raises(StorageUnavailable, match="permission denied"):
                over.migrate()
        host.rollback()


def test_a_schema_of_a_newer_version_is_not_changed(database):
    execute(database, "INSERT INTO schema_migrations VALUES ('9999_future')")
    try:
        with opened_storage(database) as over, pytest.raises(StorageUnavailable, match="newer"):
            over.migrate()
    finally:
        execute(database, "DELETE FROM schema_migrations WHERE name = '9999_future'")


def test_the_service_can_share_the_schema_with_an_application(empty_database):
    with opened_storage(empty_database, "fields") as over:
        over.migrate()
        ours = over.organizations.add("Ours", NOW)
        field = add_field(over.fields, ours.id, a_definition(), author=AUTHOR)
        url = f"{empty_database}?options=-csearch_path%3Dfields"
        migrate(url)
        with closing(PostgresStorage(url)) as service:
            assert service.organizations.all() == (ours,)
            update_field(service.fields, ours.id, field.id, renaming("Town"), author=AUTHOR)
        assert over.fields.get(ours.id, field.id).name == "Town"
