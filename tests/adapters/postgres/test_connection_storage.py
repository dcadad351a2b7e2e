"""The storage over connections of a host application: as good as ours, and the host's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from threading import Lock, Thread, Timer, current_thread
from time import monotonic
from typing import Any

import psycopg
import pytest
from psycopg import ClientCursor, Connection, IsolationLevel
from psycopg.errors import InFailedSqlTransaction, QueryCanceled
from psycopg.rows import dict_row
from psycopg.types.string import TextLoader

from recipient_fields.adapters.postgres import PostgresConnectionStorage, PostgresStorage, migrate
from recipient_fields.domain import KeyTaken, OrganizationId, StorageUnavailable
from recipient_fields.testing import (
    StorageContract,
    StorageDurabilityContract,
    StorageOutageContract,
)

from .examples import NOW, a_definition, permit, renaming
from .server import execute, new_database
from .test_contract import close_to_everyone

pytestmark = pytest.mark.slow


class Host:
    """Connects each thread once, in a way that suits itself and not us."""

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
                connection.adapters.register_loader(type_name, Shouting)
            with self._lock:
                self._connections[current_thread()] = connection
        return connection

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


class Shouting(TextLoader):
    """Loads everything as text that is no value of ours."""

    def load(self, data: Any) -> str:
        return f"{super().load(data)!r}!"


@contextmanager
def hosted(url: str, schema: str | None = None, **terms: Any) -> Iterator[PostgresConnectionStorage]:
    host = Host(url, **terms)
    try:
        yield PostgresConnectionStorage(host.connect, schema=schema)
    finally:
        host.close()


OWN_SCHEMA = 'the "fields"'
TASTES: dict[str, Any] = {
    "row_factory": dict_row,
    "cursor_factory": ClientCursor,
    "prepare_threshold": 0,
    "options": "-c TimeZone=Pacific/Kiritimati -c DateStyle=German -c IntervalStyle=iso_8601",
}


@pytest.fixture(scope="module")
def crowded_database(server_url: str) -> Iterator[str]:
    """A database whose tables have the names of ours, which are apart."""
    with new_database(server_url) as url:
        for table in ("organizations", "schema_migrations", "recipient_fields"):
            execute(url, f"CREATE TABLE {table} (version text)")
        with hosted(url, OWN_SCHEMA) as storage:
            storage.migrate()
        yield url


class TestHostedStorage(StorageContract):
    """The host has tastes of its own, and keeps our tables apart from its own."""

    crowd = 16  # A connection a thread, and the server has forty.

    @pytest.fixture
    def storage(self, crowded_database: str) -> Iterator[PostgresConnectionStorage]:
        with hosted(crowded_database, OWN_SCHEMA, **TASTES) as storage:
            yield storage


class TestHostedDurability(StorageDurabilityContract):
    @pytest.fixture
    def opened(self, database: str) -> Callable[[], AbstractContextManager[PostgresConnectionStorage]]:
        return lambda: hosted(database)


class TestHostThatCannotConnect(StorageOutageContract):
    @pytest.fixture
    def broken_storage(
        self, server_url: str, empty_database: str
    ) -> Iterator[PostgresConnectionStorage]:
        migrate(empty_database)
        close_to_everyone(server_url, empty_database.rpartition("/")[2])
        with hosted(empty_database) as storage:
            yield storage


class FrameworkError(Exception):
    """What a framework makes of the driver's errors."""


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
        with hosted(empty_database) as storage:
            yield storage


class TestClosedConnection(StorageOutageContract):
    @pytest.fixture
    def broken_storage(self, database: str) -> PostgresConnectionStorage:
        with psycopg.connect(database) as connection:
            pass
        return PostgresConnectionStorage(lambda: connection)


@pytest.fixture(params=[True, False], ids=["autocommit", "no autocommit"])
def host(request: pytest.FixtureRequest, database: str) -> Iterator[Connection[Any]]:
    """The host's connection, which has a table of its own."""
    execute(database, "CREATE TABLE IF NOT EXISTS campaigns (name text)")
    execute(database, "TRUNCATE campaigns")
    with psycopg.connect(database, autocommit=request.param) as connection:
        yield connection
    execute(database, "DROP TABLE campaigns")


@pytest.fixture
def ours(storage: PostgresStorage) -> OrganizationId:
    return storage.organizations.add("Ours", NOW).id


