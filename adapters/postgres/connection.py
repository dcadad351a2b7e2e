"""One connection: whom it reaches, and how long it waits for an answer."""

from __future__ import annotations

import re
import select
from collections.abc import Mapping
from contextlib import suppress
from math import ceil, inf
from time import monotonic
from typing import Any, Self, TypeAlias, TypeVar

from psycopg import (
    Connection,
    OperationalError,
    ProgrammingError,
    capabilities,
    errors,
    pq,
    waiting,
)
from psycopg.abc import PQGen, PQGenConn
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import RowFactory, TupleRow, tuple_row
from psycopg.waiting import Ready

from recipient_fields.domain import StorageUnavailable

from .circuit_breaker import GLANCE_SECONDS, CircuitBreaker, CircuitOpen

T = TypeVar("T")

Parameters: TypeAlias = Mapping[str, Any]
"""What libpq needs to connect, by its own names. Holds the password: never to be shown."""

_URL = re.compile(r"postgres(ql)?://([^@/?]*@)?[^@/?]*([/?][^@]*)?")
_PORTS = re.compile(r"[0-9,]*")
_NAME = "recipient-fields"
_CONNECT_SECONDS = 2
_CONNECT_SECONDS_OF_SEVERAL = 1
"""Where there is another server to turn to."""
_UNATTENDED_SECONDS = 0.5
_CANCEL_SECONDS = 0.5
_SILENCE_SECONDS = 30.0
"""Long enough for the server to commit a million rows."""


class NoAnswer(OperationalError):
    """The server did not answer in time. What it was asked to do may have happened."""


class DeadlineConnection(Connection[TupleRow]):
    """A connection that waits no longer than `deadline`, and is closed when that has passed.

    `deadline` is a `monotonic()` time; without one, as when the pool checks an idle connection,
    half a second is enough. The server is asked to drop what it was doing, so that an abandoned
    session ends there too.
    """

    deadline: float | None = None
    breaker: CircuitBreaker | None = None
    """Ends each wait once the server is known not to respond; None on connections that find out
    whether it does."""

    def __init__(self, pgconn: pq.abc.PGconn, row_factory: RowFactory[Any] = tuple_row) -> None:
        super().__init__(pgconn, row_factory)
        self.prepared: set[bytes] = set()
        """The names of the statements that this connection knows."""
        self._poll = select.poll()
        self._poll.register(self.pgconn.socket, select.POLLIN)

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """See Connection; NoAnswer where the deadline passes, and an interrupt ends it as well."""
        if self.breaker is not None:
            interval = GLANCE_SECONDS
            gen = self._watched(gen, self.breaker)
        try:
            return waiting.wait(
                gen, self.pgconn.socket, interval, self._left if timeout is None else timeout
            )
        except errors._WaitTimeout:
            self._abandon()
            raise NoAnswer("no answer in time") from None
        except (KeyboardInterrupt, SystemExit):  # psycopg would wait for up to ten seconds.
            self._abandon()
            raise

    def wait_for(self, events: int) -> int:
        """Return which of these events of `select.poll` happened on the socket, or its end.

        Raises: NoAnswer if the deadline passes first.
        """
        try:
            self._poll.modify(self.pgconn.socket, events)
            happened = self._poll_until_deadline()
        except (KeyboardInterrupt, SystemExit):
            self._abandon()
            raise
        if not happened:
            self._abandon()
            raise NoAnswer("no answer in time")
        return happened[0][1]

    @classmethod
    def _connect_gen(cls, conninfo: str = "") -> PQGenConn[Self]:
        """See Connection, which would make two seconds of a `connect_timeout` of one."""
        seconds = float(conninfo_to_dict(conninfo).get("connect_timeout") or 0)
        deadline = monotonic() + seconds if seconds > 0 else inf
        connecting = super()._connect_gen(conninfo)
        try:
            awaited = next(connecting)
            while True:
                ready = yield awaited
                if monotonic() > deadline:
                    raise errors.ConnectionTimeout("connection timeout expired")
                awaited = connecting.send(ready)
        except StopIteration as connected:
            connection: Self = connected.value
            return connection

    @property
    def shared(self) -> bool:
        """Is its session one of others as well, behind PgBouncer in transaction mode?

        What is set or prepared there would meet them, and who asks next may be given another one.
        """
        return self.prepare_threshold is None

    def has_gone(self) -> bool:
        """Did the server hang up meanwhile? It says nothing unasked, except goodbye."""
        if self.closed:
            return True
        self._poll.modify(self.pgconn.socket, select.POLLIN)
        return bool(self._poll.poll(0))

    def _poll_until_deadline(self) -> list[tuple[int, int]]:
        while self.breaker is not None and self._left > GLANCE_SECONDS:
            happened = self._poll.poll(ceil(GLANCE_SECONDS * 1_000))
            if happened:
                return happened
            self._glance(self.breaker)
        return self._poll.poll(ceil(self._left * 1_000))

    def _watched(self, gen: PQGen[T], breaker: CircuitBreaker) -> PQGen[T]:
        """The same steps, given up once the server is known not to respond."""
        heard = False
        try:
            awaited = next(gen)
            while True:
                ready = yield awaited
                if ready:
                    heard = heard or bool(ready & Ready.R)
                else:
                    self._glance(breaker)
                awaited = gen.send(ready)
        except StopIteration as done:
            if heard:
                breaker.record_response()
            result: T = done.value
            return result

    def _glance(self, breaker: CircuitBreaker) -> None:
        """Look at the circuit breaker, because the server has not responded for a while."""
        try:
            breaker.require()
        except CircuitOpen:
            self.close()  # To cancel the statement would take another wait.
            raise
        breaker.request_check()

    @property
    def _left(self) -> float:
        """The seconds that an answer may still take."""
        if self.deadline is None:
            return _UNATTENDED_SECONDS
        return max(self.deadline - monotonic(), 0.0)

    def _abandon(self) -> None:
        # Before libpq 17 cancelling can't be given a limit, and would hang as the query did.
        if capabilities.has_cancel_safe():
            with suppress(OperationalError):
                self.cancel_safe(timeout=_CANCEL_SECONDS)
        self.close()


