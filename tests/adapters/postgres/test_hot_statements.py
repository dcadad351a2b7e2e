"""The statements that go past psycopg's cursors fail and recover as the others do."""

from __future__ import annotations

import json
import os
import signal
import socket
from decimal import Decimal
from select import POLLIN, POLLOUT
from time import monotonic

import psycopg
import pytest
from attrs import evolve
from psycopg.errors import DivisionByZero, ForeignKeyViolation
from psycopg.pq import TransactionStatus
from psycopg.types.json import set_json_loads

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.adapters.postgres.connection import DeadlineConnection
from recipient_fields.adapters.postgres.statements import (
    Asked,
    Statement,
    ask,
    ask_in_transaction,
    roll_back,
)
from recipient_fields.domain import (
    AllowedValues,
    DataType,
    InvalidField,
    OrganizationId,
    Rule,
    StorageUnavailable,
)

from .examples import NOW, a_definition, a_grant
from .server import eventually

ECHO = Statement("SELECT %(text)s::text, %(number)s::bigint::text, %(nothing)s::text")

DIVIDE = Statement("SELECT (1 / %(number)s::bigint)::text")
_TURNS = 12
"""The pool gives its connections in turn: after so many, each has prepared everything."""


def reset_every_session(storage: PostgresStorage) -> None:
    for connection in tuple(storage._database._pool._pool):  # It is checked meanwhile.
        connection.execute("DEALLOCATE ALL", prepare=False)


def test_values_come_back_as_they_were_given(storage: PostgresStorage) -> None:
    values = {"text": "Größe \u2028 '$1' %s \\", "number": -(2**63), "nothing": None}
    expected = [(values["text"], str(values["number"]), None)]
    assert storage._database.ask(ECHO, values) == expected


def test_a_text_is_refused_rather_than_cut_off_at_a_null(storage: PostgresStorage) -> None:
    with pytest.raises(InvalidField) as refused:
        storage._database.ask(ECHO, {"text": "a\0b", "number": 1, "nothing": None})
    assert [v.rule for v in refused.value.violations] == [Rule.INVALID_CHARACTERS]
    assert storage._database.ask(ECHO, {"text": "ab", "number": 1, "nothing": None})


def test_a_text_that_the_socket_does_not_take_at_once_comes_back(storage: PostgresStorage) -> None:
    values = {"text": "ä" * 10_000_000, "number": 1, "nothing": None}
    expected = [(values["text"], "1", None)]
    assert storage._database.ask(ECHO, values) == expected
    assert storage._database.ask_in_transaction(*[(ECHO, values)] * 2) == [expected] * 2


@pytest.mark.parametrize("place", range(3))
def test_an_error_while_more_is_sent_is_told_and_spares_the_connection(
    database: str, place: int
) -> None:
    asked: list[Asked] = [(ECHO, {"text": "ä" * 2_000_000, "number": 1, "nothing": None})] * 3
    asked[place] = (DIVIDE, {"number": 0})
    with DeadlineConnection.connect(database, autocommit=True) as connection:
        connection.deadline = monotonic() + 20
        with pytest.raises(DivisionByZero):
            ask_in_transaction(connection, *asked)
        assert ask(connection, DIVIDE, {"number": 1}) == [("1",)]


