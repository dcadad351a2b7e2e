"""Transactions over a connection pool, with deadlines, one retry, and recovery after an outage."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from psycopg.errors import InvalidSqlStatementName, ReadOnlySqlTransaction
from psycopg_pool import ConnectionPool, PoolTimeout

from recipient_fields.domain import StorageUnavailable

from ..relational.database import CALL_TIMEOUT, RowLock
from ..relational.database import Database as RelationalDatabase
from .circuit_breaker import CHECK_INTERVAL, CircuitBreaker
from .connection import LOCK_TIMEOUT, Parameters
from .dialect import PostgresConnection, lock_statement
from .errors import retry_once
from .primary import HostObserver, Monitor, PositionedConnection, PrimaryTracker

T = TypeVar("T")

_PooledWork: TypeAlias = Callable[[PositionedConnection], T]
_SharedWork: TypeAlias = Callable[[PostgresConnection], T]
_Pool: TypeAlias = Callable[[float], PositionedConnection]
"""Returns a connection before the deadline, a `monotonic()` time."""

_POOL_TIMEOUT = 1.0
_SPARE_CONNECTIONS = 1  # for the readiness check
_PREPARE_THRESHOLD = 5

# For each session of this pool, independently of the settings of its role and database.
_SETTINGS = f"""
    SET default_transaction_isolation = 'read committed';
    SET lock_timeout = '{LOCK_TIMEOUT}'"""
# One round trip. LOCAL, because other clients use the same session behind PgBouncer, and because
# the settings of this pool's own sessions may have been reset.
_BEGIN = (
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'",
    "SET LOCAL idle_in_transaction_session_timeout = '5s'",
)


class Database(RelationalDatabase):
    """One database, through a connection pool.

    It translates the driver's errors, and retries a transaction once if it conflicted with another.
    """

    def __init__(
        self, parameters: Parameters, *, pool_size: int, prepare: bool, has_pipelines: bool
    ) -> None:
        """Open the pool. `has_pipelines`: whether transactions send statements as a pipeline.

        It saves round trips, but costs CPU time.
        """
        self._has_pipelines = has_pipelines
        options: dict[str, Any] = {
            "autocommit": True,
            "prepare_threshold": _PREPARE_THRESHOLD if prepare else None,
        }
        self._prepare = prepare
        self._callers: set[object] = set()
        """One token per call that is getting a connection, except readiness checks."""
        self._breaker = CircuitBreaker()
        self._primary = PrimaryTracker(parameters, on_promotion=lambda: self._pool.drain())
        self._pool = ConnectionPool(
            self._primary.conninfo,
            connection_class=PositionedConnection,
            kwargs=options,
            name="recipient-fields",
            min_size=1,
            configure=self._configure,
            max_size=pool_size + _SPARE_CONNECTIONS,
            max_waiting=0,  # With a limit, an outage that fills the queue blocks the pool forever.
            timeout=_POOL_TIMEOUT,
            reconnect_timeout=1.0,
            open=True,
        )
        self._monitor = Monitor(
            self._breaker,
            self._primary,
            lambda: PositionedConnection.connect(self._primary.conninfo(), **options),
            self._pool.check,
        )
        self._observer = HostObserver(
            self._primary, lambda url: PositionedConnection.connect(url, **options)
        )

    def read(self, work: _SharedWork[T], /, *, seconds: float = CALL_TIMEOUT) -> T:
        """Return the result of the work. Each of its statements is a transaction."""
        return self._run(lambda connection: work(PostgresConnection(connection)), seconds)

    def check(self, work: _PooledWork[T], *, seconds: float) -> T:
        """Do the same as `read`, but count neither the call nor its failure as a request."""
        return self._retrying(work, seconds, self._get_connection)

    def write(
        self,
        work: _SharedWork[T],
        /,
        *,
        lock: RowLock | None = None,
        pipelined: bool = False,
        seconds: float = CALL_TIMEOUT,
    ) -> T:
        """Return the result of the work, which is one transaction. Roll back if it raises.

        The lock has no round trip of its own. In a pipeline, a statement has a round trip only if
        the work fetches its rows.
        """
        begin = _BEGIN if lock is None else (*_BEGIN, lock_statement(lock))
        pipelined = pipelined and self._has_pipelines

        def transaction(connection: PositionedConnection) -> T:
            try:
                with connection.pipeline() if pipelined else nullcontext():
                    # A pipeline accepts only single statements.
                    for statement in begin if pipelined else ["; ".join(begin)]:
                        begun = connection.execute(statement, prepare=False)
                    if not pipelined:
                        begun.set_result(-1)
                    result = work(PostgresConnection(connection, begun if lock else None))
                    connection.execute("COMMIT", prepare=False)
            except BaseException:
                if not connection.closed:
                    connection.rollback()
                raise
            return result

        return self._run(transaction, seconds)

    def pool_use(self) -> dict[str, int]:
        """Return how many connections are `open` and `in_use`, and how many calls are `waiting`."""
        statistics = self._pool.get_stats()
        # The pool also counts calls that have timed out, until it has a connection again: during an
        # outage, those of readiness checks. Most of our callers get a connection at once.
        waiting = min(len(self._callers), statistics["requests_waiting"])
        return {
            "open": statistics["pool_size"],
            "in_use": statistics["pool_size"] - statistics["pool_available"],
            "waiting": waiting,
        }

    def close(self) -> None:
        """Close every connection. A connection in use closes when it returns to the pool."""
        self._observer.close()
        self._monitor.close()
        self._pool.close(timeout=1.0)

    def _run(self, work: _PooledWork[T], seconds: float) -> T:
        try:
            return self._retrying(work, seconds, self._get_connection_for_caller)
        except StorageUnavailable as unavailable:
            if unavailable.logged:
                self._breaker.record_rejection()
            raise

    def _retrying(self, work: _PooledWork[T], seconds: float, get_connection: _Pool) -> T:
        deadline = monotonic() + seconds
        return retry_once(lambda: self._attempt(work, deadline, get_connection))

    def _attempt(self, work: _PooledWork[T], deadline: float, get_connection: _Pool) -> T:
        connection = get_connection(deadline)
        try:
            connection.deadline = deadline
            result = work(connection)
        except (ReadOnlySqlTransaction, InvalidSqlStatementName):
            # This server is no longer the primary, or something deallocated the prepared statements
            # of this session.
            self._pool.drain()
            raise
        else:
            self._primary.require(connection)
            return result
        finally:
            connection.deadline = None
            self._pool.putconn(connection)

    def _get_connection_for_caller(self, deadline: float) -> PositionedConnection:
        caller = object()
        self._callers.add(caller)
        try:
            return self._get_connection(deadline)
        finally:
            self._callers.remove(caller)

    def _get_connection(self, deadline: float) -> PositionedConnection:
        deadline = min(deadline, monotonic() + _POOL_TIMEOUT)
        while (left := deadline - monotonic()) > 0:
            self._breaker.require()
            try:
                connection = self._pool.getconn(min(left, CHECK_INTERVAL))
            except PoolTimeout:
                self._breaker.request_check()
                continue
            if not connection.is_lost() and self._primary.allows(connection):
                return connection
            connection.close()
            self._pool.putconn(connection)
        raise PoolTimeout("no connection was free in time")

    def _configure(self, connection: PositionedConnection) -> None:
        self._primary.identify(connection)
        if self._prepare:
            connection.execute(_SETTINGS, prepare=False)
        self._breaker.record_response()
        connection.breaker = self._breaker