class PatientConnection(DeadlineConnection):
    """A connection for long work, such as a copy: each round trip has a deadline of its own."""

    deadline: float | None = None

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for the generator. Raises: NoAnswer after 30 s without a result."""
        self.deadline = monotonic() + _SILENCE_SECONDS
        return super().wait(gen, interval, timeout)


def parse_url(url: str) -> Parameters:
    """What the URL tells libpq, several hosts and every option of libpq's included.

    StorageUnavailable where it can't be read. A password that is not percent-encoded where it has
    to be is refused, because libpq would take parts of it for a host or a port and repeat them in
    its messages.
    """
    parameters: Parameters | None = None
    if _URL.fullmatch(url) is not None:
        with suppress(ProgrammingError):  # Its message quotes the URL.
            parameters = conninfo_to_dict(url)
    if parameters is None or _PORTS.fullmatch(str(parameters.get("port", ""))) is None:
        raise StorageUnavailable(
            "The PostgreSQL URL can't be read. Write postgresql://user:password@host:port/database,"
            " with @ / ? : and % in the password percent-encoded."
        )
    several = "," in f"{parameters.get('host', '')}{parameters.get('hostaddr', '')}"
    seconds = _CONNECT_SECONDS_OF_SEVERAL if several else _CONNECT_SECONDS
    return {
        "connect_timeout": seconds,
        "fallback_application_name": _NAME,
        **parameters,
        "client_encoding": "utf8",  # whatever role, database or environment prefer
    }


def require_compiled_driver() -> None:
    """StorageUnavailable where psycopg runs in Python alone: a list would cost 13 times the CPU."""
    if pq.__impl__ == "python":
        raise StorageUnavailable(
            "psycopg runs without its C implementation. Install psycopg[binary] or psycopg[c]."
        )
