"""The Storage over connections that a host application owns, as a part of its transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, Cursor, IsolationLevel
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from recipient_fields.application import (
    ApiKeyRepository,
    FieldRepository,
    IntegrationRepository,
    OrganizationRepository,
)

from .api_keys import PostgresApiKeyRepository
from .errors import every_error_translated, retry_once
from .fields import PostgresFieldRepository
from .integrations import PostgresIntegrationRepository
from .limits import CALL_TIMEOUT, CHECK_TIMEOUT, LOCK_TIMEOUT
from .organizations import PostgresOrganizationRepository
from .schema import require_sufficient, take_steps
from .transactions import Work

T = TypeVar("T")

_MIGRATION_SECONDS = 60.0

_LOCK_SCHEMAS = "SELECT pg_advisory_xact_lock(hashtext('recipient-fields schemas'))"
_LACKS_SCHEMA = "SELECT to_regnamespace(quote_ident(%s)) IS NULL"
_SETTINGS = """
    SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
        current_setting('search_path')
"""
_SET = """
    SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true),
        set_config('search_path', %s, true)
"""
_NO_LIMIT = "0"


class HostedPostgresStorage:
    """The repositories over the connection that a host application uses itself.

    `connect` gives it, open, whenever it is needed: to each thread its own. While that connection
    is in a transaction, or not in autocommit, what is changed is stored when the host commits and
    gone when it rolls back, and a method that raises undoes its own work alone. Otherwise each
    method is a transaction.

    The connection is never closed, and is left as it was found, whatever its row factory, cursors,
    adapters and settings are. Where it has no `lock_timeout` and `statement_timeout`, a method has
    its own: one second for a lock, and for a statement what PostgresStorage gives it for the whole.

    `schema`: where the tables are, unless on the connection's own search path.
    """

    def __init__(
        self, connect: Callable[[], Connection[Any]], *, schema: str | None = None
    ) -> None:
        self._database = _HostDatabase(connect, schema)
        self._schema = schema
        self.organizations: OrganizationRepository = PostgresOrganizationRepository(self._database)
        self.fields: FieldRepository = PostgresFieldRepository(self._database)
        self.integrations: IntegrationRepository = PostgresIntegrationRepository(self._database)
        self.api_keys: ApiKeyRepository = PostgresApiKeyRepository(self._database)

    def migrate(self) -> int:
        """Make the schema where there is none, and bring it up to date; returns the steps taken.

        All of them or none, in the host's transaction where there is one. StorageUnavailable where
        the server does not permit it, or has the schema of a newer version of this package.
        """
        with every_error_translated():
            return self._database.write(self._migrate, seconds=_MIGRATION_SECONDS)

    def check(self) -> None:
        """StorageUnavailable unless the server answers and has the schema needed."""
        self._database.read(require_sufficient, seconds=CHECK_TIMEOUT)

    def close(self) -> None:
        """The connections are the host's to close."""

    def _migrate(self, connection: Connection[Any]) -> int:
        if self._schema is not None:
            connection.execute(_LOCK_SCHEMAS)
            [(missing,)] = connection.execute(_LACKS_SCHEMA, (self._schema,)).fetchall()
            if missing:
                connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(self._schema)))
        return take_steps(connection)


class _HostDatabase:
    """See Transactions."""

    def __init__(self, connect: Callable[[], Connection[Any]], schema: str | None) -> None:
        self._connect = connect
        self._search_path = None if schema is None else Identifier(schema).as_string(None)

    def read(self, work: Work[T], *, seconds: float = CALL_TIMEOUT) -> T:
        """See Transactions. A read that fails must not end the host's transaction either."""
        return self.write(work, seconds=seconds)

    def write(self, work: Work[T], *, first: str | None = None, seconds: float = CALL_TIMEOUT) -> T:
        """See Transactions."""
        return retry_once(lambda: self._once(work, first, seconds))

    def _once(self, work: Work[T], first: str | None, seconds: float) -> T:
        with _part_of(self._host()) as connection, self._limits(connection, seconds):
            if first is not None:
                connection.execute(first)
            return work(connection)

    def _host(self) -> Connection[Any]:
        try:
            return self._connect()
        except Exception as error:
            # A framework raises its own where it can't connect, caused by the driver's.
            if isinstance(error.__cause__, psycopg.Error):
                raise error.__cause__ from None
            raise

    @contextmanager
    def _limits(self, connection: Connection[Any], seconds: float) -> Iterator[None]:
        """The limits of the block, and the schema it finds its tables in; then the host's again."""
        [(lock, statement, path)] = connection.execute(_SETTINGS).fetchall()
        ours = (
            LOCK_TIMEOUT if lock == _NO_LIMIT else lock,
            f"{seconds * 1_000:.0f}ms" if statement == _NO_LIMIT else statement,
            self._search_path or path,
        )
        connection.execute(_SET, ours)
        yield
        # Where the block raises, the host's settings come back with what it has undone.
        connection.execute(_SET, (lock, statement, path))


@contextmanager
def _part_of(host: Connection[Any]) -> Iterator[Connection[Any]]:
    """The host's connection in a part of its transaction, or in one where it has none.

    What the block does is kept as a whole, as far as the host keeps its transaction; where it
    raises, it is undone and nothing else.
    """
    idle = host.pgconn.transaction_status == TransactionStatus.IDLE
    if idle and not host.autocommit:
        # As any statement of the host's would, this begins its transaction.
        Cursor(host).execute("SELECT", prepare=False)
        idle = False
    connection = _View(host)
    if idle:
        connection.isolation_level = IsolationLevel.READ_COMMITTED
    with connection.transaction():
        yield connection


class _View(Connection[TupleRow]):
    """The host's session with the driver's own rows, cursors and adapters, preparing nothing."""

    def __init__(self, host: Connection[Any]) -> None:
        pgconn = host.pgconn
        handlers = pgconn.notice_handler, pgconn.notify_handler
        super().__init__(pgconn)
        pgconn.notice_handler, pgconn.notify_handler = handlers  # They stay the host's.
        self.prepare_threshold = None  # The names of the host's prepared statements would be taken.

    def __del__(self, _warn: object = None, /) -> None:
        """It is not for us to say that the connection should have been closed."""
