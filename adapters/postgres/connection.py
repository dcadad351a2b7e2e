"""Connections whose waits have a deadline, and the parameters that open them."""

from __future__ import annotations

import re
import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from time import monotonic
from typing import Any, NoReturn, TypeAlias, TypeVar

from psycopg import Connection, OperationalError, ProgrammingError, capabilities, pq
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import RowFactory, TupleRow, tuple_row

from recipient_fields.domain import StorageUnavailable

from ..url_options import take_options
from .circuit_breaker import CHECK_INTERVAL, CircuitBreaker, CircuitOpen
from .errors import every_error_translated

T = TypeVar("T")
C = TypeVar("C", bound=Connection[Any])

Parameters: TypeAlias = Mapping[str, Any]
"""The parameters of libpq for a connection. They include the password: never log or show them."""

CHECK_TIMEOUT = 0.5
"""Seconds for the readiness check. If the storage has not responded then, `/readyz` is 503."""
LOCK_TIMEOUT = "1s"
"""The time for which a statement waits for a lock, in the syntax of PostgreSQL.

It is shorter than the call, so that PostgreSQL reports the lock as the cause.
"""

_OPTIONS = ("pool_size", "prepare")
"""The options of this adapter in a URL. All others are libpq's."""

_URL = re.compile(r"postgres(ql)?://([^@/?]*@)?[^@/?]*([/?][^@]*)?")
_PORTS = re.compile(r"[0-9,]*")
_NAME = "recipient-fields"
_CONNECT_TIMEOUT = 2
"""Seconds per server. psycopg accepts no less."""
_IDLE_CHECK_TIMEOUT = 0.5
"""Seconds, for statements without a deadline: the pool checks idle connections with them."""
_CANCEL_TIMEOUT = 0.5


class ResponseTimeout(OperationalError):
    """PostgreSQL did not respond before the deadline. It may still have executed the statement."""


class DeadlineConnection(Connection[TupleRow]):
    """A connection that closes itself if a response does not arrive before its deadline.

    It also cancels the statement, so that the session ends on the server, too.
    """

    deadline: float | None = None
    """A `monotonic()` time; None allows half a second per round trip."""
    breaker: CircuitBreaker | None = None
    """Ends each wait when it opens. None on connections that check whether PostgreSQL responds."""

    def __init__(self, pgconn: pq.abc.PGconn, row_factory: RowFactory[Any] = tuple_row) -> None:
        super().__init__(pgconn, row_factory)
        self._poll = select.poll()
        self._poll.register(self.pgconn.socket, select.POLLIN)

    def wait(
        self, gen: PQGen[T], interval: float = CHECK_INTERVAL, timeout: float | None = None
    ) -> T:
        """Run the generator of a round trip to its end, as psycopg does for each statement.

        Raises: ResponseTimeout if the deadline passes. CircuitOpen if the circuit breaker opens.
        """
        return super().wait(self._limited(gen), min(interval, CHECK_INTERVAL), timeout)

    def is_lost(self) -> bool:
        """Return whether this idle connection is closed, or the server has closed it.

        The server sends nothing on an idle connection, except before it closes it.
        """
        return self.closed or bool(self._poll.poll(0))

    def _limited(self, gen: PQGen[T]) -> PQGen[T]:
        """Delegate to `gen`, but raise if the deadline passes or the circuit breaker opens."""
        deadline = monotonic() + _IDLE_CHECK_TIMEOUT if self.deadline is None else self.deadline
        try:
            awaited = next(gen)
            while True:
                ready = yield awaited
                awaited = gen.send(ready)
                if monotonic() >= deadline:
                    self._abandon()
                if not ready and self.breaker is not None:  # Nothing came for CHECK_INTERVAL.
                    self._require_closed(self.breaker)
        except (ResponseTimeout, CircuitOpen):
            # Otherwise, a pipeline would report the closed connection when it is collected.
            with suppress(OperationalError):
                gen.close()
            raise
        except StopIteration as finished:
            if self.breaker is not None:
                self.breaker.record_response()
            result: T = finished.value
            return result

    def _require_closed(self, breaker: CircuitBreaker) -> None:
        try:
            breaker.require()
        except CircuitOpen:
            self.close()  # Cancelling the statement would require another wait.
            raise
        breaker.request_check()

    def _abandon(self) -> NoReturn:
        # Before libpq 17, cancelling has no timeout, and would block as the statement did.
        if capabilities.has_cancel_safe():
            with suppress(OperationalError):
                self.cancel_safe(timeout=_CANCEL_TIMEOUT)
        self.close()
        raise ResponseTimeout("no response in time")


