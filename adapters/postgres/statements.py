"""The statements of the requests that come all the time.

psycopg's cursors do much that these can do without: what they are asked is prepared on the server,
bound to bytes, and read as text. That costs a third of the CPU, and several of them go in one round
trip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from select import POLLIN, POLLOUT
from typing import Any, TypeAlias

from attrs import field, frozen
from psycopg import OperationalError
from psycopg.errors import DuplicatePreparedStatement, error_from_result
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from .connection import DeadlineConnection
from .limits import LOCK_TIMEOUT

Value: TypeAlias = str | bytes | int | None
Values: TypeAlias = Mapping[str, Value]
Row: TypeAlias = tuple[Any, ...]
"""Texts, and None for NULL."""

_PARAMETER = re.compile(r"%\((\w+)\)s::(\w+)")
_SENT_AS_THEY_ARE = frozenset({"text", "bytea"})
_DONE = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})


@frozen
class Statement:
    """A statement with psycopg's named parameters.

    It states the type of each parameter, as in `%(id)s::bigint`: `text` for texts and `bytea` for
    bytes, because these are sent as they are, and never an array. Every column that it gives is
    text.
    """

    sql: str
    parameters: tuple[str, ...] = field(init=False)
    formats: tuple[Format, ...] = field(init=False)
    """How each is sent: as binary, a text is its bytes, and one with a NUL is refused, not cut."""
    numbered: bytes = field(init=False)
    """The statement as libpq has it, with `$1` for the first parameter."""
    name: bytes = field(init=False)
    """What the server knows it by, once it is prepared."""

    @parameters.default
    def _find_parameters(self) -> tuple[str, ...]:
        return tuple(self._types)

    @formats.default
    def _choose_formats(self) -> tuple[Format, ...]:
        return tuple(
            Format.BINARY if stated in _SENT_AS_THEY_ARE else Format.TEXT
            for stated in self._types.values()
        )

    @numbered.default
    def _number_parameters(self) -> bytes:
        numbers = {name: f"${number}" for number, name in enumerate(self.parameters, start=1)}
        return _PARAMETER.sub(lambda found: f"{numbers[found[1]]}::{found[2]}", self.sql).encode()

    @name.default
    def _name_by_content(self) -> bytes:
        return b"recipient_fields_" + sha256(self.numbered).hexdigest()[:16].encode()

    @property
    def _types(self) -> dict[str, str]:
        """The stated type of each parameter, in their order."""
        return dict(_PARAMETER.findall(self.sql))


Asked: TypeAlias = tuple[Statement, Values]

_BEGIN: Asked = (Statement("BEGIN ISOLATION LEVEL READ COMMITTED"), {})
_WAIT_FOR_LOCKS: Asked = (
    Statement(f"SELECT set_config('lock_timeout', '{LOCK_TIMEOUT}', true)"),
    {},
)
_COMMIT: Asked = (Statement("COMMIT"), {})
_ROLLBACK = Statement("ROLLBACK")


def ask(connection: DeadlineConnection, statement: Statement, values: Values) -> list[Row]:
    """The statement's rows; psycopg's errors."""
    _prepare(connection, statement)
    [result] = _exchange(connection, partial(_send, connection, statement, values))
    return _rows(result)


def ask_in_transaction(connection: DeadlineConnection, *asked: Asked) -> list[list[Row]]:
    """The rows of each statement, in a transaction that is one round trip; psycopg's errors.

    Each statement sees what was committed before it began, so the first can wait for a lock under
    which the others read.
    """
    # What goes in one trip is a transaction anyway, and a session of ours is set up for it.
    begin, end = ((_BEGIN, _WAIT_FOR_LOCKS), (_COMMIT,)) if connection.shared else ((), ())
    steps = (*begin, *asked, *end)
    for statement, _ in steps:
        _prepare(connection, statement)
    results = _exchange(connection, *(partial(_send, connection, *step) for step in steps))
    if connection.pgconn.transaction_status == TransactionStatus.INERROR:
        roll_back(connection)
    first = len(begin)
    return [_rows(result) for result in results][first : first + len(asked)]


def roll_back(connection: DeadlineConnection) -> None:
    """End the transaction without effect.

    A cursor of psycopg's would also forget what the connection has prepared, and ours with it.
    """
    ask(connection, _ROLLBACK, {})


def _exchange(connection: DeadlineConnection, *requests: Callable[[], None]) -> list[PGresult]:
    """Send all requests, then receive all results. Close the connection if that fails."""
    pgconn = connection.pgconn
    results: list[PGresult] = []
    try:
        pgconn.enter_pipeline_mode()
        for send in requests:
            send()
        pgconn.pipeline_sync()
        _receive(connection, results, len(requests))
        pgconn.exit_pipeline_mode()
    except OperationalError:
        connection.close()
        for result in results:
            _rows(result)  # What the server said of a statement tells more than that it is gone.
        raise
    except BaseException:
        connection.close()
        raise
    if connection.breaker is not None:
        connection.breaker.record_response()
    return results


def _receive(connection: DeadlineConnection, results: list[PGresult], number: int) -> None:
    """Gather the results of the `number` requests that were sent, and of the sync that ends them.

    psycopg's own generators let go of the interpreter nine times for each statement, and so does
    each `is_busy` once. Wherever other threads wait for it, that costs a call of the system and may
    cost a turn.
    """
    pgconn = connection.pgconn
    consumed = False
    while pgconn.flush():
        consumed = connection.wait_for(POLLIN | POLLOUT) != POLLOUT
        if consumed:  # Which sends as well: the last of the answers may have come with it.
            pgconn.consume_input()
    if not consumed:  # All is sent since, so something is still to come.
        connection.wait_for(POLLIN)
        pgconn.consume_input()
    for _ in range(number):
        results.append(_next_result(connection))
        pgconn.get_result()  # None, which ends what the request gave.
    end = _next_result(connection)
    if end.status != ExecStatus.PIPELINE_SYNC:  # To end an exchange may be to commit.
        raise error_from_result(end)


def _next_result(connection: DeadlineConnection) -> PGresult:
    pgconn = connection.pgconn
    while pgconn.is_busy():
        connection.wait_for(POLLIN)
        pgconn.consume_input()
    result = pgconn.get_result()
    if result is None:
        raise OperationalError("the server ended the exchange early")
    return result


def _prepare(connection: DeadlineConnection, statement: Statement) -> None:
    """Prepare the statement on this connection, unless that was done or may not be done."""
    if connection.shared or statement.name in connection.prepared:
        return
    prepare = partial(connection.pgconn.send_prepare, statement.name, statement.numbered)
    [result] = _exchange(connection, prepare)
    with suppress(DuplicatePreparedStatement):  # After an interrupt; the name tells the content.
        _rows(result)
    connection.prepared.add(statement.name)


def _send(connection: DeadlineConnection, statement: Statement, values: Values) -> None:
    sent = [
        value if value is None or isinstance(value, bytes) else str(value).encode()
        for value in map(values.__getitem__, statement.parameters)
    ]
    if statement.name in connection.prepared:
        connection.pgconn.send_query_prepared(statement.name, sent, statement.formats)
    else:
        pgconn = connection.pgconn
        pgconn.send_query_params(statement.numbered, sent, param_formats=statement.formats)


def _rows(result: PGresult) -> list[Row]:
    if result.status not in _DONE:
        raise error_from_result(result)
    get_value, columns = result.get_value, range(result.nfields)
    return [
        # No function for each value: a look-up of a key gives seven.
        tuple([None if (v := get_value(row, column)) is None else v.decode() for column in columns])
        for row in range(result.ntuples)
    ]
