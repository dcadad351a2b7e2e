"""The statements of the requests that come all the time.

psycopg's cursors do much that these can do without: what they are asked is prepared on the server,
bound to bytes, and read as text. That costs a third of the CPU, and several of them go in one round
trip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from attrs import field, frozen
from psycopg.errors import error_from_result
from psycopg.generators import execute, fetch_many
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from .connection import DeadlineConnection
from .limits import LOCK_TIMEOUT

Value: TypeAlias = str | bytes | int | None
Values: TypeAlias = Mapping[str, Value]
Row: TypeAlias = tuple[Any, ...]
"""Texts, and None for NULL."""

_PARAMETER = re.compile(r"%\((\w+)\)s")
_DONE = frozenset({ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK})


@frozen
class Statement:
    """A statement with psycopg's named parameters.

    It states the type of each parameter, as in `%(id)s::bigint`: `text` for texts and `bytea` for
    bytes, because these are sent as they are. Every column that it gives is text.
    """

    sql: str
    parameters: tuple[str, ...] = field(init=False)
    numbered: bytes = field(init=False)
    """The statement as libpq has it, with `$1` for the first parameter."""
    name: bytes = field(init=False)
    """What the server knows it by, once it is prepared."""

    @parameters.default
    def _find_parameters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_PARAMETER.findall(self.sql)))

    @numbered.default
    def _number_parameters(self) -> bytes:
        numbers = {name: f"${number}" for number, name in enumerate(self.parameters, start=1)}
        return _PARAMETER.sub(lambda found: numbers[found[1]], self.sql).encode()

    @name.default
    def _name_by_content(self) -> bytes:
        return b"recipient_fields_" + sha256(self.numbered).hexdigest()[:16].encode()


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
    _send(connection, statement, values)
    [result] = connection.wait(execute(connection.pgconn))
    return _rows(result)


def ask_in_transaction(connection: DeadlineConnection, *asked: Asked) -> list[list[Row]]:
    """The rows of each statement, in a transaction that is one round trip; psycopg's errors.

    Each statement sees what was committed before it began, so the first can wait for a lock under
    which the others read.
    """
    steps = (_BEGIN, _WAIT_FOR_LOCKS, *asked, _COMMIT)
    for statement, _ in steps:
        _prepare(connection, statement)
    results = _exchange(connection, steps)
    if connection.pgconn.transaction_status == TransactionStatus.INERROR:
        roll_back(connection)
    return [_rows(result) for result in results][2:-1]


def roll_back(connection: DeadlineConnection) -> None:
    """End the transaction without effect.

    A cursor of psycopg's would also forget what the connection has prepared, and ours with it.
    """
    ask(connection, _ROLLBACK, {})


def _exchange(connection: DeadlineConnection, steps: tuple[Asked, ...]) -> list[PGresult]:
    """Send all, then receive all; what comes between leaves a connection that nobody can use."""
    pgconn = connection.pgconn
    try:
        pgconn.enter_pipeline_mode()
        for statement, values in steps:
            _send(connection, statement, values)
        pgconn.pipeline_sync()
        results: list[PGresult] = connection.wait(execute(pgconn))
        while len(results) <= len(steps):  # The last is that of the sync.
            results += connection.wait(fetch_many(pgconn))
        pgconn.exit_pipeline_mode()
    except BaseException:
        connection.close()
        raise
    return results[:-1]


def _prepare(connection: DeadlineConnection, statement: Statement) -> None:
    """Prepare the statement on this connection, unless that was done or may not be done."""
    if connection.prepare_threshold is None or statement.name in connection.prepared:
        return
    connection.pgconn.send_prepare(statement.name, statement.numbered)
    try:
        [result] = connection.wait(execute(connection.pgconn))
    except BaseException:
        connection.close()  # The server may know the statement, and we would prepare it again.
        raise
    _rows(result)
    connection.prepared.add(statement.name)


def _send(connection: DeadlineConnection, statement: Statement, values: Values) -> None:
    sent: list[bytes | None] = []
    formats: list[int] = []
    for name in statement.parameters:
        value = values[name]
        # In binary form a text is its bytes, and one with a NUL is refused rather than cut off.
        formats.append(Format.BINARY if isinstance(value, str | bytes) else Format.TEXT)
        if isinstance(value, str | int):
            value = str(value).encode()
        sent.append(value)
    if statement.name in connection.prepared:
        connection.pgconn.send_query_prepared(statement.name, sent, formats)
    else:
        connection.pgconn.send_query_params(statement.numbered, sent, param_formats=formats)


def _rows(result: PGresult) -> list[Row]:
    if result.status not in _DONE:
        raise error_from_result(result)
    columns = range(result.nfields)
    return [
        tuple(_text(result.get_value(row, column)) for column in columns)
        for row in range(result.ntuples)
    ]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
