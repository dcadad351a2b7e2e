"""Connections and transactions: how long they may take, and what becomes of them in an outage."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from psycopg.conninfo import make_conninfo
from psycopg.errors import InvalidSqlStatementName, ReadOnlySqlTransaction
from psycopg_pool import ConnectionPool, PoolTimeout

from recipient_fields.domain import StorageUnavailable

from .circuit_breaker import GLANCE_SECONDS, CircuitBreaker
from .connection import DeadlineConnection, Parameters
from .errors import twice
from .keeper import Keeper
from .limits import ANSWER_SECONDS, LOCK_TIMEOUT
from .statements import Asked, Row, Statement, Values, ask, ask_in_transaction, roll_back
from .transactions import Work

T = TypeVar("T")

_OurWork: TypeAlias = Callable[[DeadlineConnection], T]
"""Work that may use what our connections have beyond others."""

_POOL_SECONDS = 1.0
_SPARE_CONNECTIONS = 1  # for the readiness check
_PREPARE_AFTER = 5

# For a session of ours, whatever its role or database prefers.
_SETTINGS = f"""
    SET default_transaction_isolation = 'read committed';
    SET lock_timeout = '{LOCK_TIMEOUT}'"""
# In one round trip. LOCAL, because behind PgBouncer the session belongs to others as well; and a
# session of ours may have been reset.
_BEGIN = f"""
    BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';
    SET LOCAL idle_in_transaction_session_timeout = '5s'"""


class Database:
    """One database, through a pool that no outage outlasts.

    What the driver raises becomes ours here, and nowhere else. A transaction that meets another
    one is tried once more.
    """

    def __init__(self, parameters: Parameters, *, threads: int, prepare: bool) -> None:
        url = make_conninfo("", **parameters)
        options: dict[str, Any] = {
            "autocommit": True,
            "prepare_threshold": _PREPARE_AFTER if prepare else None,
        }
        self._breaker = CircuitBreaker()
        self._pool = ConnectionPool(
            url,
            connection_class=DeadlineConnection,
            kwargs=options,
            name="recipient-fields",
            min_size=1,
            configure=self._set_up,
            max_size=threads + _SPARE_CONNECTIONS,
            max_waiting=0,  # A limit here wedges the pool for ever once an outage fills the queue.
            timeout=_POOL_SECONDS,
            reconnect_timeout=1.0,
            open=True,
        )
        self._keeper = Keeper(
            self._breaker, lambda: DeadlineConnection.connect(url, **options), self._pool.check
        )

    def read(self, work: Work[T], *, seconds: float = ANSWER_SECONDS) -> T:
        """What the work finds; each of its statements sees a state of its own."""
        return self._counted(work, seconds)

    def check(self, work: Work[T], *, seconds: float) -> T:
        """Do the same as `read`, but don't count it among the requests that an outage rejects."""
        return self._twice(work, seconds)

    def ask(self, statement: Statement, values: Values) -> list[Row]:
        """The rows of a statement that only reads."""
        return self._counted(lambda connection: ask(connection, statement, values), ANSWER_SECONDS)

    def ask_in_transaction(self, *asked: Asked) -> list[list[Row]]:
        """The rows of each of these statements, which take effect together or not at all."""
        return self._counted(
            lambda connection: ask_in_transaction(connection, *asked), ANSWER_SECONDS
        )

    def write(
        self, work: Work[T], *, first: str | None = None, seconds: float = ANSWER_SECONDS
    ) -> T:
        """What the work returns, in one transaction; undone where it raises.

        `first` is a statement that costs no round trip of its own. It has no parameters.
        """
        begin = _BEGIN if first is None else f"{_BEGIN}; {first}"

        def transaction(connection: DeadlineConnection) -> T:
            try:
                connection.execute(begin, prepare=False)
                result = work(connection)
                connection.execute("COMMIT", prepare=False)
            except BaseException:
                if not connection.closed:
                    roll_back(connection)
                raise
            return result

        return self._counted(transaction, seconds)

    def use(self) -> dict[str, int]:
        """How many connections are `open` and `in_use`, and how many callers are `waiting`."""
        told = self._pool.get_stats()
        return {
            "open": told["pool_size"],
            "in_use": told["pool_size"] - told["pool_available"],
            "waiting": told["requests_waiting"],
        }

    def close(self) -> None:
        """Close every connection; one that is in use closes when it is given back."""
        self._keeper.close()
        self._pool.close(timeout=1.0)

    def _counted(self, work: _OurWork[T], seconds: float) -> T:
        try:
            return self._twice(work, seconds)
        except StorageUnavailable as unavailable:
            if unavailable.logged:
                self._breaker.record_rejection()
            raise

    def _twice(self, work: _OurWork[T], seconds: float) -> T:
        deadline = monotonic() + seconds
        return twice(lambda: self._once(work, deadline))

    def _once(self, work: _OurWork[T], deadline: float) -> T:
        connection = self._take(deadline)
        try:
            connection.deadline = deadline
            return work(connection)
        except ReadOnlySqlTransaction:
            self._pool.drain()  # This is no longer the primary, wherever the others lead.
            raise
        except InvalidSqlStatementName:
            self._pool.drain()  # Somebody made it, and so maybe others, forget what they prepared.
            raise
        finally:
            connection.deadline = None
            self._pool.putconn(connection)

    def _take(self, deadline: float) -> DeadlineConnection:
        deadline = min(deadline, monotonic() + _POOL_SECONDS)
        while (left := deadline - monotonic()) > 0:
            self._breaker.require()
            try:
                connection = self._pool.getconn(min(left, GLANCE_SECONDS))
            except PoolTimeout:
                self._breaker.request_check()
                continue
            if not connection.has_gone():
                return connection
            connection.close()
            self._pool.putconn(connection)
        raise PoolTimeout("no connection was free in time")

    def _set_up(self, connection: DeadlineConnection) -> None:
        if not connection.shared:
            connection.execute(_SETTINGS, prepare=False)
            self._breaker.record_response()
        connection.breaker = self._breaker
