"""Calls of a storage while PostgreSQL is down, and its recovery.

RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS says how long each outage lasts; 2 s are enough to see every
timeout pass, longer ones show that recovery does not depend on the length.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from time import monotonic, sleep

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recipient_fields.adapters.postgres import PostgresStorage, circuit_breaker, migrate
from recipient_fields.adapters.postgres.connection import DeadlineConnection, parse_url
from recipient_fields.domain import StorageUnavailable
from recipient_fields.testing.assertions import attempt
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition
from recipient_fields.testing.field_changes import add_field

from ...support.outages import OUTAGE_SECONDS, OUTAGES
from ...support.postgres import PostgresServer, execute, new_database
from ...support.waiting import eventually
from .databases import rows, waiting
from .load import Load

pytestmark = pytest.mark.slow

MAX_RESPONSE_TIME = 3.0


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    """Create a migrated database on a server that the tests break."""
    with new_database(server.url()) as url:
        migrate(url)
        yield url


@pytest.mark.parametrize("break_and_mend", OUTAGES)
def test_an_outage_loses_nothing_and_ends_soon(server, storage, ours, break_and_mend):
    with Load(storage, ours) as load:
        break_and_mend(server)
        eventually(server.accepts, within=10)
        accepting = monotonic()
        sleep(2.5)
    load.require_outage_of_503s()
    load.require_service_since(accepting)
    load.require_nothing_lost()


def test_requests_to_a_frozen_server_are_rejected_until_it_resumes(server, storage, ours):
    with Load(storage, ours) as load:
        server.freeze()
        frozen = monotonic()
        sleep(1 + OUTAGE_SECONDS)
        server.thaw()
        thawed = monotonic()
        sleep(2.5)
    load.require_outage_of_503s()
    load.require_quick_refusals_between(frozen, thawed)
    load.require_service_since(thawed)
    load.require_nothing_lost()


@contextmanager
def frozen_for_the_block(server: PostgresServer) -> Iterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


def test_idle_sessions_of_a_frozen_server_are_detected_before_a_request_uses_them(
    server, storage, ours
):
    storage.fields.all(ours)
    with frozen_for_the_block(server):
        sleep(1.2)
        began = monotonic()
        with pytest.raises(StorageUnavailable):
            storage.fields.all(ours)
        assert monotonic() - began < 1.2
    sleep(1.5)
    assert storage.fields.all(ours).fields == ()


def test_a_session_that_ended_while_idle_is_not_used(server, storage, ours):
    for _ in range(3):
        server.terminate_backends()
        assert storage.fields.all(ours).fields == ()


def test_a_write_to_a_locked_organization_is_rejected_after_a_second(database, storage, ours):
    with psycopg.connect(database) as locker:
        locker.execute("SELECT FROM organizations FOR UPDATE")
        began = monotonic()
        with pytest.raises(StorageUnavailable, match="lock timeout"):
            add_field(storage.fields, ours, a_definition(), author=AUTHOR)
        assert monotonic() - began < 1.2
        assert storage.fields.all(ours).fields == ()
    add_field(storage.fields, ours, a_definition(), author=AUTHOR)


@pytest.mark.parametrize(("prepare", "message"), [(True, "lock timeout"), (False, "in time")])
def test_a_read_of_a_locked_table_is_cancelled_in_time(database, ours, message, *, prepare):
    """The server cancels in configured sessions, the deadline of the call in shared ones."""
    with closing(PostgresStorage(database, prepare=prepare)) as storage:
        with psycopg.connect(database) as locker:
            locker.execute("LOCK TABLE recipient_fields")
            began = monotonic()
            with pytest.raises(StorageUnavailable, match=message):
                storage.fields.all(ours)
            assert monotonic() - began < MAX_RESPONSE_TIME
            # What was given up is not left waiting on the server either.
            eventually(lambda: not waiting(database), within=1)
        assert storage.fields.all(ours).fields == ()


def test_a_missing_synchronous_standby_does_not_exhaust_the_server(server, database, storage, ours):
    server.acknowledge_with("gone")
    try:
        for number in range(3):
            began = monotonic()
            with pytest.raises(StorageUnavailable, match="in time"):
                add_field(storage.fields, ours, a_definition(f"field_{number}"), author=AUTHOR)
            assert monotonic() - began < MAX_RESPONSE_TIME
        eventually(lambda: not waiting(database), within=1)
        storage.fields.all(ours)
    finally:
        server.acknowledge_with("")


def test_connections_to_a_server_that_became_read_only_are_replaced(database, storage, ours):
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    execute(
        database,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    with pytest.raises(StorageUnavailable, match="25006"):
        add_field(storage.fields, ours, a_definition(), author=AUTHOR)
    with psycopg.connect(database, autocommit=True) as writer:
        writer.execute("SET default_transaction_read_only = off")
        writer.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
    # Those that were opened in the meantime may be read-only as well. They are left, too.
    for _ in range(5):
        with suppress(StorageUnavailable):
            add_field(storage.fields, ours, a_definition(), author=AUTHOR)
            break
    else:
        pytest.fail("Every connection is still read-only.")


def test_a_server_that_does_not_respond_is_skipped_after_two_seconds(server, database):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = f"127.0.0.1:{silent.getsockname()[1]},127.0.0.1:{server.port}"
        url = database.replace(f"127.0.0.1:{server.port}", hosts)
        began = monotonic()
        DeadlineConnection.connect(make_conninfo("", **parse_url(url))).close()
        assert 2 <= monotonic() - began < 2.5


def test_a_single_frozen_session_is_no_outage(server, storage, ours, caplog):
    """This includes the session of the monitor."""
    with Load(storage, ours) as load:
        sleep(1.5)
        frozen = [psutil.Process(session) for session in server.session_ids()]
        for session in frozen:
            session.suspend()
            sleep(1)
            session.resume()
        sleep(1)
    load.require_outage_of_503s()
    assert len(frozen) >= 3
    assert len(load.errors) <= 2 * len(frozen)
    assert outage_lines(caplog) == []


def test_terminated_sessions_are_no_outage(server, storage, ours, caplog):
    with Load(storage, ours) as load:
        for _ in range(3):
            server.terminate_backends()
            sleep(0.5)
    load.require_outage_of_503s()
    assert outage_lines(caplog) == []


def test_slow_statements_and_locks_that_exhaust_the_pool_are_no_outage(database, ours, caplog):
    with closing(PostgresStorage(database, pool_size=2)) as storage:

        def sleep_there() -> object:
            return storage._database.read(rows("SELECT 1 FROM pg_sleep(1.5)"))

        def write() -> object:
            return add_field(storage.fields, ours, a_definition(), author=AUTHOR)

        with psycopg.connect(database) as locker, ThreadPoolExecutor(3) as threads:
            locker.execute("SELECT FROM organizations FOR UPDATE")
            outcomes = list(threads.map(attempt, (sleep_there, sleep_there, write)))
    refused = [each for each in outcomes if isinstance(each, StorageUnavailable)]
    assert [str(each) for each in refused] == [
        "PostgreSQL: canceling statement due to lock timeout (55P03)"
    ]
    assert outcomes.count([(1,)]) == 2
    assert outage_lines(caplog) == []


def test_the_log_has_two_lines_per_outage_and_the_second_counts_rejected_requests(
    server, storage, ours, caplog
):
    counted: list[StorageUnavailable] = []

    def is_rejected() -> bool:
        outcome = attempt(lambda: storage.fields.all(ours))
        if isinstance(outcome, StorageUnavailable) and outcome.logged:
            counted.append(outcome)
        return isinstance(outcome, StorageUnavailable)

    server.stop("immediate")
    try:
        eventually(lambda: is_rejected() and counted, within=5)
        for _ in range(10):
            assert is_rejected()
            with pytest.raises(StorageUnavailable):
                storage.check()
    finally:
        server.start()
    eventually(lambda: not is_rejected(), within=1.5)
    begin, end = outage_lines(caplog)
    assert begin.startswith("PostgreSQL does not respond (")
    assert begin.endswith("Connection refused). Requests are rejected until it does.")
    number = re.fullmatch(
        r"PostgreSQL responds again after \d+\.\d s\. (\d+) requests were rejected\.", end
    )
    assert number is not None, end
    assert int(number[1]) == len(counted) > 10


def test_requests_during_an_outage_are_rejected_at_once(server, storage, ours):
    with frozen_for_the_block(server):
        for limit in (1.2, *[0.2] * 100):
            began = monotonic()
            with pytest.raises(StorageUnavailable, match="does not respond"):
                storage.fields.all(ours)
            assert monotonic() - began < limit


def outage_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages of the circuit breaker in the log."""
    return [each.getMessage() for each in caplog.records if each.name == circuit_breaker.__name__]


def test_a_failover_is_followed(server):
    standby = server.standby()
    try:
        with new_database(server.url()) as url:
            migrate(url)
            hosts = f"127.0.0.1:{server.port},127.0.0.1:{standby.port}"
            both = url.replace(f"127.0.0.1:{server.port}", hosts)
            storage = PostgresStorage(f"{both}?target_session_attrs=read-write")
            ours = storage.organizations.add("Ours", NOW).id
            with Load(storage, ours) as load:
                server.kill()
                standby.promote()
                promoted = monotonic()
                sleep(4)
            server.start()
            load.require_outage_of_503s()
            first_write = min(
                call.began + call.seconds
                for call in load.calls
                if call.kind == "create" and call.error is None and call.began > promoted
            )
            assert first_write - promoted < 3
            storage.close()
    finally:
        standby.remove()