@pytest.fixture
def over(host: Connection[Any]) -> PostgresConnectionStorage:
    return PostgresConnectionStorage(lambda: host)


@contextmanager
def committing(connection: Connection[Any], *, after: float) -> Iterator[None]:
    """Commits in the midst of the block."""
    timer = Timer(after, connection.commit)
    timer.start()
    yield
    timer.join()


def campaigns(database: str) -> list[tuple[object, ...]]:
    return execute(database, "SELECT name FROM campaigns ORDER BY name")


@pytest.mark.parametrize("commits", [True, False])
def test_a_field_and_a_host_s_row_are_kept_or_lost_together(
    database: str,
    host: Connection[Any],
    over: PostgresConnectionStorage,
    storage: PostgresStorage,
    ours: OrganizationId,
    commits: bool,
) -> None:
    with pytest.raises(ZeroDivisionError) if not commits else nullcontext(), host.transaction():
        host.execute("INSERT INTO campaigns VALUES ('before')")
        field = over.fields.add(ours, a_definition())
        over.fields.update(ours, field.id, renaming("Town"))
        host.execute("INSERT INTO campaigns VALUES ('after')")
        assert over.fields.get(ours, field.id).name == "Town"
        assert storage.fields.all(ours).fields == ()
        if not commits:
            raise ZeroDivisionError
    assert [f.name for f in storage.fields.all(ours).fields] == (["Town"] if commits else [])
    assert campaigns(database) == ([("after",), ("before",)] if commits else [])


@pytest.mark.parametrize("commits", [True, False])
def test_what_comes_first_in_a_transaction_is_a_part_of_it_too(
    database: str, storage: PostgresStorage, ours: OrganizationId, commits: bool
) -> None:
    """A connection without autocommit begins its transaction at its first statement, or ours."""
    with psycopg.connect(database) as host:
        PostgresConnectionStorage(lambda: host).fields.add(ours, a_definition())
        assert storage.fields.all(ours).fields == ()
        if not commits:
            host.rollback()
    assert len(storage.fields.all(ours).fields) == commits


def test_what_raises_undoes_itself_and_nothing_of_the_host_s(
    host: Connection[Any], over: PostgresConnectionStorage, database: str, ours: OrganizationId
) -> None:
    with host.transaction():
        host.execute("INSERT INTO campaigns VALUES ('before')")
        over.fields.add(ours, a_definition("city"))
        with pytest.raises(KeyTaken):
            over.fields.add(ours, a_definition("city"))
        with pytest.raises(ZeroDivisionError):
            over.fields.update(ours, a_definition("city").key, lambda field: 1 / 0)  # type: ignore[arg-type, return-value]
        over.fields.add(ours, a_definition("town"))
    assert [field.key for field in over.fields.all(ours).fields] == ["city", "town"]
    assert campaigns(database) == [("before",)]


def test_a_server_s_error_does_not_end_the_host_s_transaction(
    server_url: str, empty_database: str
) -> None:
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


def test_a_host_s_failed_transaction_is_the_host_s_to_end(
    host: Connection[Any], over: PostgresConnectionStorage, ours: OrganizationId
) -> None:
    with host.transaction(force_rollback=True):
        with pytest.raises(psycopg.Error):
            host.execute("SELECT 1 / 0")
        with pytest.raises(InFailedSqlTransaction):
            over.fields.all(ours)
    assert over.fields.all(ours).fields == ()


SETTINGS = (
    "lock_timeout",
    "statement_timeout",
    "search_path",
    "idle_in_transaction_session_timeout",
)


def settings(connection: Connection[Any]) -> list[Any]:
    return [connection.execute(f"SHOW {name}").fetchone() for name in SETTINGS]


@pytest.mark.parametrize("schema", [None, "fields"])
def test_a_transaction_has_the_host_s_settings_again_whatever_was_done(
    host: Connection[Any], database: str, ours: OrganizationId, schema: str | None
) -> None:
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
        whose = over.organizations.add("Ours", NOW).id
        field = over.fields.add(whose, a_definition())
        over.fields.delete(whose, field.id, permit)
        over.fields.add(whose, a_definition())
        with pytest.raises(ZeroDivisionError):
            over.fields.update(whose, a_definition().key, lambda field: 1 / 0)  # type: ignore[arg-type, return-value]
        over.check()
        assert settings(host) == inside
    assert settings(host) == outside
    host.rollback()
    execute(database, "DROP SCHEMA IF EXISTS fields CASCADE")