def test_answers_that_came_while_the_rest_was_sent_are_not_waited_for(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes the input in sends as well, and where it is slow then, nothing is left to come."""
    length = Statement("SELECT length(%(text)s::text)::text")
    busy: list[int] = []
    with DeadlineConnection.connect(database, autocommit=True) as connection:
        connection.deadline = monotonic() + 20
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as small:
            # So that the text never fits, however fast the server takes it.
            small.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        wait_for = connection.wait_for

        def send_and_wait_for(events: int) -> int:
            if not events & POLLOUT:
                return wait_for(events)
            busy.append(events)
            while connection.pgconn.flush():
                wait_for(POLLOUT)
            return wait_for(POLLIN)

        monkeypatch.setattr(connection, "wait_for", send_and_wait_for)
        began = monotonic()
        assert ask(connection, length, {"text": "x" * 20_000_000}) == [("20000000",)]
        assert monotonic() - began < 10
        assert busy


def test_a_session_that_was_reset_is_replaced(
    storage: PostgresStorage, ours: OrganizationId
) -> None:
    key = storage.api_keys.add(a_grant(ours))
    for number in range(_TURNS):
        assert storage.api_keys.find(key.digest) is not None
        assert storage.api_keys.find(key.digest) is not None
        storage.fields.add(ours, a_definition(f"field_{number}"))

    reset_every_session(storage)
    for _ in range(_TURNS):
        assert storage.api_keys.find(key.digest) is not None
    reset_every_session(storage)
    storage.fields.add(ours, a_definition("another"))

    assert len(storage.fields.all(ours).fields) == _TURNS + 1


def test_what_is_undone_leaves_everything_prepared(database: str) -> None:
    """A ROLLBACK of psycopg's own forgets what it has prepared, and what we have, too."""
    select = "SELECT name FROM pg_prepared_statements WHERE name LIKE 'recipient_fields_%'"
    with DeadlineConnection.connect(database, autocommit=True, prepare_threshold=0) as connection:
        ask(connection, ECHO, {"text": "", "number": 1, "nothing": None})
        connection.execute("SELECT 1")
        connection.execute("BEGIN", prepare=False)
        roll_back(connection)
        with pytest.raises(DivisionByZero):
            ask_in_transaction(connection, (DIVIDE, {"number": 0}))
        assert connection.info.transaction_status is TransactionStatus.IDLE
        ask(connection, ECHO, {"text": "", "number": 1, "nothing": None})
        assert ECHO.name.decode() in {name for (name,) in connection.execute(select)}


def test_a_server_that_ends_the_session_is_told_in_its_own_words(storage: PostgresStorage) -> None:
    end = Statement("SELECT pg_terminate_backend(pg_backend_pid())::text")
    for asked in (storage._database.ask, lambda *told: storage._database.ask_in_transaction(told)):
        with pytest.raises(StorageUnavailable, match="57P01"):
            asked(end, {})
    assert storage._database.ask(DIVIDE, {"number": 1}) == [("1",)]


def test_an_error_amid_a_transaction_undoes_all_of_it_and_spares_the_connection(
    storage: PostgresStorage, ours: OrganizationId
) -> None:
    move = Statement("UPDATE organizations SET revision = 7 WHERE id = %(id)s::bigint")
    revision = storage.fields.all(ours).revision

    with pytest.raises(StorageUnavailable):
        storage._database.ask_in_transaction(
            (move, {"id": ours}), (Statement("SELECT FROM no_such_table"), {})
        )
    with pytest.raises(DivisionByZero):
        storage._database.ask_in_transaction((move, {"id": ours}), (DIVIDE, {"number": 0}))

    assert storage.fields.all(ours).revision == revision
    moved, divided = storage._database.ask_in_transaction(
        (move, {"id": ours}), (DIVIDE, {"number": 1})
    )
    assert (moved, divided) == ([], [("1",)])
    assert storage.fields.all(ours).revision == 7


def test_what_fails_only_when_it_is_committed_is_told_as_what_it_is(
    storage: PostgresStorage,
) -> None:
    storage._database.write(
        lambda connection: connection.execute("""
            CREATE TABLE parents (id bigint PRIMARY KEY);
            CREATE TABLE children (id bigint REFERENCES parents DEFERRABLE INITIALLY DEFERRED)
        """)
    )
    orphan = Statement("INSERT INTO children VALUES (%(id)s::bigint)")
    for asked in (storage._database.ask, lambda *told: storage._database.ask_in_transaction(told)):
        with pytest.raises(ForeignKeyViolation):
            asked(orphan, {"id": 7})
    assert storage._database.ask(DIVIDE, {"number": 1}) == [("1",)]


@pytest.mark.parametrize("encoding", ["latin1", "sql_ascii"])
def test_the_encoding_that_a_url_or_a_database_prefers_changes_no_text(
    database: str, encoding: str
) -> None:
    storage = PostgresStorage(
        f"{database}{'&' if '?' in database else '?'}client_encoding={encoding}"
    )
    try:
        ours = storage.organizations.add("Größe", NOW).id
        field = storage.fields.add(ours, evolve(a_definition(), name="Größe in €"))
        assert storage.fields.get(ours, field.id) == field
        assert "Größe in €" in storage.fields.publish(ours).documents
    finally:
        storage.close()


def test_an_interrupt_while_a_statement_is_prepared_leaves_no_connection_that_half_knows_it(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with DeadlineConnection.connect(database, autocommit=True) as connection:
        monkeypatch.setattr(connection, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask(connection, ECHO, {"text": "", "number": 1, "nothing": None})
        assert connection.closed


def test_a_statement_that_the_server_knows_already_is_asked_by_its_name(database: str) -> None:
    """An interrupt can come after the server prepared it, and before that is noted."""
    values = {"text": "", "number": 1, "nothing": None}
    with DeadlineConnection.connect(database, autocommit=True, prepare_threshold=0) as connection:
        answer = ask(connection, ECHO, values)
        connection.prepared.clear()
        assert ask(connection, ECHO, values) == answer
        assert ECHO.name in connection.prepared


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_ends_a_statement_and_its_connection_at_once(
    database: str, interrupt: type[BaseException]
) -> None:
    def interrupted(*_: object) -> None:
        raise interrupt

    sleep = Statement("SELECT pg_sleep(30)::text")
    sleeping = "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(30)%'"
    earlier = signal.signal(signal.SIGALRM, interrupted)
    try:
        with DeadlineConnection.connect(database, autocommit=True) as connection:
            connection.deadline = monotonic() + 20
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(interrupt):
                ask(connection, sleep, {})
            assert connection.closed
    finally:
        signal.signal(signal.SIGALRM, earlier)
    with psycopg.connect(database, autocommit=True) as other:
        other_than_this = f"{sleeping} AND pid <> pg_backend_pid()"
        eventually(lambda: other.execute(other_than_this).rowcount == 0, within=5)


def test_how_an_application_reads_json_is_its_own_business(
    storage: PostgresStorage, ours: OrganizationId
) -> None:
    values = AllowedValues(DataType.NUMBER, [1, 1.5, -0.25])
    definition = evolve(a_definition(), data_type=DataType.NUMBER, allowed_values=values)
    set_json_loads(lambda text: json.loads(text, parse_float=Decimal))
    try:
        field = storage.fields.add(ours, definition)
        assert storage.fields.get(ours, field.id) == field
    finally:
        set_json_loads(json.loads)
