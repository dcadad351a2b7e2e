"""Which connections lead to the primary, by the timelines that this process has seen."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from time import monotonic

import psycopg
from attrs import frozen
from psycopg.conninfo import make_conninfo
from psycopg.errors import ObjectNotInPrerequisiteState

from .circuit_breaker import CircuitBreaker
from .connection import DeadlineConnection, Parameters
from .errors import one_line

_INTERVAL = 1.0
"""Seconds between two observations, or two checks."""
_JOIN_TIMEOUT = 1.0
_PRIMARY_ATTRIBUTES = ("read-write", "primary")
_HOST_PARAMETERS = ("host", "hostaddr", "port")
"""The parameters of libpq that can be lists, with one item per host."""

# Every role may execute these functions, unless their rights were changed. The name of a WAL file
# begins with the timeline, in hexadecimal digits. `pg_control_checkpoint()` can be behind.
_READ_POSITION = """
    SELECT system_identifier,
        CASE WHEN pg_catalog.pg_is_in_recovery() THEN 0 ELSE
            ('x' || pg_catalog.left(
                pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8
            ))::bit(32)::bigint
        END
    FROM pg_catalog.pg_control_system()"""

_log = logging.getLogger(__name__)


class NotPrimary(psycopg.OperationalError):
    """The server is not the primary, or no longer."""


@frozen
class Position:
    """Which history a server writes. A promotion starts a new timeline of the same system."""

    system: int
    """The system identifier, which a primary and its standbys have in common."""
    timeline: int
    """The timeline that a primary writes; 0 for a standby."""


class PositionedConnection(DeadlineConnection):
    """A connection with the position of its server."""

    position: Position | None = None
    """The last position that was read. None if the server does not permit to read it."""


class PrimaryTracker:
    """Compares the position of each connection with the newest timeline of the same system.

    A server whose timeline is older than that of another one was overtaken: another server was
    promoted, although this one still accepts writes. All methods may be called from any thread.
    """

    def __init__(self, parameters: Parameters, on_promotion: Callable[[], None]) -> None:
        """Track the servers of these parameters.

        `on_promotion` is called when a newer timeline is seen, and when a primary has become a
        standby. It should close the idle connections.
        """
        self.hosts: tuple[Parameters, ...] = split_hosts(parameters)
        self._parameters = parameters
        self._on_promotion = on_promotion
        self._requires_primary = parameters.get("target_session_attrs") in _PRIMARY_ATTRIBUTES
        self._lock = Lock()
        self._newest: dict[int, int] = {}
        """The newest timeline by system."""
        self._positions: dict[int, Position] = {}
        """The last position of each host, by its index."""
        self._reported = False

    def conninfo(self) -> str:
        """Return the connection string, without the hosts that were overtaken."""
        hosts = [
            host
            for index, host in enumerate(self.hosts)
            if not self._is_overtaken(self._positions.get(index))
        ]
        return make_conninfo("", **join_hosts(self._parameters, hosts or self.hosts))

    def allows(self, connection: PositionedConnection) -> bool:
        """Return whether the connection may be used, by its last position."""
        position = connection.position
        if position is None:
            return True
        newest = self._newest.get(position.system, 0)
        if position.timeline == 0:
            return newest == 0 or not self._requires_primary
        return position.timeline >= newest

    def require(self, connection: PositionedConnection) -> None:
        """Raise NotPrimary unless the connection may be used."""
        if not self.allows(connection):
            raise NotPrimary("the server is no longer the primary")

    def identify(self, connection: PositionedConnection) -> None:
        """Read the position of the connection's server.

        Raises: NotPrimary if the connection may not be used.
        """
        previous = connection.position
        connection.position = self._read(connection)
        if not self.allows(connection):
            if previous is not None:  # A connection pooler has replaced the server.
                self._on_promotion()
            raise NotPrimary("the server is not the primary")

    def observe(self, host: int, connection: PositionedConnection) -> None:
        """Read the position of a host, by its index."""
        position = self._read(connection)
        if position is not None:
            self._positions[host] = position

    def _is_overtaken(self, position: Position | None) -> bool:
        if position is None or position.timeline == 0:
            return False
        return position.timeline < self._newest[position.system]

    def _read(self, connection: PositionedConnection) -> Position | None:
        try:
            [row] = connection.execute(_READ_POSITION, prepare=False).fetchall()
        except (
            psycopg.ProgrammingError,  # includes missing rights and functions
            psycopg.NotSupportedError,
            ObjectNotInPrerequisiteState,
        ) as error:
            self._report(error)
            return None
        position = Position(*row)
        self._record(position)
        return position

    def _record(self, position: Position) -> None:
        with self._lock:
            previous = self._newest.get(position.system, 0)
            if position.timeline <= previous:
                return
            self._newest[position.system] = position.timeline
        if previous:
            _log.warning(
                "A server was promoted to timeline %d. Connections to the primary of timeline %d"
                " are closed.",
                position.timeline,
                previous,
                extra={"facts": {"timeline": position.timeline, "previous": previous}},
            )
            self._on_promotion()

    def _report(self, error: psycopg.Error) -> None:
        with self._lock:
            reported, self._reported = self._reported, True
        if not reported:
            _log.warning(
                "The timeline of PostgreSQL can't be read (%s), so a primary that was replaced is"
                " not detected.",
                error.sqlstate,
                extra={"facts": {"sqlstate": error.sqlstate}},
            )


class HostObserver:
    """Reads the position of each host every second, if there are several.

    Each host has a thread, so that one that does not respond delays no other.
    """

    def __init__(
        self, tracker: PrimaryTracker, connect: Callable[[str], PositionedConnection]
    ) -> None:
        """Start the threads."""
        self._tracker = tracker
        self._connect = connect
        self._closing = Event()
        hosts = tracker.hosts if len(tracker.hosts) > 1 else ()
        self._threads = [
            Thread(
                target=self._run,
                args=(index, make_conninfo("", **{**host, "target_session_attrs": "any"})),
                name=f"recipient-fields-host-{index}",
                daemon=True,
            )
            for index, host in enumerate(hosts)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads, and wait up to a second for each."""
        self._closing.set()
        for thread in self._threads:
            thread.join(_JOIN_TIMEOUT)

    def _run(self, index: int, url: str) -> None:
        connection: PositionedConnection | None = None
        while not self._closing.wait(_INTERVAL):  # Short-lived processes need no observation.
            try:
                if connection is None:
                    connection = self._connect(url)
                self._tracker.observe(index, connection)
            except psycopg.Error:  # The monitor reports outages.
                if connection is not None:
                    connection.close()
                connection = None
        if connection is not None:
            connection.close()


