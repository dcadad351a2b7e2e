"""How sessions are configured, how they end, and what replaces them."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack, closing
from decimal import Decimal
from time import monotonic

import psycopg
import pytest
from psycopg.errors import DivisionByZero, ForeignKeyViolation
from psycopg.types.json import set_json_loads

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.adapters.postgres.connection import DeadlineConnection, ResponseTimeout
from recipient_fields.adapters.postgres.dialect import PostgresConnection
from recipient_fields.domain import (
    AllowedValues,
    DataType,
    InvalidField,
    Rule,
    StorageUnavailable,
)
from recipient_fields.testing.examples import AUTHOR, NOW, a_definition, a_grant
from recipient_fields.testing.field_changes import add_field

from ...support.waiting import eventually
from .databases import rows

POOL_SIZE = 3
_TURNS = 12
"""The pool uses its connections in turn: after so many, each has prepared its statements."""


def deallocate_everything(storage: PostgresStorage) -> None:
    """Deallocate the prepared statements of all sessions, as an administrator could."""
    with ExitStack() as stack:
        for _ in range(POOL_SIZE + 1):
            connection = stack.enter_context(storage._database._pool.connection())
            connection.execute("DEALLOCATE ALL", prepare=False)


def test_a_text_with_a_null_is_rejected_rather_than_cut_off(storage):
    with pytest.raises(InvalidField) as rejected:
        storage._database.read(lambda c: c.driver.execute("SELECT %s::text", ("a\0b",)))
    assert [v.rule for v in rejected.value.violations] == [Rule.INVALID_CHARACTERS]


def test_a_session_whose_statements_were_deallocated_is_replaced(database, ours):
    with closing(PostgresStorage(database, pool_size=POOL_SIZE)) as storage:
        key = storage.api_keys.add(a_grant(ours))
        for number in range(_TURNS):
            assert storage.api_keys.find(key.digest) is not None
            add_field(storage.fields, ours, a_definition(f"field_{number}"), author=AUTHOR)

        deallocate_everything(storage)
        for _ in range(_TURNS):
            assert storage.api_keys.find(key.digest) is not None
        deallocate_everything(storage)
        add_field(storage.fields, ours, a_definition("another"), author=AUTHOR)

        assert len(storage.fields.all(ours).fields) == _TURNS + 1


def test_the_reason_why_the_server_ended_a_session_is_reported(storage):
    for call in (storage._database.read, storage._database.write):
        with pytest.raises(StorageUnavailable, match="57P01"):
            call(rows("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert storage._database.read(rows("SELECT 1")) == [(1,)]


def test_an_error_in_a_transaction_undoes_all_of_it_and_keeps_the_session(database, ours):
    sessions: list[int] = []

    def move_and_fail(connection: PostgresConnection) -> None:
        driver = connection.driver
        sessions.append(driver.info.backend_pid)
        driver.execute("UPDATE organizations SET revision = 7 WHERE id = %s", (ours,))
        driver.execute("SELECT 1 / 0")

    with closing(PostgresStorage(database, pool_size=1)) as storage:
        revision = storage.fields.all(ours).revision
        with pytest.raises(DivisionByZero):
            storage._database.write(move_and_fail)
        assert storage.fields.all(ours).revision == revision
        show = "SELECT pid FROM pg_stat_activity WHERE pid = ANY(%s) AND state = 'idle'"
        with psycopg.connect(database) as other:
            assert other.execute(show, (sessions,)).fetchall() == [(sessions[-1],)]


def test_an_error_of_the_commit_is_reported(storage):
    storage._database.write(
        lambda connection: connection.driver.execute("""
            CREATE TABLE parents (id bigint PRIMARY KEY);
            CREATE TABLE children (id bigint REFERENCES parents DEFERRABLE INITIALLY DEFERRED)
        """)
    )
    with pytest.raises(ForeignKeyViolation):
        storage._database.write(lambda c: c.driver.execute("INSERT INTO children VALUES (7)"))
    assert storage._database.read(lambda c: c.driver.execute("SELECT FROM children").rowcount) == 0


@pytest.mark.parametrize("encoding", ["latin1", "sql_ascii"])
def test_the_encoding_that_a_url_or_a_database_prefers_changes_no_text(database, encoding):
    with closing(PostgresStorage(f"{database}?client_encoding={encoding}")) as storage:
        ours = storage.organizations.add("Größe", NOW).id
        field = add_field(storage.fields, ours, a_definition(name="Größe in €"), author=AUTHOR)
        assert storage.fields.get(ours, field.id) == field
        assert "Größe in €" in storage.fields.publish(ours).documents


def test_a_statement_that_exceeds_the_deadline_ends_on_the_server_too(database):
    with DeadlineConnection.connect(database, autocommit=True) as connection:
        began = monotonic()
        connection.deadline = began + 0.3
        with pytest.raises(ResponseTimeout):
            connection.execute("SELECT pg_sleep(30)")
        assert monotonic() - began < 10
        assert connection.closed
    require_no_sleeping_session(database)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_a_statement_at_once(database, interrupt):
    def interrupted(*_: object) -> None:
        raise interrupt

    earlier = signal.signal(signal.SIGALRM, interrupted)
    try:
        with DeadlineConnection.connect(database, autocommit=True) as connection:
            began = monotonic()
            connection.deadline = began + 20
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(interrupt):
                connection.execute("SELECT pg_sleep(30)")
            assert monotonic() - began < 10
    finally:
        signal.signal(signal.SIGALRM, earlier)
    require_no_sleeping_session(database)


def require_no_sleeping_session(database: str) -> None:
    sleeping = (
        "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(30)%'"
        " AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(database, autocommit=True) as other:
        eventually(lambda: other.execute(sleeping).rowcount == 0, within=5)


def test_the_application_may_configure_how_psycopg_reads_json(storage, ours):
    values = AllowedValues(DataType.NUMBER, [1, 1.5, -0.25])
    definition = a_definition(data_type=DataType.NUMBER, allowed_values=values)
    set_json_loads(lambda text: json.loads(text, parse_float=Decimal))
    try:
        field = add_field(storage.fields, ours, definition, author=AUTHOR)
        assert storage.fields.get(ours, field.id) == field
    finally:
        set_json_loads(json.loads)