@pytest.mark.parametrize("in_transaction", [True, False])
def test_nobody_waits_longer_than_a_second_for_a_lock(
    host: Connection[Any],
    over: PostgresConnectionStorage,
    database: str,
    ours: OrganizationId,
    in_transaction: bool,
) -> None:
    with psycopg.connect(database) as other:
        other.execute("SELECT FROM organizations FOR UPDATE")
        with host.transaction() if in_transaction else nullcontext():
            with pytest.raises(StorageUnavailable, match="55P03"):
                over.fields.add(ours, a_definition())
            host.execute("INSERT INTO campaigns VALUES ('still here')")


def test_a_host_s_own_limit_of_a_statement_holds(
    host: Connection[Any], over: PostgresConnectionStorage, database: str, ours: OrganizationId
) -> None:
    with psycopg.connect(database) as other, host.transaction():
        other.execute("SELECT FROM organizations FOR UPDATE")
        host.execute("SET LOCAL lock_timeout = '5s'")
        host.execute("SET LOCAL statement_timeout = '200ms'")
        begun = monotonic()
        with pytest.raises(StorageUnavailable) as unavailable:
            over.fields.add(ours, a_definition())
        assert monotonic() - begun < 2
    assert isinstance(unavailable.value.__cause__, QueryCanceled)


def test_a_host_may_wait_longer_for_a_lock(
    host: Connection[Any], over: PostgresConnectionStorage, database: str, ours: OrganizationId
) -> None:
    with psycopg.connect(database) as other:
        other.execute("SELECT FROM organizations FOR UPDATE")
        with committing(other, after=1.5), host.transaction():
            host.execute("SET LOCAL lock_timeout = '10s'")
            over.fields.add(ours, a_definition())
    assert len(over.fields.all(ours).fields) == 1


def test_the_connection_is_left_as_it_was_found(
    database: str, host: Connection[Any], ours: OrganizationId
) -> None:
    notices: list[str | None] = []
    notified: list[str] = []
    host.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    host.add_notify_handler(lambda notify: notified.append(notify.payload))
    host.execute("LISTEN host", prepare=True)
    host.execute("SELECT %s", (1,), prepare=True)
    host.commit() if not host.autocommit else None
    over = PostgresConnectionStorage(lambda: host)
    before = (host.autocommit, host.isolation_level, host.prepare_threshold, host.row_factory)

    for _ in range(7):
        over.organizations.all()
    over.fields.add(ours, a_definition())
    over.close()
    host.commit() if not host.autocommit else None

    assert (
        host.autocommit,
        host.isolation_level,
        host.prepare_threshold,
        host.row_factory,
    ) == before
    assert host.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    assert not host.closed
    host.execute("SELECT %s", (1,), prepare=True)
    host.execute("DO $$ BEGIN RAISE NOTICE 'hello'; END $$")
    host.execute("NOTIFY host, 'hello'")
    host.commit() if not host.autocommit else None
    assert notices == ["hello"]
    assert notified == ["hello"]


def test_a_serializable_host_is_told_that_it_met_another(
    database: str, storage: PostgresStorage, ours: OrganizationId
) -> None:
    """Its snapshot is older than the change, so that nothing it wrote could be right."""
    with psycopg.connect(database) as host:
        host.isolation_level = IsolationLevel.SERIALIZABLE
        over = PostgresConnectionStorage(lambda: host)
        assert over.fields.all(ours).fields == ()
        storage.fields.add(ours, a_definition("city"))
        with pytest.raises(StorageUnavailable, match="40001"):
            over.fields.add(ours, a_definition("city"))
        host.rollback()
        with pytest.raises(KeyTaken):
            over.fields.add(ours, a_definition("city"))


def test_alone_a_change_reads_what_others_committed_whatever_the_host_s_isolation(
    database: str, ours: OrganizationId
) -> None:
    options = "-c default_transaction_isolation=serializable"
    with hosted(database, options=options) as over, ThreadPoolExecutor(8) as threads:
        field = over.fields.add(ours, a_definition(name="0"))

        def count(_: int) -> None:
            over.fields.update(
                ours, field.id, lambda field: renaming(str(int(field.name) + 1))(field)
            )

        list(threads.map(count, range(80)))
        assert over.fields.get(ours, field.id).name == "80"