def split_hosts(parameters: Parameters) -> tuple[Parameters, ...]:
    """Return the parameters of each host of a URL with several hosts."""
    lists = {
        name: str(parameters[name]).split(",") for name in _HOST_PARAMETERS if name in parameters
    }
    number = max((len(items) for items in lists.values()), default=1)

    def item(name: str, index: int) -> str:
        items = lists[name]
        return items[index] if index < len(items) else items[0]  # One port applies to all hosts.

    return tuple(
        {**parameters, **{name: item(name, index) for name in lists}} for index in range(number)
    )


def join_hosts(parameters: Parameters, hosts: Sequence[Parameters]) -> Parameters:
    """Return the parameters with these hosts only."""
    lists = {
        name: ",".join(str(host[name]) for host in hosts)
        for name in _HOST_PARAMETERS
        if name in parameters
    }
    return {**parameters, **lists}


_SHORTEST_INTERVAL = 0.1
"""Seconds between two checks while requests wait, or until a failure is certain."""


class Monitor:
    """Checks PostgreSQL every second, and sooner if a request has waited.

    A check also reads whether the server is still the primary.

    It uses a connection of its own, so requests that use up the pool can't delay it. While the
    circuit is open, nothing else tries to reach PostgreSQL.
    """

    def __init__(
        self,
        breaker: CircuitBreaker,
        primary: PrimaryTracker,
        connect: Callable[[], PositionedConnection],
        check_pool: Callable[[], None],
    ) -> None:
        """Start the thread.

        `check_pool` checks the idle connections of the pool, and opens one if there is none.
        """
        self._breaker = breaker
        self._primary = primary
        self._connect = connect
        self._check_pool = check_pool
        self._connection: PositionedConnection | None = None
        self._closing = Event()
        self._thread = Thread(target=self._run, name="recipient-fields-monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and wait up to a second for it."""
        self._closing.set()
        self._breaker.request_check()
        self._thread.join(_INTERVAL)

    def _run(self) -> None:
        pool_checked = monotonic()
        self._breaker.wait_for_request(_INTERVAL)  # Short-lived processes need no check.
        while not self._closing.is_set():
            began = monotonic()
            self._breaker.begin_check()
            if began - pool_checked >= _INTERVAL:
                pool_checked = began
                self._check_pool()
            responds = self._check_server()
            if not self._breaker.allow():
                self._closing.wait(max(began + _INTERVAL - monotonic(), 0.0))
                continue
            self._closing.wait(_SHORTEST_INTERVAL)
            if responds:
                self._breaker.wait_for_request(_INTERVAL - _SHORTEST_INTERVAL)
        self._disconnect()

    def _check_server(self) -> bool:
        try:
            if self._connection is None or not self._is_usable(self._connection):
                self._disconnect()
                self._connection = self._connect()
            self._primary.identify(self._connection)
        except psycopg.Error as error:
            self._disconnect()
            self._breaker.record_failure(one_line(error))
            return False
        self._breaker.record_success()
        return True

    def _is_usable(self, connection: PositionedConnection) -> bool:
        return not connection.is_lost() and self._primary.allows(connection)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