class LongRunningConnection(DeadlineConnection):
    """A connection for long work, such as a copy: each round trip may take 30 s."""

    round_trip_timeout: float = 30.0
    """Seconds. Long enough for PostgreSQL to commit a million rows."""
    deadline: float | None

    def wait(
        self, gen: PQGen[T], interval: float = CHECK_INTERVAL, timeout: float | None = None
    ) -> T:
        """Run the generator with a new deadline."""
        self.deadline = monotonic() + self.round_trip_timeout
        return super().wait(gen, interval, timeout)


@contextmanager
def connected(kind: type[C], parameters: Parameters) -> Iterator[C]:
    """Open a connection outside the pool, and translate every error of the driver."""
    with (
        every_error_translated(),
        kind.connect(**parameters, autocommit=True, prepare_threshold=None) as connection,
    ):
        yield connection


def read_clock(url: str) -> datetime:
    """Return the time of the server of the database.

    Raises: StorageUnavailable if the URL is malformed or the server does not respond.
    """
    # As a number, because psycopg can't read times in the style of some servers.
    with connected(DeadlineConnection, parse_url(url)) as connection:
        [(seconds,)] = connection.execute(
            "SELECT extract(epoch FROM clock_timestamp())::float8"
        ).fetchall()
    return datetime.fromtimestamp(seconds, UTC)


def parse_url(url: str) -> Parameters:
    """Return the parameters for libpq in a URL, without the options of this adapter.

    The URL may have several hosts and all of libpq's parameters.

    Raises: StorageUnavailable if the URL is malformed, or a password in it is not percent-encoded:
    libpq would take parts of the password for a host or port and repeat them in its messages.
    """
    url, _ = _split_options(url)
    parameters: Parameters | None = None
    if _URL.fullmatch(url) is not None:
        with suppress(ProgrammingError):  # Its message quotes the URL.
            parameters = conninfo_to_dict(url)
    if parameters is None or _PORTS.fullmatch(str(parameters.get("port", ""))) is None:
        raise StorageUnavailable(
            "The PostgreSQL URL can't be read. Write postgresql://user:password@host:port/database,"
            " with @ / ? : and % in the password percent-encoded."
        )
    return {
        "connect_timeout": _CONNECT_TIMEOUT,
        "fallback_application_name": _NAME,
        **parameters,
        "client_encoding": "utf8",  # Overrides what the role, database or environment sets.
    }


def without_credentials(url: str) -> str:
    """Return the hosts and the database of a URL, without user, password and options.

    Raises: StorageUnavailable if the URL is malformed.
    """
    parse_url(url)
    location = url.partition("?")[0].partition("://")[2]
    return f"postgresql://{location.rpartition('@')[2]}"


def parse_options(url: str) -> Mapping[str, str]:
    """Return the options of this adapter in a URL, such as `postgresql://…?pool_size=8`.

    Raises: InvalidStorageUrl if one of them has no value or occurs twice.
    """
    return take_options("&".join(_split_options(url)[1]), _OPTIONS)


def _split_options(url: str) -> tuple[str, list[str]]:
    """Return the URL without the options of this adapter, and these options."""
    address, mark, query = url.partition("?")
    options = query.split("&")
    ours = [option for option in options if option.partition("=")[0] in _OPTIONS]
    others = [option for option in options if option not in ours]
    return (address + mark + "&".join(others) if others else address), ours


def require_compiled_driver() -> None:
    """Raise StorageUnavailable if psycopg is pure Python: a list uses 13 times the CPU then."""
    if pq.__impl__ == "python":
        raise StorageUnavailable(
            "psycopg runs without its C implementation. Install psycopg[binary] or psycopg[c]."
        )