def test_a_key_that_someone_takes_past_the_lock_is_told_within_a_transaction(
    host: Connection[Any], over: PostgresConnectionStorage, database: str, ours: OrganizationId
) -> None:
    """By hand, in SQL, nobody locks the organization; the second try finds the holder."""
    with psycopg.connect(database) as hand:
        hand.execute(
            "INSERT INTO recipient_fields (organization_id, name, folded_name, key, data_type,"
            " insertable, source, created_at, updated_at, version) VALUES"
            " (%s, 'City', 'city', 'city', 'text', true, 'api', now(), now(), 1)",
            (ours,),
        )
        with committing(hand, after=0.3), host.transaction():
            host.execute("INSERT INTO campaigns VALUES ('before')")
            with pytest.raises(KeyTaken):
                over.fields.add(ours, a_definition())
    assert campaigns(database) == [("before",)]


def test_a_connection_in_pipeline_mode_is_refused(
    host: Connection[Any], over: PostgresConnectionStorage, ours: OrganizationId
) -> None:
    with host.pipeline(), pytest.raises(StorageUnavailable, match="pipeline"):
        over.fields.all(ours)
    assert over.fields.all(ours).fields == ()


def test_a_use_case_within_a_use_case_is_a_part_of_it(
    host: Connection[Any], over: PostgresConnectionStorage, ours: OrganizationId
) -> None:
    field = over.fields.add(ours, a_definition())

    def change(stored: Any) -> Any:
        over.fields.add(ours, a_definition("town"))
        return renaming("Town")(stored)

    over.fields.update(ours, field.id, change)
    assert [f.key for f in over.fields.all(ours).fields] == ["city", "town"]


@pytest.mark.parametrize("commits", [True, False])
def test_the_schema_is_made_in_the_host_s_transaction(empty_database: str, commits: bool) -> None:
    with psycopg.connect(empty_database) as host:
        over = PostgresConnectionStorage(lambda: host, schema="fields")
        taken = over.migrate()
        assert taken > 0
        assert over.migrate() == 0
        over.check()
        if not commits:
            host.rollback()
    tables = execute(
        empty_database,
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'fields'",
    )
    assert tables == [(5 if commits else 0,)]


def test_any_number_may_migrate_at_once(empty_database: str) -> None:
    with hosted(empty_database, "fields") as over, ThreadPoolExecutor(6) as threads:
        taken = list(threads.map(lambda _: over.migrate(), range(6)))
        over.check()
    assert sorted(taken)[:-1] == [0] * 5
    assert max(taken) > 0


def test_who_may_not_make_tables_is_told_so(server_url: str, empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as host:
        host.execute("CREATE ROLE visitor")
        host.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # As it is since PostgreSQL 15.
        host.execute("SET ROLE visitor")
        over = PostgresConnectionStorage(lambda: host)
        with pytest.raises(StorageUnavailable, match="permission denied"):
            over.migrate()
        host.execute("RESET ROLE")
        host.execute("DROP ROLE visitor")


def test_who_may_not_make_tables_may_find_that_none_is_lacking(empty_database: str) -> None:
    with psycopg.connect(empty_database) as host:
        over = PostgresConnectionStorage(lambda: host)
        over.migrate()
        host.execute("CREATE ROLE visitor")  # Gone with the transaction.
        host.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # As it is since PostgreSQL 15.
        host.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO visitor"
        )
        host.execute("SET ROLE visitor")
        assert over.migrate() == 0
        over.check()
        host.rollback()


def test_a_schema_of_a_newer_version_is_left_alone(database: str) -> None:
    execute(database, "INSERT INTO schema_migrations VALUES ('9999_future')")
    try:
        with hosted(database) as over, pytest.raises(StorageUnavailable, match="newer"):
            over.migrate()
    finally:
        execute(database, "DELETE FROM schema_migrations WHERE name = '9999_future'")


def test_the_service_can_share_the_schema_with_a_host(empty_database: str) -> None:
    with hosted(empty_database, "fields") as over:
        over.migrate()
        ours = over.organizations.add("Ours", NOW)
        field = over.fields.add(ours.id, a_definition())
        url = f"{empty_database}?options=-csearch_path%3Dfields"
        migrate(url)
        with closing(PostgresStorage(url)) as service:
            assert service.organizations.all() == (ours,)
            assert service.fields.update(ours.id, field.id, renaming("Town")).id == field.id
        assert over.fields.get(ours.id, field.id).name == "Town"
